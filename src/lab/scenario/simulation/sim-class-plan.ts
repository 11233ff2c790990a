// The classes of a seeded run, in the model's own words, and as Kubernetes has them.

import type { ClassMatch, ClassSpec, ClassStrategy } from '../../../domain/eniconfig/node-network-class.ts';
import type { SecurityGroupId } from '../../../domain/ids.ts';
import type { Mode } from '../../../domain/ipam/mode.ts';
import type { Families } from './sim-families.ts';
import type { Zone } from './sim-vpc.ts';

/** Label of nodes, by which classes match some of them. */
export const POOL_LABEL = 'pool';
/** Label of ENIConfigs, by which classes and pods choose among them. */
export const TIER_LABEL = 'tier';
export const TIERS = ['front', 'back'] as const;
/** Tag of subnets; value: the class that makes ENIConfigs of them. */
export const SUBNET_TAG = 'pods-of';

export type ClassCandidatesPlan =
  | { readonly kind: 'Names'; readonly names: readonly string[] }
  | { readonly kind: 'Tier'; readonly tier: string }
  | { readonly kind: 'Tagged'; readonly securityGroupIds: readonly SecurityGroupId[] };

export interface ClassPlan {
  readonly name: string;
  readonly priority: number;
  readonly zone?: Zone;
  readonly pool?: string;
  /** Absent: the class only says how pools are kept. */
  readonly candidates?: ClassCandidatesPlan;
  readonly strategy: ClassStrategy;
  readonly fallback: 'NodeSubnet' | 'None';
  /** Addresses to hold ahead of demand, in place of the cluster's setting. */
  readonly warmIp?: number;
  readonly mode?: Mode;
  readonly families?: Families;
  readonly onEniConfigChange?: 'Cordon' | 'Keep';
  /** Somebody wrote nonsense into it: `Match`, so that not even its nodes are known. */
  readonly malformed?: 'Spec' | 'Match';
}

/** What the API server holds. */
export function classSpecOf(plan: ClassPlan): ClassSpec {
  const { name, priority, malformed } = plan;
  const match: ClassMatch = {
    nodeSelector: {
      matchLabels: plan.pool === undefined ? {} : { [POOL_LABEL]: plan.pool },
      matchExpressions: [],
    },
    ...(plan.zone === undefined ? {} : { zones: [plan.zone] }),
  };
  if (malformed !== undefined) {
    const mistake = {
      kind: 'Malformed',
      message: `class ${name} is malformed`,
      fix: 'write it well',
    } as const;
    return { ...mistake, priority, ...(malformed === 'Spec' ? { match } : {}) };
  }
  const candidates = plan.candidates && candidatesOf(name, plan.candidates);
  return {
    kind: 'Parsed',
    nodeNetworkClass: {
      name,
      priority,
      match,
      ...(candidates === undefined ? {} : { candidates }),
      strategy: plan.strategy,
      fallback: plan.fallback,
      overrides: {
        ...(plan.warmIp === undefined ? {} : { targets: { warmIp: plan.warmIp, warmEni: 0 } }),
        ...(plan.mode === undefined ? {} : { mode: plan.mode }),
        ...(plan.families === undefined ? {} : { addressFamilies: plan.families }),
        ...(plan.onEniConfigChange === undefined ? {} : { onEniConfigChange: plan.onEniConfigChange }),
      },
    },
  };
}

type Candidates = NonNullable<Extract<ClassSpec, { kind: 'Parsed' }>['nodeNetworkClass']['candidates']>;

function candidatesOf(className: string, plan: ClassCandidatesPlan): Candidates {
  switch (plan.kind) {
    case 'Names':
      return plan;
    case 'Tier':
      return {
        kind: 'Selector',
        selector: { matchLabels: { [TIER_LABEL]: plan.tier }, matchExpressions: [] },
      };
    case 'Tagged':
      return {
        kind: 'SubnetTags',
        tags: { [SUBNET_TAG]: className },
        securityGroupIds: plan.securityGroupIds,
      };
  }
}
