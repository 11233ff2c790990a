// Neighbours (ARP and ND entries) over rtnetlink (linux/neighbour.h).

import { familyOf, type Ip } from '../../domain/address/ip.ts';
import { addressFamilyOf, bytesOfIp, ipFamilyOf, ipOfBytes } from './ip-bytes.ts';
import {
  attribute,
  attributesOf,
  macAttribute,
  macOf,
  type NetlinkMessage,
  NLM_F_CREATE,
  NLM_F_REPLACE,
} from './netlink-message.ts';
import { dump, type NetlinkSocket } from './netlink-socket.ts';

export interface Neighbour {
  readonly linkIndex: number;
  readonly ip: Ip;
  readonly mac: string;
  /** Never expires and is never asked for. */
  readonly permanent: boolean;
}

const RTM_NEWNEIGH = 28;
const RTM_GETNEIGH = 30;
const NDMSG_LENGTH = 12;
const NUD_PERMANENT = 0x80;
const NDA_DST = 1;
const NDA_LLADDR = 2;

/** `ip neigh replace IP lladdr MAC dev LINK nud permanent` */
export function replacePermanentNeighbour(
  linkIndex: number,
  link: string,
  neighbour: { readonly ip: Ip; readonly mac: string },
): NetlinkMessage {
  const header = Buffer.alloc(NDMSG_LENGTH);
  header[0] = addressFamilyOf(familyOf(neighbour.ip));
  header.writeInt32LE(linkIndex, 4);
  header.writeUInt16LE(NUD_PERMANENT, 8);
  return {
    step: `ip neigh replace ${neighbour.ip} lladdr ${neighbour.mac} dev ${link} nud permanent`,
    type: RTM_NEWNEIGH,
    flags: NLM_F_CREATE | NLM_F_REPLACE,
    body: Buffer.concat([
      header,
      attribute(NDA_DST, bytesOfIp(neighbour.ip)),
      macAttribute(NDA_LLADDR, neighbour.mac),
    ]),
  };
}

/** `ip neigh show` */
export function listNeighbours(socket: NetlinkSocket): readonly Neighbour[] {
  return dump(socket, {
    step: 'ip neigh show',
    type: RTM_GETNEIGH,
    flags: 0,
    body: Buffer.alloc(NDMSG_LENGTH),
  }).flatMap(neighboursOf);
}

function neighboursOf(body: Buffer): readonly Neighbour[] {
  const attributes = attributesOf(body, NDMSG_LENGTH);
  const destination = attributes.get(NDA_DST);
  if (destination === undefined || ipFamilyOf(body[0] ?? 0) === undefined) return [];
  return [
    {
      linkIndex: body.readInt32LE(4),
      ip: ipOfBytes(destination),
      mac: macOf(attributes, NDA_LLADDR),
      permanent: (body.readUInt16LE(8) & NUD_PERMANENT) !== 0,
    },
  ];
}
