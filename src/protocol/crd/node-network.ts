// The NodeNetwork object of Kubernetes (eniwhere.io/v1alpha1): the contract between controller and agent on the wire.

import { z } from 'zod';
import { ADDRESS_FAMILIES } from '../../domain/address/families.ts';
import type { NodeName } from '../../domain/ids.ts';
import type { PodRefusal } from '../../domain/eniconfig/pod-choice.ts';
import type { SelectionProblemCode, SelectionSource } from '../../domain/eniconfig/selection.ts';
import { MODES } from '../../domain/ipam/mode.ts';
import {
  CONDITION_OWNERS,
  type ConditionType,
  emptyStatus,
  type NodeNetworkSpec,
  type NodeNetworkStatus,
  type StatusOwner,
} from '../../domain/ipam/node-network.ts';
import { servedPodCount } from '../../domain/ipam/node-status.ts';
import { err, ok, type Result } from '../../domain/result.ts';
import { type Meta, metaOf, objectMeta, readObject, type Unreadable, writtenWhole } from './object.ts';
import {
  cidr,
  count,
  eniConfigName,
  eniId,
  instanceId,
  intentId,
  ip,
  nodeName,
  podKey,
  securityGroupId,
  subnetId,
  timestamp,
  vpcId,
} from './scalars.ts';

export const NODE_NETWORK_API_VERSION = 'eniwhere.io/v1alpha1';
export const NODE_NETWORK_KIND = 'NodeNetwork';

/**
 * Bounds of lists, above what any instance type holds, so that the API server can reckon what its rules cost: an ENI has
 * at most 50 addresses of a family, or blocks of 16 in their places; an instance at most 64 ENIs (p5.48xlarge).
 */
const ENI_COUNT_MAX = 64;
const ENI_PREFIX_COUNT_MAX = 64;
const ENI_ADDRESS_COUNT_MAX = 1024;
const NODE_ADDRESS_COUNT_MAX = 4096;
const GROUP_COUNT_MAX = 16;

/** Above what kubelet runs on any node, and what a cluster has of namespaces that choose. */
const POD_COUNT_MAX = 1024;
const NAMESPACE_COUNT_MAX = 1024;

const listOf = { 'x-kubernetes-list-type': 'set' } as const;
/** One writer sets it whole: the API server notes one owner for all that is in it, not one for each address. */
const wholeList = { 'x-kubernetes-list-type': 'atomic' } as const;
const mapBy = (key: string): Readonly<Record<string, unknown>> => ({
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': [key],
});

const securityGroupIds = z.array(securityGroupId).max(GROUP_COUNT_MAX);
const sentence = z.string().max(4096);
const addressesOfEni = z.array(ip).max(ENI_ADDRESS_COUNT_MAX).meta(listOf);
const addressesOfNode = z.array(ip).max(NODE_ADDRESS_COUNT_MAX).meta(wholeList).default([]);

const instance = z
  .object({
    instanceId,
    instanceType: z.string().min(1).max(64),
    zone: z.string().min(1).max(64),
    vpcId,
    primaryEniId: eniId,
    primaryAddress: ip,
    primarySubnetId: subnetId,
    primarySecurityGroupIds: securityGroupIds,
  })
  .describe('What EC2 says of the node.');

/**
 * A word of ours that later releases will have more of. Not an enumeration: an agent of this release must not stumble over
 * a reason that only people read, and a CRD is upgraded by hand.
 */
const codeWord = <T extends string>(): z.ZodType<T, T> =>
  z
    .string()
    .max(64)
    .regex(/^[A-Za-z]+$/) as unknown as z.ZodType<T, T>;
const source = codeWord<SelectionSource>().describe('The rule that decided.');
const reason = sentence.describe('Why, in a sentence.');

const selection = z
  .discriminatedUnion('kind', [
    z.object({
      kind: z.literal('EniConfig'),
      name: z.string().min(1).max(253).describe('The ENIConfig.'),
      subnetId,
      securityGroupIds,
      source,
      reason,
    }),
    z.object({ kind: z.literal('NodeSubnet'), subnetId, securityGroupIds, source, reason }),
    z.object({
      kind: z.literal('None'),
      source,
      problem: codeWord<SelectionProblemCode>(),
      reason,
      message: sentence.describe('What is wrong.'),
      fix: sentence.describe('What to do about it.'),
    }),
  ])
  .describe('Where new ENIs of the node are made, and why.');

