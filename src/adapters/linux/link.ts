// Links over rtnetlink: veth pairs, up, MTU, deletion, listing (linux/if_link.h).

import { POD_LINK_GROUP } from '../../domain/datapath/host-datapath.ts';
import {
  attributesOf,
  macAttribute,
  macOf,
  nested,
  type NetlinkMessage,
  NLM_F_CREATE,
  NLM_F_EXCL,
  textAttribute,
  textOf,
  u32Attribute,
  u8Attribute,
  u32Of,
  u8Of,
} from './netlink-message.ts';
import { dump, type NetlinkSocket, requestOne } from './netlink-socket.ts';

export interface Link {
  readonly index: number;
  readonly name: string;
  readonly mac: string;
  /** Set up by somebody. */
  readonly up: boolean;
  /** Up, with a carrier, and the kernel has acted on it: packets pass. */
  readonly operational: boolean;
  readonly mtu: number;
  /** `veth`, `dummy`, ...; `''` for hardware and loopback. */
  readonly kind: string;
  /** What `ip link` calls group: 0 unless somebody sets it. */
  readonly group: number;
  /** Index of a veth's other end, in the other end's namespace. */
  readonly peerIndex: number | undefined;
}

/** Every namespace is born with lo as its first link. */
export const LOOPBACK_INDEX = 1;
/** IFNAMSIZ less the ending zero. */
const LINK_NAME_LENGTH_MAX = 15;

const RTM_NEWLINK = 16;
const RTM_DELLINK = 17;
const RTM_GETLINK = 18;
const IFINFOMSG_LENGTH = 16;
const IFF_UP = 1;
const IFLA_ADDRESS = 1;
const IFLA_IFNAME = 3;
const IFLA_MTU = 4;
const IFLA_LINK = 5;
const IFLA_OPERSTATE = 16;
const IF_OPER_UP = 6;
const IFLA_LINKINFO = 18;
const IFLA_AF_SPEC = 26;
const IFLA_GROUP = 27;
const IFLA_NET_NS_FD = 28;
const IFLA_EXT_MASK = 29;
const IFLA_INFO_KIND = 1;
const IFLA_INFO_DATA = 2;
const VETH_INFO_PEER = 1;
const RTEXT_FILTER_SKIP_STATS = 8;
const AF_INET6 = 10;
const IFLA_INET6_ADDR_GEN_MODE = 8;
const IN6_ADDR_GEN_MODE_NONE = 1;

/** struct ifinfomsg */
function linkHeader(index = 0, flags = 0, changeMask = 0): Buffer {
  const header = Buffer.alloc(IFINFOMSG_LENGTH);
  header.writeInt32LE(index, 4);
  header.writeUInt32LE(flags, 8);
  header.writeUInt32LE(changeMask, 12);
  return header;
}

const nameAttribute = (name: string): Buffer => textAttribute(IFLA_IFNAME, name);

/** The kernel would cut a longer name short and answer for another link. */
export const isLinkName = (name: string): boolean =>
  name.length > 0 && Buffer.byteLength(name) <= LINK_NAME_LENGTH_MAX && !/[\s/]/.test(name);

/** `ip link add HOST group GROUP address MAC mtu MTU type veth peer name POD address MAC mtu MTU netns FD` */
export function addVeth(veth: {
  readonly hostLink: string;
  readonly hostMac: string;
  readonly podLink: string;
  readonly podMac: string;
  readonly mtu: number;
  readonly podNamespaceFd: number;
}): NetlinkMessage {
  const mtu = u32Attribute(IFLA_MTU, veth.mtu);
  const peer = nested(
    VETH_INFO_PEER,
    linkHeader(),
    nameAttribute(veth.podLink),
    macAttribute(IFLA_ADDRESS, veth.podMac),
    mtu,
    u32Attribute(IFLA_NET_NS_FD, veth.podNamespaceFd),
  );
  return {
    step: `ip link add ${veth.hostLink} type veth peer name ${veth.podLink}`,
    type: RTM_NEWLINK,
    flags: NLM_F_CREATE | NLM_F_EXCL,
    body: Buffer.concat([
      linkHeader(),
      nameAttribute(veth.hostLink),
      macAttribute(IFLA_ADDRESS, veth.hostMac),
      u32Attribute(IFLA_GROUP, POD_LINK_GROUP),
      mtu,
      nested(IFLA_LINKINFO, textAttribute(IFLA_INFO_KIND, 'veth'), nested(IFLA_INFO_DATA, peer)),
    ]),
  };
}

