// Branded text forms of addresses and CIDRs. (Arithmetic lives beside this file.)

/** An IPv4 or IPv6 address in canonical text (RFC 5952 for IPv6), made only by `parseIp`. */
export type Ip = string & { readonly __brand: 'Ip' };

/** A CIDR block in canonical text whose host bits are zero, made only by `parseCidr`. */
export type Cidr = string & { readonly __brand: 'Cidr' };

export type IpFamily = 4 | 6;
