// The controller's settings, under the names that users of the AWS VPC CNI know.

import type { AddressFamily } from '../domain/address/families.ts';
import type { Cidr } from '../domain/address/ip.ts';
import { parseVethPrefix } from '../domain/datapath/veth-prefix.ts';
import type { Mode } from '../domain/ipam/mode.ts';
import type { WarmTargets } from '../domain/ipam/warm-targets.ts';
import { err, ok, type Result } from '../domain/result.ts';
import { addressFamiliesOf, type Environment, settingsReader } from '../domain/settings-reader.ts';

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
  readonly mode: Mode;
  /** What pods get whose class does not say. */
  readonly addressFamilies: readonly AddressFamily[];
  readonly targets: WarmTargets;
  readonly onEniConfigChange: 'Cordon' | 'Keep';
  /** How long an excess lasts before addresses are withdrawn. The AWS VPC CNI shrinks at most every 30 s. */
  readonly excessHoldMs: number;
  /** Key of the taint that nodes may register with, and that goes once their network serves. */
  readonly startupTaint: string;
  /** Key of the taint that a node gets while a further pod would find no address there; none when empty. */
  readonly noAddressTaint: string;
  /** Pods may choose their ENIConfig by annotation. */
  readonly podsChoose: boolean;
}

/**
 * Parses the environment. Answers every mistake at once, each naming the variable, its value and what is allowed; what
 * counts as unset is `settingsReader`'s to say.
 */
export function parseControllerSettings(env: Environment): Result<ControllerSettings, readonly string[]> {
  const errors: string[] = [];
  const read = settingsReader(env, errors);
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
    addressFamilies: addressFamiliesOf(read),
    mode: read.flag('ENABLE_PREFIX_DELEGATION', false) ? 'Prefix' : 'SecondaryIP',
    targets: {
      ...(warmIp === undefined ? {} : { warmIp }),
      ...(minimumIp === undefined ? {} : { minimumIp }),
      warmEni: read.count('WARM_ENI_TARGET') ?? 1,
      // 1 as in AWS's manifests; 0, their code's default, would be demand alone.
      warmPrefix: read.count('WARM_PREFIX_TARGET') ?? 1,
      // 0 means the instance type's own limit, as in the AWS VPC CNI, which ignores values below 1.
      ...(maxEni === undefined || maxEni < 1 ? {} : { maxEni }),
    },
    onEniConfigChange: read.choice('ENIWHERE_ON_ENI_CONFIG_CHANGE', ['Cordon', 'Keep'], 'Cordon'),
    excessHoldMs: (read.count('ENIWHERE_EXCESS_HOLD_SECONDS') ?? 30) * 1000,
    podsChoose: read.flag('ENIWHERE_POD_ENI_CONFIG', true),
    noAddressTaint: read.text('ENIWHERE_NO_ADDRESS_TAINT', ''),
    startupTaint: read.text('ENIWHERE_STARTUP_TAINT', 'eniwhere.io/network-not-ready'),
  };
  if (settings.addressFamilies.length === 0)
    errors.push('ENABLE_IPv4 and ENABLE_IPv6 are both false: set one of them to true, or both');
  const vethPrefix = parseVethPrefix(settings.vethPrefix);
  if (!vethPrefix.ok) errors.push(`AWS_VPC_K8S_CNI_VETHPREFIX: ${vethPrefix.error}`);
  return errors.length === 0 ? ok(settings) : err(errors);
}
