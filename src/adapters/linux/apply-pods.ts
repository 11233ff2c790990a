// Repairing what others took from pods on the host: their links' names and group, that they are up, and their routes in table PODS.

import type { DesiredPod } from '../../domain/datapath/host-datapath.ts';
import { POD_LINK_GROUP, PODS_TABLE } from '../../domain/datapath/host-datapath.ts';
import { attempt, type Changes, changeIfThere } from './changes.ts';
import type { HostNamespace } from './host-namespace.ts';
import { unless } from './kernel-refusal.ts';
import { type Link, listLinks, renameLink, setLinkDown, setLinkGroup, setLinkUp } from './link.ts';
import { request } from './netlink-socket.ts';
import { isOrphan, type ListedRoute, listRoutes, replaceRoute } from './route.ts';
import { podRoute } from './wire-pod.ts';

/**
 * Adds what is missing and deletes nothing. A pod without its link is being made, or unmade, or has ended: not for this
 * to judge.
 */
export function applyPods(
  host: HostNamespace,
  { pods, links: seen }: { readonly pods: readonly DesiredPod[]; readonly links: readonly Link[] },
  changes: Changes,
): void {
  if (pods.length === 0) return;
  const links = new Map(renameBack(host, { pods, links: seen }, changes).map((link) => [link.name, link]));
  const routes = new Map(
    ([4, 6] as const)
      .flatMap((family) => listRoutes(host.netlink, family, { table: PODS_TABLE }))
      .map((route) => [route.destination, route]),
  );
  for (const pod of pods) {
    const link = links.get(pod.hostLink);
    if (link?.kind !== 'veth') continue;
    attempt(changes, () => {
      repairPod(host, { pod, link, routes }, changes);
    });
  }
}

/** A link that another program has renamed is known by its MAC. Answers the links as they are then. */
function renameBack(
  host: HostNamespace,
  { pods, links }: { readonly pods: readonly DesiredPod[]; readonly links: readonly Link[] },
  changes: Changes,
): readonly Link[] {
  const changeCount = changes.lines.length;
  const names = new Set(links.map(({ name }) => name));
  for (const { hostLink, hostMac } of pods) {
    if (names.has(hostLink)) continue;
    const link = links.find(({ kind, mac }) => kind === 'veth' && mac === hostMac);
    if (link === undefined) continue;
    attempt(changes, () => {
      const rename = renameLink(link.index, link.name, hostLink);
      if (unless(['EBUSY'], () => request(host.netlink, [rename])) === undefined) {
        request(host.netlink, [setLinkDown(link.index, link.name), rename, setLinkUp(link.index, hostLink)]);
      }
      changes.lines.push(rename.step);
    });
  }
  return changes.lines.length === changeCount ? links : listLinks(host.netlink);
}

function repairPod(
  host: HostNamespace,
  {
    pod,
    link,
    routes,
  }: {
    readonly pod: DesiredPod;
    readonly link: Link;
    readonly routes: ReadonlyMap<string, ListedRoute>;
  },
  changes: Changes,
): void {
  if (link.group !== POD_LINK_GROUP) {
    changeIfThere(host, setLinkGroup(link.index, link.name, POD_LINK_GROUP), changes);
  }
  if (!link.up) changeIfThere(host, setLinkUp(link.index, link.name), changes);
  for (const ip of pod.addresses) {
    const wanted = podRoute(ip, link.index);
    const present = routes.get(wanted.destination);
    if (present !== undefined && !isOrphan(present) && present.linkIndex === link.index) continue;
    changeIfThere(host, replaceRoute(wanted, link.name), changes);
  }
}
