// Branded text forms of addresses and CIDRs. (Parsing and arithmetic live beside this file.)

/**
 * An IPv4 or IPv6 address in canonical text: dotted decimal, or RFC 5952 with IPv4-mapped addresses in mixed notation.
 * Made only by this folder (`parseIp`, `ipFromBigInt`, ...), so equal addresses are equal strings.
 */
export type Ip = string & { readonly __brand: 'Ip' };

/** A CIDR block in canonical text whose host bits are zero, made only by this folder (`parseCidr`, `blockOf`, ...). */
export type Cidr = string & { readonly __brand: 'Cidr' };

export type IpFamily = 4 | 6;

/** Family of an address or block. Only IPv6 text holds a colon. */
export const familyOf = (text: Ip | Cidr): IpFamily => (text.includes(':') ? 6 : 4);

/** Bits of an address of the family. */
export const bitsOf = (family: IpFamily): 32 | 128 => (family === 4 ? 32 : 128);
