// Text to address, strictly: one address has one meaning and one canonical text.

import { err, ok, type Result } from '../result.ts';
import type { Ip } from './ip.ts';
import { readIpv4, writeIpv4 } from './ipv4-text.ts';
import { readIpv6, writeIpv6 } from './ipv6-text.ts';
import { quote } from './quote.ts';

/**
 * Reads an IPv4 address (four decimal octets, none of inet_aton's other forms) or an IPv6 address (RFC 4291, no zone
 * id), and answers its canonical text. The error names the text and what is wrong with it.
 */
export function parseIp(text: string): Result<Ip, string> {
  if (text.includes(':')) {
    const value = readIpv6(text);
    return value.ok
      ? ok(writeIpv6(value.value) as Ip)
      : err(`${quote(text)} is not an IPv6 address: ${value.error}`);
  }
  const value = readIpv4(text);
  return value.ok
    ? ok(writeIpv4(value.value) as Ip)
    : err(`${quote(text)} is not an IPv4 address: ${value.error}`);
}
