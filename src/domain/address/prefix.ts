// Delegated prefixes: the blocks that take one slot of an ENI.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-prefix-eni.html

import { assert } from '../result.ts';
import { cidrSize, firstAddress, nthAddress } from './cidr.ts';
import { type Cidr, familyOf, type Ip } from './ip.ts';
import { ipv4FromNumber, ipv4ToNumber } from './ip-number.ts';

/** Most addresses that `prefixAddresses` lists: an IPv6 /80 holds 2^48, too many to write down. */
const LISTED_ADDRESS_COUNT_MAX = 65_536n;

/** Every address of a block such as a /28, in order. The block must hold at most 65,536. */
export function prefixAddresses(prefix: Cidr): readonly Ip[] {
  const size = cidrSize(prefix);
  assert(size <= LISTED_ADDRESS_COUNT_MAX, `${prefix} is small enough to list`);
  if (familyOf(prefix) === 4) {
    const first = ipv4ToNumber(firstAddress(prefix));
    return Array.from({ length: Number(size) }, (_, n) => ipv4FromNumber(first + n));
  }
  return Array.from({ length: Number(size) }, (_, n) => nthAddress(prefix, n));
}
