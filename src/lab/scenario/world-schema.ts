// The fixed part of a scenario file: the VPC, its hosts, ENIConfigs, nodes and settings.

import { z } from 'zod';
import type { Ip } from '../../domain/address/ip.ts';
import { parseSecurityGroupId, parseSubnetId, parseVpcId } from '../../domain/ids.ts';
import { type EniConfigManifest, parseEniConfigManifest } from '../../protocol/crd/eni-config.ts';
import {
  type NodeNetworkClassManifest,
  parseNodeNetworkClassManifest,
} from '../../protocol/crd/node-network-class.ts';
import { err, ok, type Result } from '../../domain/result.ts';
import { type Fault, parseFault } from './fault.ts';
import {
  closed,
  ipv4,
  ipv4Cidr,
  ipv6,
  ipv6Cidr,
  localName,
  nodeName,
  parsedBy,
  textOf,
  words,
} from './schema-words.ts';

/** Labels and annotations are texts; YAML's numbers and booleans need quotes, as in kubectl. */
export const textMap: z.ZodType<Readonly<Record<string, string>>> = z.record(z.string(), z.string());

const subnet = closed({
  id: textOf(parseSubnetId),
  name: localName,
  zone: words,
  cidr: ipv4Cidr,
  /** A /64 of the VPC's IPv6 block. */
  ipv6Cidr: ipv6Cidr.optional(),
  /** Subnet CIDR reservations of type prefix. */
  prefixReservations: z.array(ipv4Cidr).default([]),
  tags: textMap.default({}),
});

interface PortRange {
  readonly first: number;
  readonly last: number;
}

function parsePortRange(value: number | string): Result<PortRange, string> {
  const match = /^([0-9]{1,5})(?:-([0-9]{1,5}))?$/.exec(String(value));
  const first = Number(match?.[1]);
  const last = Number(match?.[2] ?? match?.[1]);
  return first >= 1 && first <= last && last <= 65535
    ? ok({ first, last })
    : err(`"${value}" is not a port (1 to 65535) or a range of ports like 8000-8080`);
}

const portRange = parsedBy(
  z.union([z.number(), z.string()], { error: 'must be a port or a range of ports' }),
  parsePortRange,
);

/** `peer` is a CIDR block, or a security group by name or id. */
const rule = closed({
  protocol: z.enum(['all', 'tcp', 'udp', 'icmp', 'icmpv6']),
  port: portRange.optional(),
  peer: words,
}).refine((value) => value.port === undefined || value.protocol === 'tcp' || value.protocol === 'udp', {
  path: ['port'],
  error: 'only tcp and udp have ports',
});

const securityGroup = closed({
  id: textOf(parseSecurityGroupId),
  name: localName,
  ingress: z.array(rule),
  /** Absent: everything may leave, as in a group that AWS just made. */
  egress: z.array(rule).optional(),
});

const vpc = closed({
  id: textOf(parseVpcId),
  cidr: ipv4Cidr,
  secondaryCidrs: z.array(ipv4Cidr).default([]),
  /** A /56, for a VPC with IPv6. */
  ipv6Cidr: ipv6Cidr.optional(),
  subnets: z.array(subnet).min(1, 'a VPC needs a subnet'),
  securityGroups: z.array(securityGroup).min(1, 'a VPC needs a security group'),
});

/** Addresses outside the VPC that play the internet (TEST-NET-3, RFC 5737) and a network behind a private link. */
const DEFAULT_INTERNET_HOST = '203.0.113.10' as Ip;
/** The documentation's prefix, RFC 3849. */
const DEFAULT_INTERNET_IPV6_HOST = '2001:db8:cb:71::10' as Ip;
const DEFAULT_ON_PREM_HOST = '192.168.50.10' as Ip;

const hosts = closed({
  internet: ipv4.default(DEFAULT_INTERNET_HOST),
  internetIpv6: ipv6.default(DEFAULT_INTERNET_IPV6_HOST),
  onPrem: ipv4.default(DEFAULT_ON_PREM_HOST),
});

export const eniConfigManifest: z.ZodType<EniConfigManifest> = parsedBy(z.unknown(), (object) => {
  const parsed = parseEniConfigManifest(object);
  return parsed.ok ? parsed : err(`${parsed.error.message}; ${parsed.error.fix}`);
});

export const classManifest: z.ZodType<NodeNetworkClassManifest> = parsedBy(z.unknown(), (object) => {
  const parsed = parseNodeNetworkClassManifest(object);
  return parsed.ok ? parsed : err(`${parsed.error.message}; ${parsed.error.fix}`);
});

/** Environment variables of the AWS CNI. YAML's `true` and `2` mean the texts `true` and `2`. */
export const settings: z.ZodType<Readonly<Record<string, string>>> = z.record(
  z.string().regex(/^[A-Z][A-Z0-9_]*$/i, 'a setting has the name of an environment variable'),
  z
    .union([z.string(), z.number(), z.boolean()], { error: 'a setting is a text, a number or a boolean' })
    .transform(String),
);

/** `AttachNetworkInterface:throttle:times=3` and the like. */
export const ec2Faults: z.ZodType<readonly Fault[]> = z.array(textOf(parseFault));

const node = closed({
  name: nodeName,
  type: words,
  /** A subnet by name or id. */
  subnet: words,
  /** Security groups by name or id: those of the node's primary ENI. */
  securityGroups: z.array(words).min(1, 'the primary ENI has at least one security group'),
  labels: textMap.default({}),
  annotations: textMap.default({}),
  launch: z.enum(['AtStart', 'ByStep']).default('AtStart'),
});

export const worldShape = {
  name: localName,
  about: words.optional(),
  vpc,
  hosts: hosts.default({
    internet: DEFAULT_INTERNET_HOST,
    internetIpv6: DEFAULT_INTERNET_IPV6_HOST,
    onPrem: DEFAULT_ON_PREM_HOST,
  }),
  settings: settings.default({}),
  eniConfigs: z.array(eniConfigManifest).default([]),
  nodeNetworkClasses: z.array(classManifest).default([]),
  nodes: z.array(node).min(1, 'a scenario needs a node'),
  ec2Faults: ec2Faults.default([]),
};

export type ScenarioSubnet = z.output<typeof subnet>;
export type ScenarioSecurityGroup = z.output<typeof securityGroup>;
export type ScenarioRule = z.output<typeof rule>;
export type ScenarioNode = z.output<typeof node>;