const intent = z.object({
  id: intentId.describe('Client token and tag of the ENI that is being made.'),
  kind: z.literal('CreateEni'),
  subnetId,
  securityGroupIds,
  addressCount: count,
  prefixCount: count.default(0),
  ipv6PrefixCount: count.default(0),
  eniConfig: eniConfigName,
  notedAt: timestamp,
});

const isSubset = (part: readonly string[], whole: readonly string[]): boolean => {
  const all = new Set(whole);
  return part.every((one) => all.has(one));
};

const eni = z
  .object({
    eniId,
    mac: z.string().regex(/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/, { error: 'must be six hex bytes with colons' }),
    primary: z.boolean(),
    deviceIndex: count,
    networkCardIndex: count,
    eniConfig: eniConfigName.describe('The ENIConfig it was made for; empty for the node’s own subnet.'),
    subnetId,
    subnetCidr: cidr,
    subnetIpv6Cidr: cidr.exactOptional().describe('The subnet’s IPv6 block, where the node has IPv6.'),
    securityGroupIds,
    primaryAddress: ip,
    addresses: addressesOfEni.describe('What the agent may hand out, and what it is to give back.'),
    prefixes: z
      .array(cidr)
      .max(ENI_PREFIX_COUNT_MAX)
      .meta(listOf)
      .describe(
        'Blocks that the ENI holds whole. Every address of a /28 is in `addresses`, too; of a /80, those of pods without IPv4.',
      ),
    withdrawing: addressesOfEni.describe('What the agent is to give back: it offers them no more.'),
    cordoned: z.boolean().describe('Takes no new pods, and is given back once empty.'),
    chosenOnly: z.literal(true).exactOptional().describe('Serves only pods that chose its ENIConfig.'),
  })
  // To look for each of the one list in the other is more than the API server allows a rule to cost.
  .refine(({ addresses, withdrawing }) => isSubset(withdrawing, addresses), {
    path: ['withdrawing'],
    error: 'only addresses that are granted can be withdrawn: each must be in addresses',
  })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: '!self.primary || (size(self.addresses) == 0 && size(self.prefixes) == 0)',
        message: 'the primary ENI serves no pods: it has neither addresses nor prefixes to hand out',
      },
      {
        rule: 'size(self.withdrawing) <= size(self.addresses)',
        message: 'only addresses that are granted can be withdrawn: withdrawing is longer than addresses',
      },
    ],
  });

const settings = z
  .object({
    externalSnat: z.boolean(),
    directCidrs: z.array(cidr).max(256),
    mtu: z.int32().min(576).max(9001),
    vethPrefix: z.string().min(1).max(4),
    randomizeSnat: z.enum(['prng', 'hashrandom', 'none']),
  })
  .describe('How the node’s network is set up.');

const podUid = z.string().max(64);
const decision = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('EniConfig'), pod: podKey, uid: podUid, eniConfig: eniConfigName }),
  z.object({
    kind: z.literal('Refused'),
    pod: podKey,
    uid: podUid,
    reason: codeWord<PodRefusal>(),
    message: sentence.describe('What is wrong with the choice, and what to do.'),
  }),
]);

const choosing = z
  .object({
    namespaces: z.array(z.string().min(1).max(63)).max(NAMESPACE_COUNT_MAX).meta(listOf),
    pods: z.array(decision).max(POD_COUNT_MAX).meta(mapBy('pod')),
  })
  .describe('Pods that choose their ENIConfig, and what is decided for them.');

/** A field that is added later needs a default: objects of the release before do not have it. */
export const nodeNetworkSpec = z
  .object({
    instance,
    selection,
    mode: z
      .enum(MODES)
      .default('SecondaryIP')
      .describe('Whether slots of ENIs are filled with single addresses or with blocks.'),
    addressFamilies: z
      .array(z.enum(ADDRESS_FAMILIES))
      .min(1)
      .max(ADDRESS_FAMILIES.length)
      .meta(listOf)
      .default(['IPv4'])
      .describe('What new pods get; absent: IPv4.'),
    intents: z
      .array(intent)
      .max(ENI_COUNT_MAX)
      .meta(mapBy('id'))
      .describe('EC2 calls that are noted before they are made.'),
    enis: z.array(eni).max(ENI_COUNT_MAX).meta(mapBy('eniId')),
    settings,
    cooldownMs: count.describe('How long an address rests after a pod, ms.'),
    choosing: choosing.exactOptional(),
  })
  .describe('The controller’s: what the node is granted.')
  .meta({
    ...writtenWhole,
    'x-kubernetes-validations': [
      {
        rule: 'self.enis.all(a, self.enis.exists_one(b, b.networkCardIndex == a.networkCardIndex && b.deviceIndex == a.deviceIndex))',
        message: 'two ENIs cannot have the same deviceIndex on one network card',
      },
    ],
  });

