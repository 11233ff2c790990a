// What to do next for one node: the spec to publish, the EC2 calls to make, and what to say about it.

import { compareIps } from '../address/ip-number.ts';
import type { Ip } from '../address/ip.ts';
import type { PodKey } from '../ids.ts';
import type { Action } from './action.ts';
import { hasGroupsOf, isFrozenCordoned } from './eni-role.ts';
import type { Intent, NodeNetworkSpec, SpecEni } from './node-network.ts';
import { activeObstacle, type EniView, type NodeView, type OwnCondition } from './node-view.ts';
import { type Growth, planGrowth } from './plan-growth.ts';
import { planRelease, type Release } from './plan-release.ts';
import { type Pool, poolOf } from './pool.ts';

export interface Plan {
  /**
   * In order of urgency: attach and create for waiting pods, fill, protect, change groups, give back. They are valid only while
   * `spec` is what is published: whoever executes the plan publishes first and plans anew.
   */
  readonly actions: readonly Action[];
  readonly spec: NodeNetworkSpec;
  readonly conditions: readonly OwnCondition[];
  /** Pods that wait for an address, and why nothing is under way for them (absent: something is). */
  readonly waiting: { readonly pods: readonly PodKey[]; readonly blocked?: OwnCondition };
  readonly excessCount: number;
  /** When the plan may change although nothing else does; absent: never. */
  readonly nextCheckAt?: number;
}

/** Plans one node. Pure: the same view gives the same plan. Answers `undefined` while the node's own subnet is not known. */
export function plan(view: NodeView): Plan | undefined {
  const primary = view.enis.find((eni) => eni.primary);
  if (primary === undefined || !view.subnets.has(primary.subnetId)) return undefined;
  const pool = poolOf(view);
  const growth = planGrowth(view, pool);
  const release = planRelease(view, pool, growth.neededCount);
  const conditions = [selectedCondition(view), addressesCondition(view, pool, growth)];
  const blocked = conditions.find((one) => one.status === 'False');
  const nextCheckAt = nextCheck(view, release);
  return {
    actions: [...growth.actions, ...protect(pool), ...regroup(view, pool), ...release.actions],
    spec: specOf({ view, pool, growth, release }),
    conditions,
    waiting: { pods: pool.waiting, ...(blocked === undefined ? {} : { blocked }) },
    excessCount: release.excessCount,
    ...(nextCheckAt === undefined ? {} : { nextCheckAt }),
  };
}

/** ENIs attached after launch outlive their instance unless told otherwise: every terminated node would leak them. */
function protect(pool: Pool): readonly Action[] {
  return pool.enis.flatMap(({ eni }) =>
    eni.attachment === undefined || eni.attachment.deleteOnTermination
      ? []
      : [
          {
            do: 'SetDeleteOnTermination' as const,
            eniId: eni.eniId,
            attachmentId: eni.attachment.attachmentId,
            because: `${eni.eniId} must go when its instance does`,
          },
        ],
  );
}

/** Groups of an ENIConfig that a person has changed, in place; the subnet cannot be changed so. */
function regroup(view: NodeView, pool: Pool): readonly Action[] {
  const { selection } = view;
  if (selection.kind === 'None' || activeObstacle(view, 'Groups') !== undefined) return [];
  const what = selection.kind === 'EniConfig' ? `ENIConfig "${selection.name}"` : "the node's primary ENI";
  return pool.enis
    .filter(({ eni, role }) => role === 'current' && !hasGroupsOf(eni, selection))
    .map(({ eni }) => ({
      do: 'SetSecurityGroups' as const,
      eniId: eni.eniId,
      securityGroupIds: selection.securityGroupIds,
      because: `${eni.eniId} has ${eni.securityGroupIds.join(', ')}, and ${what} now has ${selection.securityGroupIds.join(', ')}`,
    }));
}

