// The Pod object of Kubernetes, as far as it is read.

import { z } from 'zod';
import { type NodeName, type PodKey, podKey } from '../../domain/ids.ts';
import { ok, type Result } from '../../domain/result.ts';
import { type Meta, metaOf, objectMeta, readObject, type Unreadable } from './object.ts';
import { nodeName } from './scalars.ts';

const podObject = z.object({
  metadata: objectMeta.extend({ namespace: z.string().min(1) }),
  spec: z.object({
    nodeName: nodeName.optional(),
    hostNetwork: z.boolean().optional(),
    // Not looked into by a schema: of each pod of a cluster it would cost more than all else here.
    containers: z.unknown().optional(),
  }),
  status: z.object({ phase: z.string().optional() }).nullish(),
});

export interface PodObject extends Meta {
  readonly key: PodKey;
  readonly namespace: string;
  readonly nodeName?: NodeName;
  readonly hostNetwork: boolean;
  readonly finished: boolean;
  readonly asksBranchEni?: true;
}

/** Annotations of pods outside these domains are nobody's business here, and there may be kilobytes of them. */
const ANNOTATION_DOMAINS = ['eniwhere.io/', 'k8s.amazonaws.com/', 'vpc.amazonaws.com/'];

/** Reads a Pod. */
export function readPod(value: unknown): Result<PodObject, Unreadable> {
  const read = readObject(podObject, value);
  if (!read.ok) return read;
  const { metadata, spec, status } = read.value;
  const meta = metaOf(metadata);
  return ok({
    ...meta,
    annotations: ourAnnotations(meta.annotations),
    key: podKey(metadata.namespace, metadata.name),
    namespace: metadata.namespace,
    ...(spec.nodeName === undefined ? {} : { nodeName: spec.nodeName }),
    hostNetwork: spec.hostNetwork ?? false,
    finished: status?.phase === 'Succeeded' || status?.phase === 'Failed',
    ...(asksBranchEni(spec.containers) ? { asksBranchEni: true as const } : {}),
  });
}

/** https://docs.aws.amazon.com/eks/latest/userguide/security-groups-for-pods.html */
const BRANCH_ENI_RESOURCE = 'vpc.amazonaws.com/pod-eni';

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;

function asksBranchEni(containers: unknown): boolean {
  if (!Array.isArray(containers)) return false;
  return containers.some((container) => {
    const resources = fieldOf(container, 'resources');
    return (
      fieldOf(fieldOf(resources, 'limits'), BRANCH_ENI_RESOURCE) !== undefined ||
      fieldOf(fieldOf(resources, 'requests'), BRANCH_ENI_RESOURCE) !== undefined
    );
  });
}

type Texts = Readonly<Record<string, string>>;
const NONE: Texts = Object.freeze({});

function ourAnnotations(annotations: Texts): Texts {
  const ours = Object.entries(annotations).filter(([key]) =>
    ANNOTATION_DOMAINS.some((domain) => key.startsWith(domain)),
  );
  return ours.length === 0 ? NONE : Object.fromEntries(ours);
}
