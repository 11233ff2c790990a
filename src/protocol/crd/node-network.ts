// The NodeNetwork object of Kubernetes (eniwhere.io/v1alpha1): the contract between controller and agent on the wire.

import { z } from 'zod';
import type { NodeName } from '../../domain/ids.ts';
import { emptyStatus, type NodeNetworkSpec, type NodeNetworkStatus } from '../../domain/ipam/node-network.ts';
import { err, ok, type Result } from '../../domain/result.ts';
import { type Meta, metaOf, objectMeta, readObject, type Unreadable } from './object.ts';
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
 * Bounds of lists: above what any instance type holds, so that the API server can reckon what its rules cost. Slots of an
 * ENI: at most 64 addresses (EC2, IP addresses per network interface); ENIs: at most 15 per card, 32 cards.
 */
const ENI_COUNT_MAX = 512;
const ENI_ADDRESS_COUNT_MAX = 64;
const NODE_ADDRESS_COUNT_MAX = 4096;
const GROUP_COUNT_MAX = 16;

const securityGroupIds = z.array(securityGroupId).max(GROUP_COUNT_MAX);
const sentence = z.string().max(4096);

const instance = z.object({
  instanceId,
  instanceType: z.string().min(1).max(64),
  zone: z.string().min(1).max(64),
  vpcId,
  primaryEniId: eniId,
  primaryAddress: ip,
  primarySubnetId: subnetId,
  primarySecurityGroupIds: securityGroupIds,
});

const source = z.enum([
  'CustomNetworkingOff',
  'ExternalLabel',
  'Annotation',
  'Label',
  'Class',
  'Zone',
  'Default',
  'ClassFallback',
  'Nothing',
  'Unreadable',
]);

const selection = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('EniConfig'),
    name: z.string().min(1).max(253),
    subnetId,
    securityGroupIds,
    source,
    reason: sentence,
  }),
  z.object({ kind: z.literal('NodeSubnet'), subnetId, securityGroupIds, source, reason: sentence }),
  z.object({
    kind: z.literal('None'),
    source,
    problem: z.enum([
      'EniConfigNotFound',
      'EniConfigInvalid',
      'EniConfigUnresolved',
      'EniConfigInOtherZone',
      'EniConfigInOtherVpc',
      'EmptyName',
      'NoEniConfig',
      'ClassInvalid',
      'ClassUnreadable',
      'ClassNotSupported',
      'NoEniConfigInZone',
      'Unreadable',
    ]),
    reason: sentence,
    message: sentence,
    fix: sentence,
  }),
]);

const intent = z.object({
  id: intentId,
  kind: z.literal('CreateEni'),
  subnetId,
  securityGroupIds,
  addressCount: count,
  eniConfig: eniConfigName,
  notedAt: timestamp,
});

const eni = z.object({
  eniId,
  mac: z.string().regex(/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/, { error: 'must be six hex bytes with colons' }),
  primary: z.boolean(),
  deviceIndex: count,
  networkCardIndex: count,
  eniConfig: eniConfigName,
  subnetId,
  subnetCidr: cidr,
  securityGroupIds,
  primaryAddress: ip,
  addresses: z.array(ip).max(ENI_ADDRESS_COUNT_MAX),
  prefixes: z.array(cidr).max(ENI_ADDRESS_COUNT_MAX),
  withdrawing: z.array(ip).max(ENI_ADDRESS_COUNT_MAX),
  cordoned: z.boolean(),
});

const settings = z.object({
  externalSnat: z.boolean(),
  directCidrs: z.array(cidr).max(256),
  mtu: z.int32().min(576).max(9001),
  vethPrefix: z.string().min(1).max(4),
  randomizeSnat: z.enum(['prng', 'hashrandom', 'none']),
});

const nodeNetworkSpec = z.object({
  instance,
  selection,
  intents: z.array(intent).max(ENI_COUNT_MAX),
  enis: z.array(eni).max(ENI_COUNT_MAX),
  settings,
  cooldownMs: count,
});

const condition = z.object({
  type: z.enum(['EniConfigSelected', 'AddressesAvailable', 'AgentReady']),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().max(1024),
  message: z.string().max(32_768),
  /** As in every Kubernetes condition, so that tools find it. */
  lastTransitionTime: timestamp,
});

const nodeNetworkStatus = z.object({
  observedGeneration: z.number().int().min(0),
  used: z.array(z.object({ ip, pod: podKey })).max(NODE_ADDRESS_COUNT_MAX),
  cooling: z.array(ip).max(NODE_ADDRESS_COUNT_MAX),
  withdrawn: z.array(ip).max(NODE_ADDRESS_COUNT_MAX),
  conditions: z.array(condition).max(32),
});

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

/** `status` as it is written. */
export const writeNodeNetworkStatus = (status: NodeNetworkStatus): Result<unknown, string> =>
  encoded(
    nodeNetworkStatus,
    {
      ...status,
      conditions: status.conditions.map(({ lastTransitionAt, ...rest }) => ({
        ...rest,
        lastTransitionTime: lastTransitionAt,
      })),
    } as unknown as z.output<typeof nodeNetworkStatus>,
    'status',
  );

const statusFromWire = ({ conditions, ...rest }: z.output<typeof nodeNetworkStatus>): NodeNetworkStatus => ({
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
