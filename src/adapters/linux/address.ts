// Addresses of links over rtnetlink (linux/if_addr.h).

import { bitsOf, familyOf, type Ip } from '../../domain/address/ip.ts';
import { addressFamilyOf, bytesOfIp, ipFamilyOf, ipOfBytes } from './ip-bytes.ts';
import {
  attribute,
  attributesOf,
  type NetlinkMessage,
  NLM_F_CREATE,
  NLM_F_EXCL,
  u32Attribute,
  u32Of,
} from './netlink-message.ts';
import { dump, type NetlinkSocket } from './netlink-socket.ts';

export interface LinkAddress {
  readonly linkIndex: number;
  readonly ip: Ip;
  readonly prefixLength: number;
  readonly flags: number;
}

const RTM_NEWADDR = 20;
const RTM_DELADDR = 21;
const RTM_GETADDR = 22;
const IFADDRMSG_LENGTH = 8;
const IFA_ADDRESS = 1;
const IFA_LOCAL = 2;
const IFA_FLAGS = 8;

/** Skips IPv6 duplicate address detection, which would keep the address unusable for a second. */
export const IFA_F_NODAD = 0x02;
/** IPv6 only: duplicate address detection found another holder. */
export const IFA_F_DADFAILED = 0x08;
/** No route to the address's block is added to table main. */
export const IFA_F_NOPREFIXROUTE = 0x200;

/** struct ifaddrmsg */
function addressHeader(family: number, prefixLength: number, linkIndex: number): Buffer {
  const header = Buffer.alloc(IFADDRMSG_LENGTH);
  header[0] = family;
  header[1] = prefixLength;
  header.writeUInt32LE(linkIndex, 4);
  return header;
}

/** `ip addr add IP/32 dev LINK` (or /128), with IFA_F_* flags. */
export function addHostAddress(linkIndex: number, link: string, ip: Ip, flags = 0): NetlinkMessage {
  const family = familyOf(ip);
  return {
    step: `ip addr add ${ip}/${bitsOf(family)} dev ${link}`,
    type: RTM_NEWADDR,
    flags: NLM_F_CREATE | NLM_F_EXCL,
    body: Buffer.concat([
      addressHeader(addressFamilyOf(family), bitsOf(family), linkIndex),
      attribute(IFA_LOCAL, bytesOfIp(ip)),
      attribute(IFA_ADDRESS, bytesOfIp(ip)),
      u32Attribute(IFA_FLAGS, flags),
    ]),
  };
}

/** `ip addr del IP/LENGTH dev LINK` */
export const deleteAddress = (address: LinkAddress, link: string): NetlinkMessage => ({
  step: `ip addr del ${address.ip}/${address.prefixLength} dev ${link}`,
  type: RTM_DELADDR,
  flags: 0,
  body: Buffer.concat([
    addressHeader(addressFamilyOf(familyOf(address.ip)), address.prefixLength, address.linkIndex),
    attribute(IFA_LOCAL, bytesOfIp(address.ip)),
    // Without this one, the kernel would not look at the prefix length.
    attribute(IFA_ADDRESS, bytesOfIp(address.ip)),
  ]),
});

/** `ip addr show`: the IPv4 and IPv6 addresses of all links. */
export function listAddresses(socket: NetlinkSocket): readonly LinkAddress[] {
  return dump(socket, {
    step: 'ip addr show',
    type: RTM_GETADDR,
    flags: 0,
    body: addressHeader(0, 0, 0),
  }).flatMap(addressesOf);
}

function addressesOf(body: Buffer): readonly LinkAddress[] {
  const attributes = attributesOf(body, IFADDRMSG_LENGTH);
  // IFA_ADDRESS is the other end's address on point-to-point links; IFA_LOCAL, where present, is the link's own.
  const bytes = attributes.get(IFA_LOCAL) ?? attributes.get(IFA_ADDRESS);
  if (bytes === undefined || ipFamilyOf(body[0] ?? 0) === undefined) return [];
  return [
    {
      linkIndex: body.readUInt32LE(4),
      ip: ipOfBytes(bytes),
      prefixLength: body[1] ?? 0,
      flags: u32Of(attributes, IFA_FLAGS) ?? body[2] ?? 0,
    },
  ];
}
