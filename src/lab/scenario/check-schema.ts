// The expectations of the scenario language: each is one line of the report, checked by a real object or packet.

import { z } from 'zod';
import { ADDRESS_FAMILIES } from '../../domain/address/families.ts';
import { ok } from '../../domain/result.ts';
import {
  closed,
  count,
  destination,
  type Endpoint,
  endpoint,
  family,
  localName,
  nodeName,
  parseEndpoint,
  pod,
  podPattern,
  textOf,
  words,
} from './schema-words.ts';

const pods = z.array(podPattern).min(1, 'name at least one pod');
const texts = z.array(words);

/** Besides the name of an ENIConfig: the node's own subnet and groups; no ENI at all. */
export const SELECTION_WORDS: readonly string[] = ['NodeSubnet', 'None'];

/** What the controller decided for a node, as published in its NodeNetwork. */
const selection = closed({
  node: nodeName,
  /** An ENIConfig's name, or one of SELECTION_WORDS. */
  is: words,
  /** The rule that decided: Annotation, Label, Zone, ... */
  source: words.optional(),
});

/** The secondary ENIs that EC2 has attached to a node. */
const enis = closed({
  node: nodeName,
  /** Count only those in this subnet (name or id). */
  subnet: words.optional(),
  count: count.optional(),
  atLeast: count.optional(),
  /** Exactly these groups on each of them (names or ids). */
  securityGroups: texts.optional(),
}).refine((value) => value.count === undefined || value.atLeast === undefined, {
  error: 'give count or atLeast, not both',
});

/** The secondary addresses that a node holds in EC2. */
const addresses = closed({
  node: nodeName,
  /** Addresses, those of prefixes one by one. */
  held: count.optional(),
  used: count.optional(),
  /** IPv4 prefixes. */
  prefixes: count.optional(),
}).refine(({ held, used, prefixes }) => (held ?? used ?? prefixes) !== undefined, {
  error: 'give held, used or prefixes',
});

/** ADD succeeded, the agent publishes the address as used, and EC2 has it on an ENI of the node. */
const running = closed({
  pods,
  /** Their addresses lie in this subnet (name or id). */
  subnet: words.optional(),
  /** They have an address of each of these families, and no other. */
  families: z.array(z.enum(ADDRESS_FAMILIES)).optional(),
  /** The ENIs that hold their addresses have exactly these groups (names or ids). */
  securityGroups: texts.optional(),
  /** The device index of the ENIs that hold their addresses: 1 is the first secondary ENI. */
  deviceIndex: z.int().min(1, 'pods live on secondary ENIs, whose device index is 1 or more').optional(),
});

/** No sandbox of theirs has been answered an address. */
const waiting = closed({ pods });

/** Sandbox gone, address no longer used. */
const gone = closed({ pods });

/** One TCP connection that must be answered. */
const reach = closed({
  from: endpoint,
  to: destination,
  family: family.optional(),
  /** Whose address the far end must see: an endpoint, or `self` for the sender's own. */
  seenAs: textOf<Endpoint | 'self'>((text) => (text === 'self' ? ok(text) : parseEndpoint(text))).optional(),
});

/** The first pair of these pods whose addresses are on the same ENI (or different ones) talk to each other. */
const reachAmong = closed({ pods, enis: z.enum(['same', 'different']), family: family.optional() });

/** One TCP connection that must time out: refused would mean that the packet arrived. */
const blocked = closed({ from: endpoint, to: destination, family: family.optional() });

/** A datagram that `from` sends with the address of `as` must not arrive at `to`; one with its own address must. */
const spoofing = closed({ from: pod, as: pod, to: pod, family: family.optional() });

/** Connections opened by `openConnection` still carry a round trip. */
const alive = closed({ connections: z.array(localName).min(1, 'name at least one connection') });

const condition = closed({
  node: nodeName,
  type: z.enum(['EniConfigSelected', 'AddressesAvailable', 'PrefixesAvailable', 'AgentReady']),
  status: z.enum(['True', 'False', 'Unknown']),
  says: texts.default([]),
});

/** An Event whose message contains all the texts. */
const event = closed({
  about: words.regex(/^(node|pod|eniConfig)\/[a-z0-9./-]+$/, 'write node/NAME, pod/NAME or eniConfig/NAME'),
  reason: words.optional(),
  says: texts.default([]),
});

const eniConfigStatus = closed({ name: words, ready: z.boolean(), says: texts.default([]) });

const classStatus = closed({
  name: words,
  ready: z.boolean(),
  nodes: count.optional(),
  says: texts.default([]),
});

export const checkShape = {
  selection,
  enis,
  addresses,
  running,
  waiting,
  gone,
  reach,
  reachAmong,
  blocked,
  spoofing,
  alive,
  condition,
  event,
  eniConfigStatus,
  classStatus,
};

export type CheckKind = keyof typeof checkShape;
export type CheckOf<K extends CheckKind> = z.output<(typeof checkShape)[K]>;
export type Check = { readonly [K in CheckKind]: { readonly kind: K; readonly want: CheckOf<K> } }[CheckKind];

/** These need real packets; without network namespaces they are marked as not run. */
export const PACKET_CHECKS: ReadonlySet<CheckKind> = new Set([
  'reach',
  'reachAmong',
  'blocked',
  'spoofing',
  'alive',
]);
