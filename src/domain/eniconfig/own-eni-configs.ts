// The ENIConfigs that the controller makes for a class with subnet tags: which to create, correct and delete.

import type { SecurityGroupId, SubnetId } from '../ids.ts';
import { CLASS_LABEL } from './select-by-class.ts';
import type { EniConfig } from './eni-config.ts';
import type { NodeNetworkClass } from './node-network-class.ts';

/** An ENIConfig that is there; `subnetId` is absent when its spec is malformed. */
export interface ExistingEniConfig {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly subnetId?: SubnetId;
  readonly securityGroupIds?: readonly SecurityGroupId[];
}

/** The subnets that carry the class's tags, as far as EC2 has said. */
export type TaggedSubnets =
  | { readonly kind: 'Unknown' }
  | {
      readonly kind: 'Known';
      readonly found: readonly SubnetId[];
      /** Not found any more, but seen too lately to be sure: EC2's answers may be minutes old. */
      readonly lately: ReadonlySet<SubnetId>;
    };

export interface OwnEniConfigPlan {
  readonly create: readonly EniConfig[];
  readonly correct: readonly EniConfig[];
  /** Names. */
  readonly remove: readonly string[];
  /** A sentence without its full stop, for the class's status. */
  readonly problem?: string;
}

const NOTHING: OwnEniConfigPlan = { create: [], correct: [], remove: [] };

/** `CLASS.` and the subnet's id without its type word: the same for ever, so that nodes and ENIs find it again. */
export const ownEniConfigName = (className: string, subnetId: SubnetId): string =>
  `${className}.${subnetId.replace(/^subnet-/, '')}`;

/** Whether the controller made it for the class: only such ones are ever changed or deleted. */
export const isOwnEniConfig = ({ name, labels }: ExistingEniConfig, className: string): boolean =>
  labels[CLASS_LABEL] === className && name.startsWith(`${className}.`);

/** A class that is gone, or names its ENIConfigs in another way, has none of its own. */
export function planWithoutClass(
  className: string,
  existing: readonly ExistingEniConfig[],
): OwnEniConfigPlan {
  return {
    ...NOTHING,
    remove: existing.filter((one) => isOwnEniConfig(one, className)).map(({ name }) => name),
  };
}

/**
 * One ENIConfig per tagged subnet. When no subnet carries the tags any more, what was made stays: a tag that somebody took
 * away by mistake, in all of a VPC, must not take the network from every node.
 */
export function planOwnEniConfigs(
  { name: className, candidates }: NodeNetworkClass,
  existing: readonly ExistingEniConfig[],
  tagged: TaggedSubnets,
): OwnEniConfigPlan {
  if (candidates?.kind !== 'SubnetTags') return planWithoutClass(className, existing);
  if (tagged.kind === 'Unknown') return NOTHING;
  const own = new Map(existing.filter((one) => isOwnEniConfig(one, className)).map((one) => [one.name, one]));
  const foreign = new Set(existing.map(({ name }) => name).filter((name) => !own.has(name)));
  const wanted = tagged.found.map(
    (subnetId): EniConfig => ({
      name: ownEniConfigName(className, subnetId),
      labels: { [CLASS_LABEL]: className },
      subnetId,
      securityGroupIds: candidates.securityGroupIds,
    }),
  );
  const lately = new Set([...tagged.lately].map((subnetId) => ownEniConfigName(className, subnetId)));
  const names = new Set(wanted.map(({ name }) => name));
  const taken = wanted.find(({ name }) => foreign.has(name));
  const problem =
    taken !== undefined
      ? `ENIConfig "${taken.name}" is there and has no label ${CLASS_LABEL}=${className}: somebody else made it`
      : wanted.length === 0
        ? `no subnet carries its tags${own.size === 0 ? '' : '; the ENIConfigs that were made for it stay'}`
        : undefined;
  return {
    create: wanted.filter(({ name }) => !own.has(name) && !foreign.has(name)),
    correct: wanted.filter((one) => differs(own.get(one.name), one)),
    remove:
      wanted.length === 0 ? [] : [...own.keys()].filter((name) => !names.has(name) && !lately.has(name)),
    ...(problem === undefined ? {} : { problem }),
  };
}

function differs(before: ExistingEniConfig | undefined, wanted: EniConfig): boolean {
  if (before === undefined) return false;
  const groups = before.securityGroupIds ?? [];
  return (
    before.subnetId !== wanted.subnetId ||
    groups.length !== wanted.securityGroupIds.length ||
    groups.some((group, n) => group !== wanted.securityGroupIds[n])
  );
}
