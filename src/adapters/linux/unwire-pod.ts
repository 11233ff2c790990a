// Unmaking a pod's wiring.

import { setTimeout as sleep } from 'node:timers/promises';
import { familyOf, type Ip } from '../../domain/address/ip.ts';
import { PODS_TABLE, ROUTE_PROTOCOL } from '../../domain/datapath/host-datapath.ts';
import { type HostNamespace, openHostSocket } from './host-namespace.ts';
import { KernelRefusal, unless } from './kernel-refusal.ts';
import { deleteLink, getLink, isLinkName, type Link } from './link.ts';
import { closeNetlink, request, requestFromPool } from './netlink-socket.ts';
import { deleteRoute, hostRoute, listRoutes } from './route.ts';
import { createSlots } from './slots.ts';
import { podVeth } from './wire-pod.ts';

/** Of libuv's four threads, one is left for the journal. */
const DELETION_COUNT_MAX = 3;
/** A link is gone well within a millisecond of its deletion's beginning, unless the kernel's lock is busy. */
const LOOK_MS = 1;

const deletions = createSlots(DELETION_COUNT_MAX);

/** Deletes the pod's link and its routes, as far as they are there. Routes by now another pod's stay. */
export async function unwirePod(
  host: HostNamespace,
  pod: { readonly hostLink: string; readonly addresses: readonly Ip[] },
): Promise<void> {
  const link = isLinkName(pod.hostLink) ? podVeth(host, pod.hostLink) : undefined;
  if (link !== undefined) await removeLink(host, link);
  removeOrphanRoutes(host, pod.addresses);
}

/**
 * Resolves when the link is gone. The kernel unlists a link, with its addresses, routes and other end, in under a
 * millisecond, and then keeps the caller for 12 to 20 ms more, until every processor has passed a point from which it
 * cannot have the link in its hands: that is for its memory, and nothing of the pod waits for it.
 */
async function removeLink(host: HostNamespace, link: Link): Promise<void> {
  const release = await deletions.take();
  const deletion: { isOver: boolean; refusal?: unknown } = { isOver: false };
  const socket = openHostSocket(host);
  void requestFromPool(socket, deleteLink(link.index, link.name))
    .catch((refusal: unknown) => {
      deletion.refusal = refusal;
    })
    .finally(() => {
      deletion.isOver = true;
      closeNetlink(socket);
      release();
    });
  while (!deletion.isOver && isThere(host, link)) await sleep(LOOK_MS);
  const { refusal } = deletion;
  if (refusal === undefined || (refusal instanceof KernelRefusal && refusal.errno === 'ENODEV')) return;
  throw refusal;
}

const isThere = (host: HostNamespace, { index, name }: Link): boolean =>
  unless(['ENODEV'], () => getLink(host.netlink, name))?.index === index;

/** Routes in table PODS that lead to no link: the kernel drops a route with its link, but blackholes have none. */
function removeOrphanRoutes(host: HostNamespace, addresses: readonly Ip[]): void {
  const destinations = new Set(
    addresses.map((ip) => hostRoute(ip, { linkIndex: 0, table: PODS_TABLE }).destination),
  );
  const orphans = { table: PODS_TABLE, protocol: ROUTE_PROTOCOL, orphansOnly: true } as const;
  for (const family of [4, 6] as const) {
    if (!addresses.some((ip) => familyOf(ip) === family)) continue;
    for (const route of listRoutes(host.netlink, family, orphans)) {
      if (!destinations.has(route.destination)) continue;
      unless(['ESRCH'], () => request(host.netlink, [deleteRoute(route, 'none')]));
    }
  }
}
