// One Worker's hold on a node's own network namespace: its file and an rtnetlink socket inside it.

import { closeNamespace, insideNamespace, type Namespace, openNamespace } from './namespace.ts';
import { closeLinkSettings, type LinkSettings, openLinkSettings } from './sysctl.ts';
import { closeNetlink, type NetlinkSocket, openRouteSocket } from './netlink-socket.ts';

export interface HostNamespace {
  readonly namespace: Namespace;
  readonly netlink: NetlinkSocket;
  readonly linkSettings: LinkSettings;
  /** The nftables table as we last wrote it, and as the kernel listed it right after. */
  nftTable: { readonly written: string; readonly listed: string } | undefined;
}

export function openHostNamespace(netnsPath: string): HostNamespace {
  const namespace = openNamespace(netnsPath);
  try {
    const [linkSettings, netlink] = insideNamespace(namespace, () => [openLinkSettings(), openRouteSocket()]);
    return { namespace, netlink, linkSettings, nftTable: undefined };
  } catch (error) {
    closeNamespace(namespace);
    throw error;
  }
}

/** One more rtnetlink socket inside it. To be closed by `closeNetlink`. */
export const openHostSocket = ({ namespace }: HostNamespace): NetlinkSocket =>
  insideNamespace(namespace, openRouteSocket);

export function closeHostNamespace(host: HostNamespace): void {
  closeNetlink(host.netlink);
  closeLinkSettings(host.linkSettings);
  closeNamespace(host.namespace);
}
