// The controller's settings, under the names that users of the AWS VPC CNI know.

import { parseCidr } from '../domain/address/cidr.ts';
import type { Cidr } from '../domain/address/ip.ts';
import { parseVethPrefix } from '../domain/datapath/veth-prefix.ts';
import type { WarmTargets } from '../domain/ipam/warm-targets.ts';
import { err, ok, type Result } from '../domain/result.ts';

export interface ControllerSettings {
  readonly clusterName: string;
  readonly customNetworking: boolean;
  readonly annotationKey: string;
  readonly labelKey: string;
  readonly externalSnat: boolean;
  readonly excludeSnatCidrs: readonly Cidr[];
  readonly randomizeSnat: 'prng' | 'hashrandom' | 'none';
  readonly mtu: number;
  readonly vethPrefix: string;
  readonly cooldownMs: number;
  readonly targets: WarmTargets;
  readonly onEniConfigChange: 'Cordon' | 'Keep';
  /** How long an excess lasts before addresses are withdrawn. The AWS VPC CNI shrinks at most every 30 s. */
  readonly excessHoldMs: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Parses the environment. Answers every mistake at once, each naming the variable, its value and what is allowed.
 * A variable that is set but empty counts as a mistake for booleans (an upgrade that blanks a value must not change
 * the mode of a cluster in silence), and as unset for keys and numbers.
 */
export function parseControllerSettings(env: Environment): Result<ControllerSettings, readonly string[]> {
  const errors: string[] = [];
  const read = readers(env, errors);
  const warmIp = read.count('WARM_IP_TARGET');
  const minimumIp = read.count('MINIMUM_IP_TARGET');
  const maxEni = read.count('MAX_ENI');
  const settings: ControllerSettings = {
    clusterName: read.text('CLUSTER_NAME', 'kubernetes'),
    // Off by default, as in the AWS VPC CNI.
    customNetworking: read.flag('AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG', false),
    annotationKey: read.text('ENI_CONFIG_ANNOTATION_DEF', 'k8s.amazonaws.com/eniConfig'),
    labelKey: read.text('ENI_CONFIG_LABEL_DEF', 'k8s.amazonaws.com/eniConfig'),
    externalSnat: read.flag('AWS_VPC_K8S_CNI_EXTERNALSNAT', false),
    excludeSnatCidrs: read.cidrs('AWS_VPC_K8S_CNI_EXCLUDE_SNAT_CIDRS'),
    randomizeSnat: read.choice('AWS_VPC_K8S_CNI_RANDOMIZESNAT', ['prng', 'hashrandom', 'none'], 'prng'),
    mtu: read.count('AWS_VPC_ENI_MTU', { min: 576, max: 9001 }) ?? 9001,
    vethPrefix: read.text('AWS_VPC_K8S_CNI_VETHPREFIX', 'eni'),
    cooldownMs: (read.count('IP_COOLDOWN_PERIOD') ?? 30) * 1000,
    targets: {
      ...(warmIp === undefined ? {} : { warmIp }),
      ...(minimumIp === undefined ? {} : { minimumIp }),
      warmEni: read.count('WARM_ENI_TARGET') ?? 1,
      // 0 means the instance type's own limit, as in the AWS VPC CNI, which ignores values below 1.
      ...(maxEni === undefined || maxEni < 1 ? {} : { maxEni }),
    },
    onEniConfigChange: read.choice('ENIWHERE_ON_ENI_CONFIG_CHANGE', ['Cordon', 'Keep'], 'Cordon'),
    excessHoldMs: (read.count('ENIWHERE_EXCESS_HOLD_SECONDS') ?? 30) * 1000,
  };
  const vethPrefix = parseVethPrefix(settings.vethPrefix);
  if (!vethPrefix.ok) errors.push(`AWS_VPC_K8S_CNI_VETHPREFIX: ${vethPrefix.error}`);
  return errors.length === 0 ? ok(settings) : err(errors);
}

function readers(
  env: Environment,
  errors: string[],
): {
  text(name: string, fallback: string): string;
  flag(name: string, fallback: boolean): boolean;
  count(name: string, range?: { readonly min: number; readonly max: number }): number | undefined;
  choice<T extends string>(name: string, allowed: readonly T[], fallback: T): T;
  cidrs(name: string): readonly Cidr[];
} {
  const isUnset = (text: string | undefined): text is undefined | '' => text === undefined || text === '';
  return {
    text: (name, fallback) => {
      const text = env[name];
      return isUnset(text) ? fallback : text;
    },
    flag: (name, fallback) => {
      const text = env[name];
      if (text === undefined) return fallback;
      if (/^(true|t|1)$/i.test(text)) return true;
      if (/^(false|f|0)$/i.test(text)) return false;
      errors.push(`${name}="${text}": expected true or false`);
      return fallback;
    },
    count: (name, range = { min: 0, max: 1_000_000 }) => {
      const text = env[name];
      if (isUnset(text)) return undefined;
      const value = Number(text);
      if (/^\d+$/.test(text) && value >= range.min && value <= range.max) return value;
      errors.push(`${name}="${text}": expected a whole number from ${range.min} to ${range.max}`);
      return undefined;
    },
    choice: (name, allowed, fallback) => {
      const text = env[name];
      if (isUnset(text)) return fallback;
      const found = allowed.find((one) => one === text);
      if (found === undefined) errors.push(`${name}="${text}": expected one of ${allowed.join(', ')}`);
      return found ?? fallback;
    },
    cidrs: (name) => {
      const text = env[name];
      if (isUnset(text)) return [];
      return text.split(',').flatMap((part) => {
        const cidr = parseCidr(part.trim());
        if (cidr.ok) return [cidr.value];
        errors.push(`${name}: ${cidr.error}`);
        return [];
      });
    },
  };
}
