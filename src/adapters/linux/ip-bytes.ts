// Addresses as the kernel has them: 4 or 16 bytes in network order.

import type { Ip, IpFamily } from '../../domain/address/ip.ts';
import { familyOf } from '../../domain/address/ip.ts';
import { ipFromBigInt, ipToBigInt } from '../../domain/address/ip-number.ts';
import { AF_INET, AF_INET6 } from './libc.ts';

export const addressFamilyOf = (family: IpFamily): number => (family === 4 ? AF_INET : AF_INET6);

/** 4, 6, or undefined for a family that is not IP. */
export function ipFamilyOf(addressFamily: number): IpFamily | undefined {
  if (addressFamily === AF_INET) return 4;
  return addressFamily === AF_INET6 ? 6 : undefined;
}

export function bytesOfIp(ip: Ip): Buffer {
  const digitCount = familyOf(ip) === 4 ? 8 : 32;
  return Buffer.from(ipToBigInt(ip).toString(16).padStart(digitCount, '0'), 'hex');
}

export function ipOfBytes(bytes: Buffer): Ip {
  return ipFromBigInt(bytes.length === 4 ? 4 : 6, BigInt(`0x${bytes.toString('hex')}`));
}
