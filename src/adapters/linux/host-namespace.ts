// One Worker's hold on a node's own network namespace: its file and an rtnetlink socket inside it.

import { closeSync } from 'node:fs';
import { insideNamespace, openNamespace } from './namespace.ts';
import { closeNetlink, type NetlinkSocket, openRouteSocket } from './netlink-socket.ts';

export interface HostNamespace {
  readonly fd: number;
  readonly netlink: NetlinkSocket;
  /** The nftables table as we last wrote it, and as the kernel listed it right after. */
  nftTable: { readonly written: string; readonly listed: string } | undefined;
}

export function openHostNamespace(netnsPath: string): HostNamespace {
  const fd = openNamespace(netnsPath);
  try {
    return { fd, netlink: insideNamespace(fd, openRouteSocket), nftTable: undefined };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

export function closeHostNamespace(host: HostNamespace): void {
  closeNetlink(host.netlink);
  closeSync(host.fd);
}
