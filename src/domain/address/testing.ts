// For tests: addresses and blocks from literals that are known to be right.

import { assert } from '../result.ts';
import { parseCidr } from './cidr.ts';
import type { Cidr, Ip } from './ip.ts';
import { parseIp } from './parse-ip.ts';

/** Parses an address; throws on a wrong one. */
export function ip(text: string): Ip {
  const read = parseIp(text);
  assert(read.ok, read.ok ? '' : read.error);
  return read.value;
}

/** Parses a block; throws on a wrong one. */
export function cidr(text: string): Cidr {
  const read = parseCidr(text);
  assert(read.ok, read.ok ? '' : read.error);
  return read.value;
}
