// The ENIConfig object of Kubernetes (crd.k8s.amazonaws.com/v1alpha1), read as users have it.

import type { EniConfig } from '../../domain/eniconfig/eni-config.ts';
import { parseSecurityGroupId, parseSubnetId, type SecurityGroupId } from '../../domain/ids.ts';
import { ok, type Result } from '../../domain/result.ts';
import { type Fields, isFields, type Malformed, malformed, parseEnvelope, quote } from './envelope.ts';

export const ENI_CONFIG_API_VERSION = 'crd.k8s.amazonaws.com/v1alpha1';
export const ENI_CONFIG_KIND = 'ENIConfig';

/** An ENIConfig object whose envelope is sound; its spec may still be unusable, which is the status' business. */
export interface EniConfigManifest {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec:
    | { readonly kind: 'Parsed'; readonly eniConfig: EniConfig }
    | ({ readonly kind: 'Malformed' } & Malformed);
}

/**
 * Reads one object. The envelope (apiVersion, kind, metadata) must be sound, else the API server would have refused the
 * object; a bad spec is an ordinary value, because the CRD's schema lets nearly every spec through (upstream.md 1.1).
 * Unknown fields are ignored: the CRD preserves them, and users' objects have them.
 */
export function parseEniConfigManifest(object: unknown): Result<EniConfigManifest, Malformed> {
  const envelope = parseEnvelope(object, { apiVersion: ENI_CONFIG_API_VERSION, kind: ENI_CONFIG_KIND });
  if (!envelope.ok) return envelope;
  const { name, labels, annotations } = envelope.value;
  const spec = parseEniConfigSpec(name, labels, envelope.value.spec);
  return ok({
    name,
    labels,
    annotations,
    spec: spec.ok
      ? { kind: 'Parsed', eniConfig: spec.value }
      : { kind: 'Malformed', message: spec.error.message, fix: spec.error.fix },
  });
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
