// What people do to classes: they make, change and delete them, tag subnets, and label nodes and ENIConfigs.

import type { ClassStrategy } from '../../../domain/eniconfig/node-network-class.ts';
import type { SubnetId } from '../../../domain/ids.ts';
import { chance, drawBetween, pick, shuffled } from '../../kernel/draw.ts';
import {
  type ClassCandidatesPlan,
  type ClassPlan,
  classSpecOf,
  POOL_LABEL,
  SUBNET_TAG,
  TIER_LABEL,
  TIERS,
} from './sim-class-plan.ts';
import type { ConfigDeps } from './sim-config-deeds.ts';
import type { SimFamilies } from './sim-families.ts';
import { drawClassMode, type SimMode } from './sim-mode.ts';
import { ZONES } from './sim-vpc.ts';

export interface ClassDeps extends ConfigDeps {
  readonly mode: SimMode;
  readonly families: SimFamilies;
}

const CLASS_NAMES = ['blue', 'green'] as const;
const POOLS = ['x', 'y'] as const;
const STRATEGIES: readonly ClassStrategy[] = ['First', 'Hash', 'MostFree', 'Spread'];
const WARM_IPS = [1, 2, 4] as const;
const DELETED_ODDS = 0.2;
const MALFORMED_ODDS = 0.1;

/** One deed, drawn. */
export function classDeeds(deps: ClassDeps): { act(): void } {
  const plans = new Map<string, ClassPlan>();
  const { random, cluster, choices, tell } = deps;
  const put = (plan: ClassPlan): void => {
    plans.set(plan.name, plan);
    cluster.admin.applyNodeNetworkClass({ name: plan.name, spec: classSpecOf(plan) });
    choices.setClass(plan.name, plan);
    tell(`class ${plan.name} is ${JSON.stringify(plan)}`);
  };
  const remove = (name: string): void => {
    plans.delete(name);
    cluster.admin.deleteNodeNetworkClass(name);
    choices.setClass(name, undefined);
    tell(`class ${name} is deleted`);
  };
  const changeClass = (): void => {
    const name = pick(random, CLASS_NAMES);
    const before = plans.get(name);
    if (before === undefined) return put(drawPlan(deps, name));
    if (chance(random, DELETED_ODDS)) return remove(name);
    if (chance(random, MALFORMED_ODDS))
      return put({ ...before, malformed: pick(random, ['Spec', 'Match'] as const) });
    const { malformed: _, ...sound } = before;
    put({ ...sound, ...drawChange(deps, name) });
  };
  return { act: () => pick(random, [changeClass, changeClass, () => tag(deps), () => relabel(deps)])() };
}

function drawCandidates({ random, cluster, vpc }: ClassDeps): ClassCandidatesPlan {
  switch (pick(random, ['Names', 'Tier', 'Tagged'] as const)) {
    case 'Names': {
      const there = cluster.admin.list('EniConfig').map(({ name }) => name);
      const names = shuffled(random, chance(random, 0.2) ? [...there, 'missing'] : there);
      return { kind: 'Names', names: names.slice(0, drawBetween(random, { min: 1, max: 4 })) };
    }
    case 'Tier':
      return { kind: 'Tier', tier: pick(random, TIERS) };
    case 'Tagged': {
      const mistaken = vpc.strangers === undefined ? [] : [vpc.strangers.groupId];
      return {
        kind: 'Tagged',
        securityGroupIds: [pick(random, [vpc.podsGroup, vpc.otherPodsGroup, ...mistaken])],
      };
    }
  }
}

function drawPlan(deps: ClassDeps, name: string): ClassPlan {
  const { random } = deps;
  return {
    name,
    priority: pick(random, [0, 0, 10]),
    ...(chance(random, 0.3) ? { zone: pick(random, ZONES) } : {}),
    ...(chance(random, 0.3) ? { pool: pick(random, POOLS) } : {}),
    ...drawChange(deps, name),
  };
}

/** What a change of a class may touch: all but whom it matches. */
function drawChange(
  deps: ClassDeps,
  name: string,
): Pick<
  ClassPlan,
  'strategy' | 'fallback' | 'candidates' | 'warmIp' | 'mode' | 'families' | 'onEniConfigChange'
> {
  const { random } = deps;
  const candidates = chance(random, 0.9) ? drawCandidates(deps) : undefined;
  if (candidates?.kind === 'Tagged') tag(deps, name);
  return {
    strategy: pick(random, STRATEGIES),
    fallback: chance(random, 0.3) ? 'NodeSubnet' : 'None',
    ...(candidates === undefined ? {} : { candidates }),
    ...(chance(random, 0.3) ? { warmIp: pick(random, WARM_IPS) } : {}),
    ...drawClassMode(deps.mode),
    ...deps.families.drawClass(),
    ...(chance(random, 0.4) ? { onEniConfigChange: pick(random, ['Cordon', 'Keep'] as const) } : {}),
  };
}

/** A subnet gets the tag of a class, of another, or loses it. */
function tag({ random, vpc, ec2, choices, tell }: ClassDeps, className?: string): void {
  const subnetId: SubnetId = pick(random, vpc.podSubnets).subnetId;
  const owner = className ?? pick(random, [...CLASS_NAMES, undefined]);
  ec2.admin.setSubnetTags(subnetId, owner === undefined ? {} : { [SUBNET_TAG]: owner });
  choices.tagSubnet(subnetId, owner);
  tell(`subnet ${subnetId} has the tag of ${owner ?? 'no class'}`);
}

function relabel({ random, cluster, choices, tell }: ClassDeps): void {
  const nodes = cluster.admin.list('Node').map(({ name }) => name);
  if (chance(random, 0.5) && nodes.length > 0) {
    const [node, pool] = [pick(random, nodes), pick(random, [...POOLS, undefined])];
    cluster.admin.setLabel({ kind: 'Node', name: node }, POOL_LABEL, pool);
    choices.pool(node, pool);
    tell(`node ${node} belongs to pool ${pool ?? '(none)'}`);
    return;
  }
  const configs = cluster.admin.list('EniConfig').map(({ name }) => name);
  if (configs.length === 0) return;
  const [name, tier] = [pick(random, configs), pick(random, [...TIERS, undefined])];
  cluster.admin.setLabel({ kind: 'EniConfig', name }, TIER_LABEL, tier);
  tell(`ENIConfig ${name} is of tier ${tier ?? '(none)'}`);
}
