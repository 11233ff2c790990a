// What all Kubernetes objects have in common as they come over the wire, and what is said of one that cannot be read.

import { z } from 'zod';
import { err, ok, type Result } from '../../domain/result.ts';

const texts = z.record(z.string(), z.string());

/** `metadata`, with the fields that are read. Built-in kinds have no generation, or none that means anything here. */
export const objectMeta = z.object({
  name: z.string().min(1),
  uid: z.string(),
  resourceVersion: z.string().min(1),
  generation: z.number().optional(),
  labels: texts.nullish(),
  annotations: texts.nullish(),
  deletionTimestamp: z.string().nullish(),
});

/** Of a part with one writer, who sets it whole: what is not in it any more is gone, whoever wrote it before. */
export const writtenWhole = { 'x-kubernetes-map-type': 'atomic' } as const;

export interface Meta {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly deleting: boolean;
}

/** One object for all that have none: 150,000 empty ones would weigh. */
const NO_TEXTS: Readonly<Record<string, string>> = Object.freeze({});

export const metaOf = (meta: z.output<typeof objectMeta>): Meta => ({
  name: meta.name,
  uid: meta.uid,
  resourceVersion: meta.resourceVersion,
  generation: meta.generation ?? 0,
  labels: meta.labels ?? NO_TEXTS,
  annotations: meta.annotations ?? NO_TEXTS,
  deleting: typeof meta.deletionTimestamp === 'string',
});

/** An object that cannot be read: which, which field, and what is wrong with it. */
export interface Unreadable {
  readonly name: string;
  /** Such as `spec.enis[0].mac`; empty for the object as a whole. */
  readonly field: string;
  readonly message: string;
}

/** Reads `value` by `schema`; the first fault answers for all. */
export function readObject<T>(schema: z.ZodType<T>, value: unknown): Result<T, Unreadable> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return ok(parsed.data);
  const [issue] = parsed.error.issues;
  return err({
    name: nameOf(value) ?? '',
    field: z.core.toDotPath(issue?.path ?? []),
    message: issue?.message ?? 'cannot be read',
  });
}

const named = z.object({ metadata: z.object({ name: z.string(), namespace: z.string().optional() }) });

/** `name` or `namespace/name` of anything that has as much as that. */
export function nameOf(value: unknown): string | undefined {
  const parsed = named.safeParse(value);
  if (!parsed.success) return undefined;
  const { name, namespace } = parsed.data.metadata;
  return namespace === undefined ? name : `${namespace}/${name}`;
}
