// The kernel's notifications of a namespace: multicast netlink sockets that say only that something changed.

import { KernelRefusal, unless } from './kernel-refusal.ts';
import {
  AF_NETLINK,
  bindSocket,
  closeSocket,
  MSG_DONTWAIT,
  openSocket,
  receive,
  setSocketOption,
  SOCK_RAW,
} from './libc.ts';
import { insideNamespace, type Namespace } from './namespace.ts';
import { netlinkAddress } from './netlink-socket.ts';

const NETLINK_ROUTE = 0;
const NETLINK_NETFILTER = 12;
const SOL_NETLINK = 270;
const NETLINK_ADD_MEMBERSHIP = 1;

/**
 * enum rtnetlink_groups: link; address, route and rule of both families; and NETCONF of both, which tells of forwarding
 * and rp_filter. (The kernel tells nobody of other sysctls.)
 */
const ROUTE_GROUPS = [1, 5, 7, 8, 9, 11, 19, 24, 25];
/** NFNLGRP_NFTABLES */
const NFTABLES_GROUPS = [7];
/** Messages taken off a socket in one go; what is left makes the next poll return at once. */
const DRAIN_MESSAGE_MAX = 1000;

// Their content is not looked at, so they may be cut short.
const scratch = Buffer.alloc(16);

/** Sockets that become readable when links, addresses, routes, rules, forwarding or nftables of the namespace change. */
export function openNotifications(namespace: Namespace): readonly number[] {
  return insideNamespace(namespace, () => {
    const route = openMulticast(NETLINK_ROUTE, ROUTE_GROUPS);
    // A kernel without nftables has nothing to tell of it.
    const nftables = unless(['EPROTONOSUPPORT', 'ENOENT'], () =>
      openMulticast(NETLINK_NETFILTER, NFTABLES_GROUPS),
    );
    return nftables === undefined ? [route] : [route, nftables];
  });
}

function openMulticast(protocol: number, groups: readonly number[]): number {
  const fd = openSocket(AF_NETLINK, SOCK_RAW, protocol);
  try {
    bindSocket(fd, netlinkAddress(), 'bind a netlink socket for notifications');
    for (const group of groups) setSocketOption(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group);
    return fd;
  } catch (error) {
    closeSocket(fd);
    throw error;
  }
}

/** Takes what is waiting off the socket. */
export function drainNotifications(fd: number): void {
  for (let count = 0; count < DRAIN_MESSAGE_MAX; count++) {
    try {
      receive(fd, scratch, MSG_DONTWAIT);
    } catch (error) {
      if (!(error instanceof KernelRefusal)) throw error;
      if (error.errno === 'EAGAIN') return;
      // ENOBUFS: more changes than the socket could hold. That something changed is all that is asked.
      if (error.errno !== 'ENOBUFS') throw error;
    }
  }
}
