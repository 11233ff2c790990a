// The Node object of Kubernetes, as far as it is read.

import { z } from 'zod';
import { type InstanceId, type NodeName, parseInstanceId } from '../../domain/ids.ts';
import { ok, type Result } from '../../domain/result.ts';
import { type Meta, metaOf, objectMeta, readObject, type Unreadable } from './object.ts';
import { nodeName } from './scalars.ts';

const taint = z.object({
  key: z.string(),
  value: z.string().exactOptional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
});

const nodeObject = z.object({
  metadata: objectMeta.extend({ name: nodeName }),
  spec: z.object({ providerID: z.string().optional(), taints: z.array(taint).nullish() }).nullish(),
  status: z
    .object({
      capacity: z.record(z.string(), z.unknown()).nullish(),
      nodeInfo: z.object({ kernelVersion: z.string().optional() }).nullish(),
    })
    .nullish(),
});

export interface NodeObject extends Meta {
  readonly name: NodeName;
  readonly instanceId?: InstanceId;
  readonly zone?: string;
  readonly taints: readonly z.output<typeof taint>[];
  /** Of status.capacity, what is ours to publish. */
  readonly extendedResources: Readonly<Record<string, number>>;
  readonly podCapacity?: number;
  readonly kernelVersion?: string;
}

const ZONE_LABEL = 'topology.kubernetes.io/zone';

/** Reads a Node. One without an AWS provider id has no instance, which is the cloud provider's to fill in. */
export function readNode(value: unknown): Result<NodeObject, Unreadable> {
  const read = readObject(nodeObject, value);
  if (!read.ok) return read;
  const { metadata, spec, status } = read.value;
  const meta = metaOf(metadata);
  const provider = readProviderId(spec?.providerID ?? '');
  const zone = meta.labels[ZONE_LABEL] ?? provider.zone;
  const pods = Number(status?.capacity?.['pods'] ?? Number.NaN);
  const kernelVersion = status?.nodeInfo?.kernelVersion;
  return ok({
    ...meta,
    name: metadata.name,
    taints: spec?.taints ?? [],
    extendedResources: ownResources(status?.capacity ?? {}),
    ...(provider.instanceId === undefined ? {} : { instanceId: provider.instanceId }),
    ...(zone === undefined ? {} : { zone }),
    ...(Number.isInteger(pods) ? { podCapacity: pods } : {}),
    ...(kernelVersion === undefined ? {} : { kernelVersion }),
  });
}

const OWN_RESOURCE = 'eniwhere.io/';

/** A quantity that is no plain whole number was not written by us, and is written anew. */
const ownResources = (capacity: Readonly<Record<string, unknown>>): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(capacity)
      .filter(([name]) => name.startsWith(OWN_RESOURCE))
      .map(([name, quantity]) => [name, /^[0-9]+$/.test(String(quantity)) ? Number(quantity) : -1]),
  );

/** `aws:///ZONE/INSTANCE` of the AWS cloud provider; the zone may be missing in hand-made ones. */
function readProviderId(text: string): { readonly instanceId?: InstanceId; readonly zone?: string } {
  const match = /^aws:\/\/\/(?:([^/]*)\/)?([^/]+)$/.exec(text);
  const instanceId = parseInstanceId(match?.[2] ?? '');
  if (!instanceId.ok) return {};
  const zone = match?.[1];
  return { instanceId: instanceId.value, ...(zone === undefined || zone === '' ? {} : { zone }) };
}
