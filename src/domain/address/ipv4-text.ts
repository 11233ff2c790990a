// IPv4 dotted decimal: strict reading and writing.

import { err, ok, type Result } from '../result.ts';
import { quote } from './quote.ts';

const ZERO = 48;
const NINE = 57;
const OCTET_MAX = 255;

/** The value of a decimal octet, or what is wrong with it, as a predicate of the octet. */
function readOctet(text: string): Result<number, string> {
  if (text === '') return err('is empty');
  let value = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < ZERO || code > NINE) return err('is not a decimal number');
    value = value * 10 + (code - ZERO);
    if (value > OCTET_MAX) return err(`is over ${OCTET_MAX}`);
  }
  // inet_aton reads a leading zero as octal, so one text would mean two addresses.
  return text.length > 1 && text.startsWith('0') ? err('has a leading zero') : ok(value);
}

/**
 * Reads exactly four decimal octets. The short, hexadecimal and octal forms of inet_aton are errors.
 * The error is a predicate: it goes on from "ADDRESS is not an IPv4 address: ".
 */
export function readIpv4(text: string): Result<number, string> {
  const octets = text.split('.');
  if (octets.length !== 4) return err(`expected four octets, got ${octets.length}`);
  let value = 0;
  for (const octet of octets) {
    const read = readOctet(octet);
    if (!read.ok) return err(`octet ${quote(octet)} ${read.error}`);
    value = value * 256 + read.value;
  }
  return ok(value);
}

/** The value of canonical dotted decimal, without checks: for text that a parser has already accepted. */
export function canonicalIpv4Value(text: string, end: number = text.length): number {
  let value = 0;
  let octet = 0;
  for (let index = 0; index < end; index++) {
    const code = text.charCodeAt(index);
    if (code >= ZERO) {
      octet = octet * 10 + (code - ZERO);
    } else {
      value = value * 256 + octet;
      octet = 0;
    }
  }
  return value * 256 + octet;
}

/** Canonical text of a value in [0, 2^32). */
export const writeIpv4 = (value: number): string =>
  `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`;
