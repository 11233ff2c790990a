// The smallest pieces of the scenario language: closed objects, scalars and endpoints, each with its own error text.

import { z } from 'zod';
import { ADDRESS_FAMILIES } from '../../domain/address/families.ts';
import { type Cidr, familyOf, type Ip, type IpFamily } from '../../domain/address/ip.ts';
import { parseCidr } from '../../domain/address/cidr.ts';
import { parseIp } from '../../domain/address/parse-ip.ts';
import { type NodeName, parseNodeName, type PodKey, podKey } from '../../domain/ids.ts';
import { err, ok, type Result } from '../../domain/result.ts';
import { nearest } from './nearest.ts';

type Shape = Readonly<Record<string, z.ZodType>>;

/** An object that has these keys and no others; a slip in a key is answered with the key that was meant. */
export const closed = <S extends Shape>(shape: S): z.ZodObject<S, z.core.$strict> =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' ? unknownKeyText(issue.keys ?? [], Object.keys(shape)) : undefined,
  });

function unknownKeyText(keys: readonly string[], known: readonly string[]): string {
  const key = keys[0] ?? '';
  const meant = nearest(key, known);
  return `unknown key "${key}"; ${meant === undefined ? `the keys here are ${known.join(', ')}` : `did you mean "${meant}"?`}`;
}

/** A value that `schema` lets through, read by a parser that makes a typed value; the parser's own error is shown. */
export const parsedBy = <In, Out>(
  schema: z.ZodType<In>,
  parse: (value: In) => Result<Out, string>,
): z.ZodType<Out> =>
  schema.transform((value, context): Out => {
    const parsed = parse(value);
    if (parsed.ok) return parsed.value;
    context.issues.push({ code: 'custom', message: parsed.error, input: value });
    return z.NEVER;
  });

/** A text read by one of the parsers that make typed values. */
export const textOf = <T>(parse: (text: string) => Result<T, string>): z.ZodType<T> =>
  parsedBy(z.string(), parse);

export const words: z.ZodString = z.string().min(1, 'must not be empty');

const ofFamily = <T extends Ip | Cidr>(family: IpFamily, parsed: Result<T, string>): Result<T, string> =>
  parsed.ok && familyOf(parsed.value) !== family
    ? err(`"${parsed.value}" is IPv${familyOf(parsed.value)}, and IPv${family} is wanted here`)
    : parsed;

export const ipv4: z.ZodType<Ip> = textOf((text) => ofFamily(4, parseIp(text)));
export const ipv4Cidr: z.ZodType<Cidr> = textOf((text) => ofFamily(4, parseCidr(text)));
export const ipv6: z.ZodType<Ip> = textOf((text) => ofFamily(6, parseIp(text)));
export const ipv6Cidr: z.ZodType<Cidr> = textOf((text) => ofFamily(6, parseCidr(text)));

export const count: z.ZodNumber = z.int().min(0, 'a count is not negative');

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };
/** No step of a scenario waits longer, milliseconds. */
export const DURATION_MS_MAX = 600_000;

/** `500ms`, `20s`, `2m` as milliseconds. */
export function parseDuration(text: string): Result<number, string> {
  const match = /^([0-9]+)(ms|s|m)$/.exec(text);
  const ms = Number(match?.[1]) * (UNIT_MS[match?.[2] ?? ''] ?? Number.NaN);
  if (Number.isNaN(ms)) return err(`"${text}" is not a duration; write it like 500ms, 20s or 2m`);
  return ms <= DURATION_MS_MAX ? ok(ms) : err(`"${text}" is longer than a step may take (10m)`);
}
export const durationMs: z.ZodType<number> = textOf(parseDuration);

/** RFC 1123 label: what a pod, a namespace and the scenario's own names look like. */
const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** `NAME` (in namespace default) or `NAMESPACE/NAME`. */
export function parsePod(text: string): Result<PodKey, string> {
  const parts = text.split('/');
  const namespace = parts.length === 2 ? (parts[0] ?? '') : 'default';
  const name = parts.at(-1) ?? '';
  return parts.length <= 2 && LABEL.test(namespace) && LABEL.test(name)
    ? ok(podKey(namespace, name))
    : err(`"${text}" is not a pod; write NAME or NAMESPACE/NAME in lower-case letters, digits and "-"`);
}
export const pod: z.ZodType<PodKey> = textOf(parsePod);

/** A pod, or with a trailing `*` every pod whose name starts so. */
export interface PodPattern {
  readonly key: PodKey;
  readonly any: boolean;
}

