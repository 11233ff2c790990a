// The ENIConfig object of Kubernetes (crd.k8s.amazonaws.com/v1alpha1), read as users have it.

import type { EniConfig } from '../../domain/eniconfig/eni-config.ts';
import { parseSecurityGroupId, parseSubnetId, type SecurityGroupId } from '../../domain/ids.ts';
import { err, ok, type Result } from '../../domain/result.ts';

export const ENI_CONFIG_API_VERSION = 'crd.k8s.amazonaws.com/v1alpha1';
export const ENI_CONFIG_KIND = 'ENIConfig';

/** What is wrong with an object, naming the field and its value, and what to do about it. */
export interface Malformed {
  readonly message: string;
  readonly fix: string;
}

/** An ENIConfig object whose envelope is sound; its spec may still be unusable, which is the status' business. */
export interface EniConfigManifest {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec:
    | { readonly kind: 'Parsed'; readonly eniConfig: EniConfig }
    | ({ readonly kind: 'Malformed' } & Malformed);
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const malformed = (message: string, fix: string): { readonly ok: false; readonly error: Malformed } =>
  err({ message, fix });

/** A value as a person would point at it; long ones are cut. */
function quote(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  const shownMax = 80;
  return text.length <= shownMax ? text : `${text.slice(0, shownMax)}...`;
}

/** RFC 1123 subdomain, at most 253 characters: what the API server accepts as the name of a cluster-scoped object. */
const OBJECT_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const OBJECT_NAME_LENGTH_MAX = 253;

/**
 * Reads one object. The envelope (apiVersion, kind, metadata) must be sound, else the API server would have refused the
 * object; a bad spec is an ordinary value, because the CRD's schema lets nearly every spec through (upstream.md 1.1).
 * Unknown fields are ignored: the CRD preserves them, and users' objects have them.
 */
export function parseEniConfigManifest(object: unknown): Result<EniConfigManifest, Malformed> {
  if (!isFields(object))
    return malformed(`an ENIConfig must be an object, but is ${quote(object)}`, 'write it as a YAML mapping');
  if (object['apiVersion'] !== ENI_CONFIG_API_VERSION)
    return malformed(
      `apiVersion is ${quote(object['apiVersion'])}`,
      `set apiVersion: ${ENI_CONFIG_API_VERSION}`,
    );
  if (object['kind'] !== ENI_CONFIG_KIND)
    return malformed(`kind is ${quote(object['kind'])}`, `set kind: ${ENI_CONFIG_KIND}`);
  const metadata = object['metadata'];
  if (!isFields(metadata)) return malformed('metadata is missing', 'add metadata with a name');
  const name = metadata['name'];
  if (typeof name !== 'string' || name.length > OBJECT_NAME_LENGTH_MAX || !OBJECT_NAME.test(name))
    return malformed(
      `metadata.name is ${quote(name)}`,
      'give it a name of lower-case letters, digits, "-" and "."',
    );
  const labels = textMap(metadata['labels'], 'metadata.labels');
  if (!labels.ok) return labels;
  const annotations = textMap(metadata['annotations'], 'metadata.annotations');
  if (!annotations.ok) return annotations;
  const spec = parseEniConfigSpec(name, labels.value, object['spec']);
  return ok({
    name,
    labels: labels.value,
    annotations: annotations.value,
    spec: spec.ok
      ? { kind: 'Parsed', eniConfig: spec.value }
      : { kind: 'Malformed', message: spec.error.message, fix: spec.error.fix },
  });
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

/** Reads `spec` of the ENIConfig `name`: `subnet` (required) and `securityGroups` (none means the node's own groups). */
export function parseEniConfigSpec(
  name: string,
  labels: Readonly<Record<string, string>>,
  spec: unknown,
): Result<EniConfig, Malformed> {
  if (!isFields(spec))
    return malformed(
      `ENIConfig "${name}": spec is ${spec === undefined ? 'missing' : quote(spec)}`,
      'add spec with a subnet (and securityGroups)',
    );
  const subnet = spec['subnet'];
  const subnetId = typeof subnet === 'string' ? parseSubnetId(subnet) : undefined;
  if (!subnetId?.ok) return malformedSubnet(name, spec);
  const groups = parseSecurityGroups(name, spec['securityGroups']);
  if (!groups.ok) return groups;
  return ok({ name, labels, subnetId: subnetId.value, securityGroupIds: groups.value });
}

const SUBNET_FIX =
  'set spec.subnet to the id of the subnet that pods shall use, such as subnet-0123456789abcdef0';

function malformedSubnet(name: string, spec: Fields): Result<never, Malformed> {
  const subnet = spec['subnet'];
  if (subnet === undefined || subnet === null || subnet === '') {
    const other = ['subnetId', 'subnetID', 'subnets', 'Subnet'].find((key) => key in spec);
    const hint =
      other === undefined ? '' : `; the object has spec.${other}, which is no field of an ENIConfig`;
    return malformed(`ENIConfig "${name}": spec.subnet is missing${hint}`, SUBNET_FIX);
  }
  if (typeof subnet !== 'string')
    return malformed(
      `ENIConfig "${name}": spec.subnet is ${quote(subnet)}, not a text`,
      `${SUBNET_FIX} (one subnet, not a list)`,
    );
  if (subnet.trim() !== subnet)
    return malformed(
      `ENIConfig "${name}": spec.subnet is ${quote(subnet)}, with spaces around the id`,
      'remove the spaces',
    );
  const id = parseSubnetId(subnet);
  const why = id.ok ? 'not accepted' : id.error;
  return malformed(`ENIConfig "${name}": spec.subnet: ${why}`, SUBNET_FIX);
}

function parseSecurityGroups(name: string, value: unknown): Result<readonly SecurityGroupId[], Malformed> {
  if (value === undefined || value === null) return ok([]);
  if (!Array.isArray(value))
    return malformed(
      `ENIConfig "${name}": spec.securityGroups is ${quote(value)}, not a list`,
      'write it as a list of ids, such as securityGroups: [sg-0123456789abcdef0]',
    );
  const groups: SecurityGroupId[] = [];
  for (const [position, entry] of (value as readonly unknown[]).entries()) {
    const field = `spec.securityGroups[${position}]`;
    if (typeof entry !== 'string')
      return malformed(
        `ENIConfig "${name}": ${field} is ${quote(entry)}, not a text`,
        'give the id of a security group, such as sg-0123456789abcdef0',
      );
    const id = parseSecurityGroupId(entry);
    if (!id.ok)
      return malformed(
        `ENIConfig "${name}": ${field}: ${id.error}`,
        'give the id of a security group (not its name), such as sg-0123456789abcdef0',
      );
    // EC2 refuses a group that is listed twice; the person's meaning is clear all the same.
    if (!groups.includes(id.value)) groups.push(id.value);
  }
  return ok(groups);
}