/** `ip link set NAME up` */
export const setLinkUp = (index: number, name: string): NetlinkMessage => ({
  step: `ip link set ${name} up`,
  type: RTM_NEWLINK,
  flags: 0,
  body: linkHeader(index, IFF_UP, IFF_UP),
});

/** `ip link set NAME addrgenmode none`: the link gets no IPv6 address of its own. Before it is up. */
export const setNoIpv6Address = (index: number, name: string): NetlinkMessage => ({
  step: `ip link set ${name} addrgenmode none`,
  type: RTM_NEWLINK,
  flags: 0,
  body: Buffer.concat([
    linkHeader(index),
    nested(IFLA_AF_SPEC, nested(AF_INET6, u8Attribute(IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE))),
  ]),
});

/** `ip link set NAME down` */
export const setLinkDown = (index: number, name: string): NetlinkMessage => ({
  step: `ip link set ${name} down`,
  type: RTM_NEWLINK,
  flags: 0,
  body: linkHeader(index, 0, IFF_UP),
});

/** `ip link set NAME name NEW`. EBUSY on kernels that rename no link that is up (before 6.2). */
export const renameLink = (index: number, name: string, newName: string): NetlinkMessage => ({
  step: `ip link set ${name} name ${newName}`,
  type: RTM_NEWLINK,
  flags: 0,
  body: Buffer.concat([linkHeader(index), nameAttribute(newName)]),
});

/** `ip link set NAME group GROUP` */
export const setLinkGroup = (index: number, name: string, group: number): NetlinkMessage => ({
  step: `ip link set ${name} group ${group}`,
  type: RTM_NEWLINK,
  flags: 0,
  body: Buffer.concat([linkHeader(index), u32Attribute(IFLA_GROUP, group)]),
});

/** `ip link set NAME mtu MTU` */
export const setLinkMtu = (index: number, name: string, mtu: number): NetlinkMessage => ({
  step: `ip link set ${name} mtu ${mtu}`,
  type: RTM_NEWLINK,
  flags: 0,
  body: Buffer.concat([linkHeader(index), u32Attribute(IFLA_MTU, mtu)]),
});

/** `ip link del NAME`, by index: a name may by now be another link's. */
export const deleteLink = (index: number, name: string): NetlinkMessage => ({
  step: `ip link del ${name}`,
  type: RTM_DELLINK,
  flags: 0,
  body: linkHeader(index),
});

/** `ip link show NAME`. ENODEV when there is none. */
export function getLink(socket: NetlinkSocket, name: string): Link {
  const body = requestOne(socket, {
    step: `ip link show ${name}`,
    type: RTM_GETLINK,
    flags: 0,
    body: Buffer.concat([
      linkHeader(),
      nameAttribute(name),
      u32Attribute(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS),
    ]),
  });
  return linkOf(body);
}

/** `ip link show` */
export function listLinks(socket: NetlinkSocket): readonly Link[] {
  return dump(socket, {
    step: 'ip link show',
    type: RTM_GETLINK,
    flags: 0,
    body: Buffer.concat([linkHeader(), u32Attribute(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS)]),
  }).map(linkOf);
}

const WANTED: ReadonlySet<number> = new Set([
  IFLA_ADDRESS,
  IFLA_IFNAME,
  IFLA_MTU,
  IFLA_LINK,
  IFLA_OPERSTATE,
  IFLA_LINKINFO,
  IFLA_GROUP,
]);

function linkOf(body: Buffer): Link {
  const attributes = attributesOf(body, IFINFOMSG_LENGTH, WANTED);
  const info = attributesOf(attributes.get(IFLA_LINKINFO) ?? Buffer.alloc(0));
  return {
    index: body.readInt32LE(4),
    name: textOf(attributes, IFLA_IFNAME) ?? '',
    mac: macOf(attributes, IFLA_ADDRESS),
    up: (body.readUInt32LE(8) & IFF_UP) !== 0,
    operational: u8Of(attributes, IFLA_OPERSTATE) === IF_OPER_UP,
    mtu: u32Of(attributes, IFLA_MTU) ?? 0,
    kind: textOf(info, IFLA_INFO_KIND) ?? '',
    group: u32Of(attributes, IFLA_GROUP) ?? 0,
    peerIndex: u32Of(attributes, IFLA_LINK),
  };
}