const condition = z.object({
  type: codeWord<ConditionType>(),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().max(1024),
  message: z.string().max(32_768),
  // As in every Kubernetes condition, so that tools find it.
  lastTransitionTime: timestamp,
});

/** Two write it, each its own fields, so there may be those of one without the other's. */
export const nodeNetworkStatus = z
  .object({
    observedGeneration: z
      .int()
      .min(0)
      .default(emptyStatus.observedGeneration)
      .describe('metadata.generation of the spec that this answers.'),
    used: z
      .array(z.object({ ip, pod: podKey }))
      .max(NODE_ADDRESS_COUNT_MAX)
      .meta(wholeList)
      .default([]),
    cooling: addressesOfNode.describe('Released, and not yet rested.'),
    withdrawn: addressesOfNode.describe('Let go for ever: only these may be unassigned.'),
    conditions: z.array(condition).max(32).meta(mapBy('type')).default([]),
    // For people: `kubectl get` counts nothing. Made anew with every write, and never read.
    usedCount: count.exactOptional().describe('Pods that hold an address, or one of each family.'),
    totalCount: count.exactOptional().describe('Addresses that the ENIs hold for pods.'),
  })
  .describe('The agent’s, but for the controller’s own condition types.');

const nodeNetworkObject = z.object({
  metadata: objectMeta.extend({ name: nodeName }),
  spec: nodeNetworkSpec,
  // There is none before somebody has written it.
  status: nodeNetworkStatus.nullish(),
});

export interface NodeNetworkObject extends Meta {
  readonly name: NodeName;
  readonly spec: NodeNetworkSpec;
  readonly status: NodeNetworkStatus;
}

/** Reads a NodeNetwork. */
export function readNodeNetwork(value: unknown): Result<NodeNetworkObject, Unreadable> {
  const read = readObject(nodeNetworkObject, value);
  if (!read.ok) return read;
  const { metadata, spec, status } = read.value;
  return ok({
    ...metaOf(metadata),
    name: metadata.name,
    spec,
    status: status === undefined || status === null ? emptyStatus : statusFromWire(status),
  });
}

/** `spec` as it is written. A spec that the schema refuses is an error that names the field. */
export const writeNodeNetworkSpec = (spec: NodeNetworkSpec): Result<unknown, string> =>
  encoded(nodeNetworkSpec, spec as z.output<typeof nodeNetworkSpec>, 'spec');

/** What of an object's status its `writer` writes: the controller its condition types, the agent all else, with counts. */
export function writeNodeNetworkStatus(
  { spec, status }: SpecAndStatus,
  writer: StatusOwner,
): Result<unknown, string> {
  const written = encoded(
    nodeNetworkStatus,
    {
      ...status,
      conditions: status.conditions.map(({ lastTransitionAt, ...rest }) => ({
        ...rest,
        lastTransitionTime: lastTransitionAt,
      })),
      usedCount: servedPodCount(status),
      totalCount: grantedCount(spec),
    } as unknown as z.output<typeof nodeNetworkStatus>,
    'status',
  );
  if (!written.ok) return written;
  const whole = written.value as z.input<typeof nodeNetworkStatus>;
  const conditions = (whole.conditions ?? []).filter(({ type }) => CONDITION_OWNERS[type] === writer);
  return ok(writer === 'agent' ? { ...whole, conditions } : { conditions });
}

interface SpecAndStatus {
  readonly spec: NodeNetworkSpec;
  readonly status: NodeNetworkStatus;
}

const grantedCount = ({ enis }: NodeNetworkSpec): number =>
  enis.reduce((sum, { addresses }) => sum + addresses.length, 0);

const statusFromWire = ({
  conditions,
  usedCount: _used,
  totalCount: _total,
  ...rest
}: z.output<typeof nodeNetworkStatus>): NodeNetworkStatus => ({
  ...rest,
  conditions: conditions.map(({ lastTransitionTime, ...others }) => ({
    ...others,
    lastTransitionAt: lastTransitionTime,
  })),
});

function encoded<S extends z.ZodType>(schema: S, value: z.output<S>, part: string): Result<unknown, string> {
  const written = z.safeEncode(schema, value);
  if (written.success) return ok(written.data);
  const [issue] = written.error.issues;
  return err(`${part}.${z.core.toDotPath(issue?.path ?? [])}: ${issue?.message ?? 'cannot be written'}`);
}
