// What every custom object of ours has: apiVersion, kind and metadata, and how mistakes in objects are told.

import { err, ok, type Result } from '../../domain/result.ts';

/** What is wrong with an object, naming the field and its value, and what to do about it. */
export interface Malformed {
  readonly message: string;
  readonly fix: string;
}

/** The metadata that is read, and the spec as it came. */
export interface Envelope {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: unknown;
}

export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const malformed = (message: string, fix: string): { readonly ok: false; readonly error: Malformed } =>
  err({ message, fix });

/** A value as a person would point at it; long ones are cut. */
export function quote(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  const shownMax = 80;
  return text.length <= shownMax ? text : `${text.slice(0, shownMax)}...`;
}

/** RFC 1123 subdomain, at most 253 characters: what the API server accepts as the name of a cluster-scoped object. */
const OBJECT_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const OBJECT_NAME_LENGTH_MAX = 253;

export const isObjectName = (text: string): boolean =>
  text.length <= OBJECT_NAME_LENGTH_MAX && OBJECT_NAME.test(text);

/** Reads the envelope of one object of a kind. A mistake in it is one that the API server would have refused. */
export function parseEnvelope(
  object: unknown,
  expected: { readonly apiVersion: string; readonly kind: string },
): Result<Envelope, Malformed> {
  const { apiVersion, kind } = expected;
  if (!isFields(object)) {
    const article = /^[AEIOU]/.test(kind) ? 'an' : 'a';
    return malformed(
      `${article} ${kind} must be an object, but is ${quote(object)}`,
      'write it as a YAML mapping',
    );
  }
  if (object['apiVersion'] !== apiVersion)
    return malformed(`apiVersion is ${quote(object['apiVersion'])}`, `set apiVersion: ${apiVersion}`);
  if (object['kind'] !== kind) return malformed(`kind is ${quote(object['kind'])}`, `set kind: ${kind}`);
  const metadata = object['metadata'];
  if (!isFields(metadata)) return malformed('metadata is missing', 'add metadata with a name');
  const name = metadata['name'];
  if (typeof name !== 'string' || !isObjectName(name))
    return malformed(
      `metadata.name is ${quote(name)}`,
      'give it a name of lower-case letters, digits, "-" and "."',
    );
  const labels = textMap(metadata['labels'], 'metadata.labels');
  if (!labels.ok) return labels;
  const annotations = textMap(metadata['annotations'], 'metadata.annotations');
  if (!annotations.ok) return annotations;
  return ok({ name, labels: labels.value, annotations: annotations.value, spec: object['spec'] });
}

function textMap(value: unknown, field: string): Result<Readonly<Record<string, string>>, Malformed> {
  if (value === undefined || value === null) return ok({});
  if (!isFields(value))
    return malformed(`${field} is ${quote(value)}`, `write ${field} as a mapping of texts`);
  const texts: Record<string, string> = {};
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== 'string')
      return malformed(`${field} has ${quote(text)} under "${key}"`, 'put the value in quotes');
    texts[key] = text;
  }
  return ok(texts);
}
