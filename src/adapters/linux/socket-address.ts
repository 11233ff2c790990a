// struct sockaddr_in and sockaddr_in6.

import { familyOf, type Ip } from '../../domain/address/ip.ts';
import { bytesOfIp } from './ip-bytes.ts';
import { AF_INET, AF_INET6 } from './libc.ts';

/** The socket address of an IP address and a port; port 0 leaves the choice to the kernel. */
export function socketAddress(ip: Ip, port: number): Buffer {
  if (familyOf(ip) === 4) {
    const address = Buffer.alloc(16);
    address.writeUInt16LE(AF_INET, 0);
    address.writeUInt16BE(port, 2);
    bytesOfIp(ip).copy(address, 4);
    return address;
  }
  const address = Buffer.alloc(28);
  address.writeUInt16LE(AF_INET6, 0);
  address.writeUInt16BE(port, 2);
  bytesOfIp(ip).copy(address, 8);
  return address;
}