function specOf(from: { view: NodeView; pool: Pool; growth: Growth; release: Release }): NodeNetworkSpec {
  const { view, pool, growth, release } = from;
  const primary = view.enis.filter((eni) => eni.primary).flatMap((eni) => specEni(view, eni, emptyGrant));
  const secondary = pool.enis.flatMap((one) => {
    const cancelled = new Set<Ip>(growth.cancelWithdrawal.get(one.eni.eniId) ?? []);
    const asked = [...one.withdrawing.filter((ip) => !cancelled.has(ip)), ...one.withdrawn];
    const withdrawing = new Set<Ip>([...asked, ...(release.withdraw.get(one.eni.eniId) ?? [])]);
    return specEni(view, one.eni, {
      addresses: [...one.published].sort(compareIps),
      withdrawing: [...withdrawing].sort(compareIps),
      cordoned: one.role === 'frozen' ? isFrozenCordoned(view, one.eni) : one.role === 'cordoned',
    });
  });
  return {
    instance: view.instance,
    selection: view.selection,
    intents: growth.intents,
    enis: [...primary, ...secondary],
    settings: view.settings.datapath,
    cooldownMs: view.settings.cooldownMs,
  };
}

interface Grant {
  readonly addresses: readonly Ip[];
  readonly withdrawing: readonly Ip[];
  readonly cordoned: boolean;
}
const emptyGrant: Grant = { addresses: [], withdrawing: [], cordoned: false };

function specEni(view: NodeView, eni: EniView, grant: Grant): readonly SpecEni[] {
  const known = view.published?.spec.enis.find((one) => one.eniId === eni.eniId)?.subnetCidr;
  const subnetCidr = view.subnets.get(eni.subnetId)?.cidr ?? known;
  // Without its subnet's CIDR the agent could not route: the ENI waits until EC2 has said it.
  if (subnetCidr === undefined || eni.attachment === undefined) return [];
  return [
    {
      eniId: eni.eniId,
      mac: eni.mac,
      primary: eni.primary,
      deviceIndex: eni.attachment.deviceIndex,
      networkCardIndex: eni.attachment.networkCardIndex,
      eniConfig: eni.primary ? '' : eni.eniConfig,
      subnetId: eni.subnetId,
      subnetCidr,
      securityGroupIds: eni.securityGroupIds,
      primaryAddress: eni.primaryAddress,
      addresses: grant.addresses,
      prefixes: [],
      withdrawing: grant.withdrawing,
      cordoned: grant.cordoned,
    },
  ];
}

function selectedCondition(view: NodeView): OwnCondition {
  const { selection } = view;
  const type = 'EniConfigSelected' as const;
  if (selection.kind !== 'None')
    return { type, status: 'True', reason: selection.source, message: selection.reason };
  return {
    type,
    status: 'False',
    reason: selection.problem,
    message: `${selection.message}; ${selection.fix}`,
  };
}

function addressesCondition(view: NodeView, pool: Pool, growth: Growth): OwnCondition {
  const type = 'AddressesAvailable' as const;
  const { selection } = view;
  if (selection.kind === 'None' && pool.waiting.length > pool.counts.available) {
    const message = `no ENIConfig applies to the node: ${selection.message}; ${selection.fix}`;
    return { type, status: 'False', reason: selection.problem, message };
  }
  if (growth.blocked !== undefined && pool.counts.demand > pool.counts.available) {
    const { reason, message, fix } = growth.blocked;
    return { type, status: 'False', reason, message: `${message}; ${fix}` };
  }
  return {
    type,
    status: 'True',
    reason: 'AsPlanned',
    message: 'every pod has an address, or one is on its way',
  };
}

function nextCheck(view: NodeView, release: Release): number | undefined {
  const { settings } = view;
  const intentTimes = (view.published?.spec.intents ?? []).map(
    (intent: Intent) => intent.notedAt + settings.intentLifeMs,
  );
  const times = [
    ...intentTimes,
    ...view.obstacles.map((one) => one.until),
    ...view.enis.flatMap((eni) => (eni.heldUntil === undefined ? [] : [eni.heldUntil])),
    ...(release.excessCount > 0 ? [(view.excessSince ?? view.now) + settings.excessHoldMs] : []),
  ].filter((time) => time > view.now);
  return times.length === 0 ? undefined : Math.min(...times);
}
