// IPv6 text: strict reading (RFC 4291 section 2.2) and canonical writing (RFC 5952).

import { err, ok, type Result } from '../result.ts';
import { readIpv4, writeIpv4 } from './ipv4-text.ts';
import { quote } from './quote.ts';

const GROUP_COUNT = 8;
const GROUP = /^[0-9a-fA-F]{1,4}$/;
/** ::ffff:0:0/96, the one prefix whose addresses RFC 5952 section 5 and inet_ntop both write in mixed notation. */
const MAPPED_PREFIX = 0xffffn;

/** The groups on one side of `::`; a dotted IPv4 tail is allowed as the last two groups of the address. */
function readGroups(text: string, isTail: boolean): Result<readonly number[], string> {
  if (text === '') return ok([]);
  const parts = text.split(':');
  const groups: number[] = [];
  for (const [index, part] of parts.entries()) {
    if (isTail && index === parts.length - 1 && part.includes('.')) {
      const embedded = readIpv4(part);
      if (!embedded.ok) return err(`embedded IPv4 address ${quote(part)}: ${embedded.error}`);
      groups.push(Math.floor(embedded.value / 65_536), embedded.value % 65_536);
    } else if (GROUP.test(part)) {
      groups.push(Number.parseInt(part, 16));
    } else {
      return err(
        part === '' ? 'a group is empty' : `group ${quote(part)} is not one to four hexadecimal digits`,
      );
    }
  }
  return ok(groups);
}

/**
 * Reads the full form, `::` (once, for at least one group) and a dotted IPv4 tail. Zone ids (`%eth0`) are errors.
 * The error is a predicate: it goes on from "ADDRESS is not an IPv6 address: ".
 */
export function readIpv6(text: string): Result<bigint, string> {
  if (text.includes('%')) return err('a zone id has no meaning here; leave out "%" and what follows');
  const halves = text.split('::');
  if (halves.length > 2) return err('"::" may stand only once');
  const [headText = '', tailText] = halves;
  const head = readGroups(headText, tailText === undefined);
  if (!head.ok) return head;
  const tail = readGroups(tailText ?? '', true);
  if (!tail.ok) return tail;
  const count = head.value.length + tail.value.length;
  if (tailText === undefined && count !== GROUP_COUNT)
    return err(`expected ${GROUP_COUNT} groups, got ${count}`);
  if (tailText !== undefined && count >= GROUP_COUNT) return err('"::" has no group left to stand for');
  const zeros = Array.from({ length: GROUP_COUNT - count }, () => 0);
  return ok(valueOf([...head.value, ...zeros, ...tail.value]));
}

const valueOf = (groups: readonly number[]): bigint =>
  BigInt(`0x${groups.map((group) => group.toString(16).padStart(4, '0')).join('')}`);

/** 128 bits, the highest 32 first: what is compared and counted with, without a BigInt. */
export type Ipv6Words = readonly [number, number, number, number];

const COLON = 58;
const NINE = 57;
const [DIGIT_BASE, LETTER_BASE] = [48, 87];

/**
 * Of canonical text up to `end` alone, which nobody needs to check again. Undefined in mixed notation, where the text holds
 * a dot. A node's pods without IPv4 have hundreds of addresses, and each decision for the node compares them all.
 */
export function canonicalIpv6Words(text: string, end = text.length): Ipv6Words | undefined {
  const groups = [0, 0, 0, 0, 0, 0, 0, 0];
  let [count, group, gapAt] = [0, 0, -1];
  for (let index = 0; index < end; index++) {
    const code = text.charCodeAt(index);
    if (code === COLON) {
      if (text.charCodeAt(index + 1) === COLON) {
        // At the very start no group stands before the gap.
        if (index > 0) groups[count++] = group;
        gapAt = count;
        index += 1;
      } else groups[count++] = group;
      group = 0;
    } else if (code < DIGIT_BASE) return undefined;
    else group = group * 16 + code - (code <= NINE ? DIGIT_BASE : LETTER_BASE);
  }
  // Nothing follows a gap at the end.
  if (text.charCodeAt(end - 1) !== COLON) groups[count++] = group;
  if (gapAt >= 0) groups.splice(gapAt, 0, ...groups.splice(count, GROUP_COUNT - count));
  const word = (at: number): number => (groups[at] ?? 0) * 0x1_0000 + (groups[at + 1] ?? 0);
  return [word(0), word(2), word(4), word(6)];
}

/** The value of canonical text up to `end`; undefined in mixed notation. */
export function canonicalIpv6Value(text: string, end?: number): bigint | undefined {
  const words = canonicalIpv6Words(text, end);
  if (words === undefined) return undefined;
  const [a, b, c, d] = words;
  return (((((BigInt(a) << 32n) | BigInt(b)) << 32n) | BigInt(c)) << 32n) | BigInt(d);
}

/** First and end index of the run of zero groups that `::` replaces: the longest, the first of equals, two or more. */
function longestZeroRun(groups: readonly number[]): { readonly start: number; readonly end: number } {
  let best = { start: 0, end: 0 };
  let start = 0;
  for (let index = 0; index <= groups.length; index++) {
    if (groups[index] === 0) continue;
    if (index - start > best.end - best.start) best = { start, end: index };
    start = index + 1;
  }
  return best.end - best.start >= 2 ? best : { start: 0, end: 0 };
}

/** Canonical text of a value in [0, 2^128). */
export function writeIpv6(value: bigint): string {
  if (value >> 32n === MAPPED_PREFIX) return `::ffff:${writeIpv4(Number(value & 0xffff_ffffn))}`;
  const groups = [0, 0, 0, 0, 0, 0, 0, 0];
  for (let word = 0; word < 4; word++) {
    const bits = Number((value >> BigInt(96 - 32 * word)) & 0xffff_ffffn);
    groups[2 * word] = bits >>> 16;
    groups[2 * word + 1] = bits & 0xffff;
  }
  const run = longestZeroRun(groups);
  if (run.end === 0) return hexText(groups);
  return `${hexText(groups.slice(0, run.start))}::${hexText(groups.slice(run.end))}`;
}

const hexText = (groups: readonly number[]): string => groups.map((group) => group.toString(16)).join(':');