export function parsePodPattern(text: string): Result<PodPattern, string> {
  const any = text.endsWith('*');
  // "burst-*": the dash before the star may not end a name, so a letter stands in for the star while parsing.
  const key = parsePod(any ? `${text.slice(0, -1)}x` : text);
  if (!key.ok)
    return err(`"${text}" is not a pod; write NAME, NAMESPACE/NAME, or NAME* for all that start so`);
  return ok({ key: any ? (key.value.slice(0, -1) as PodKey) : key.value, any });
}
export const podPattern: z.ZodType<PodPattern> = textOf(parsePodPattern);

/** The pods of `existing` that the patterns name, each once, in the order of the patterns; unknown names stay in. */
export function matchPods(patterns: readonly PodPattern[], existing: Iterable<PodKey>): readonly PodKey[] {
  const all = [...existing];
  const matched = patterns.flatMap((pattern) =>
    pattern.any ? all.filter((key) => key.startsWith(pattern.key)) : [pattern.key],
  );
  return [...new Set(matched)];
}

export const localName: z.ZodString = z
  .string()
  .regex(LABEL, 'a name has lower-case letters, digits and "-", at most 63');

/** A node's name is part of socket paths and namespace names, so it is shorter here than Kubernetes allows. */
const NODE_NAME_LENGTH_MAX = 63;

export const nodeName: z.ZodType<NodeName> = textOf((text) =>
  text.length <= NODE_NAME_LENGTH_MAX
    ? parseNodeName(text)
    : err(`"${text}" is longer than the ${NODE_NAME_LENGTH_MAX} characters of a node's name here`),
);

/** Of a packet; that of the sender's first address when a step does not say. */
export const family: z.ZodType<IpFamily> = z
  .enum(ADDRESS_FAMILIES)
  .transform((name): IpFamily => (name === 'IPv4' ? 4 : 6));

/** Where a packet starts or ends. */
export type Endpoint =
  | { readonly kind: 'Pod'; readonly pod: PodKey }
  | { readonly kind: 'Node'; readonly node: string }
  | { readonly kind: 'Internet' }
  | { readonly kind: 'OnPrem' }
  | { readonly kind: 'Metadata' };

export interface Destination {
  readonly endpoint: Endpoint;
  readonly port: number;
}

/** Port that every echo server of the lab listens on unless the scenario names one. */
export const DEFAULT_PORT = 8080;
/** Instance metadata is HTTP. */
export const METADATA_PORT = 80;

const ENDPOINT_FORMS = 'pod/NAME, pod/NAMESPACE/NAME, node/NAME, internet, onprem or metadata';

/** `pod/web-1`, `node/node-1a-1`, `internet`, `onprem`, `metadata`. */
export function parseEndpoint(text: string): Result<Endpoint, string> {
  const slash = text.indexOf('/');
  const kind = slash < 0 ? text : text.slice(0, slash);
  const rest = slash < 0 ? '' : text.slice(slash + 1);
  if (kind === 'pod' && rest !== '') {
    const key = parsePod(rest);
    return key.ok ? ok({ kind: 'Pod', pod: key.value }) : key;
  }
  if (kind === 'node' && rest !== '') return ok({ kind: 'Node', node: rest });
  if (text === 'internet') return ok({ kind: 'Internet' });
  if (text === 'onprem') return ok({ kind: 'OnPrem' });
  if (text === 'metadata') return ok({ kind: 'Metadata' });
  return err(`"${text}" is not an endpoint; write ${ENDPOINT_FORMS}`);
}
export const endpoint: z.ZodType<Endpoint> = textOf(parseEndpoint);

/** An endpoint with an optional `:PORT`. */
export function parseDestination(text: string): Result<Destination, string> {
  const colon = text.indexOf(':');
  const parsed = parseEndpoint(colon < 0 ? text : text.slice(0, colon));
  if (!parsed.ok) return parsed;
  if (colon < 0)
    return ok({
      endpoint: parsed.value,
      port: parsed.value.kind === 'Metadata' ? METADATA_PORT : DEFAULT_PORT,
    });
  const number = /^[0-9]{1,5}$/.test(text.slice(colon + 1)) ? Number(text.slice(colon + 1)) : 0;
  return number >= 1 && number <= 65535
    ? ok({ endpoint: parsed.value, port: number })
    : err(`"${text}" has no port from 1 to 65535 after the colon`);
}
export const destination: z.ZodType<Destination> = textOf(parseDestination);

/** Pod as reports show it: the namespace only when it is not `default`. */
export const showPod = (key: PodKey): string => (key.startsWith('default/') ? key.slice(8) : key);

export function showEndpoint(endpoint: Endpoint): string {
  switch (endpoint.kind) {
    case 'Pod':
      return `pod ${showPod(endpoint.pod)}`;
    case 'Node':
      return `node ${endpoint.node}`;
    case 'Internet':
      return 'the internet host';
    case 'OnPrem':
      return 'the on-premises host';
    case 'Metadata':
      return 'instance metadata';
  }
}
