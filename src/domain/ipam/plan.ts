// What to do next for one node: the spec to publish, the EC2 calls to make, and what to say about it.

import { compareCidrs } from '../address/cidr.ts';
import { sortedIps } from '../address/ip-number.ts';
import type { Cidr, Ip } from '../address/ip.ts';
import type { PodDecision } from '../eniconfig/pod-choice.ts';
import { intentId, type PodKey, type SubnetId } from '../ids.ts';
import type { Action } from './action.ts';
import { eniToGiveUp, isRoomComing } from './give-up.ts';
import { hasGroupsOf, isFrozenCordoned } from './eni-role.ts';
import { modeInForce } from './mode.ts';
import type { Intent, NodeNetworkSpec, SpecEni } from './node-network.ts';
import { activeObstacle, type EniView, type NodeView, type OwnCondition } from './node-view.ts';
import type { Blocked } from './blocked.ts';
import { type Growth, planGrowth } from './plan-growth.ts';
import { openIntents } from './plan-intents.ts';
import { type Ipv6Plan, planIpv6 } from './plan-ipv6.ts';
import { planRelease, type Release } from './plan-release.ts';
import { type Pool, poolOf } from './pool.ts';
import { type PoolPart, poolParts } from './pool-parts.ts';
import { prefixesCondition } from './prefixes-condition.ts';
import { isPulledOff } from './pulled-off.ts';
import { demandShortfall } from './warm-targets.ts';

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
  /** The same pool by pool, as far as nothing is under way, and the pods whose own choice is refused. */
  readonly stuck: readonly { readonly pods: readonly PodKey[]; readonly blocked: OwnCondition }[];
  /** Subnets of which a block is about to be asked for. */
  readonly asksForBlocksOf: readonly SubnetId[];
  /** Subnets that are full while somebody waits for an address of theirs. */
  readonly fullSubnets: readonly SubnetId[];
  readonly excessCount: number;
  /** An idle ENI goes so that pods which wait can have one: giving back is then as urgent as they are. */
  readonly isMakingRoom: boolean;
  /** An ENI that somebody has taken off the instance goes back to it, since pods live with its addresses. */
  readonly isRestoring: boolean;
  /** When the plan may change although nothing else does; absent: never. */
  readonly nextCheckAt?: number;
}

/** Plans one node. Pure: the same view gives the same plan. Answers `undefined` while the node's own subnet is not known. */
export function plan(view: NodeView): Plan | undefined {
  const primary = view.enis.find((eni) => eni.primary);
  if (primary === undefined || !view.subnets.has(primary.subnetId)) return undefined;
  const parts = planParts(view);
  const standing = [selectedCondition(view), nodeAddressesCondition(parts)];
  const prefixes = prefixesCondition(parts);
  const excessCount = parts.reduce((sum, { release }) => sum + release.excessCount, 0);
  const nextCheckAt = nextCheck(view, excessCount);
  return {
    actions: [
      ...parts.flatMap(({ ipv6 }) => ipv6.actions),
      ...parts.flatMap(({ growth }) => growth.actions),
      ...parts.flatMap((part) => protect(part.view, part.pool)),
      ...parts.flatMap((part) => regroup(part.view, part.pool)),
      ...(activeObstacle(view, 'Release') === undefined
        ? parts.flatMap(({ release }) => release.actions)
        : []),
    ],
    spec: specOf(view, parts),
    conditions: prefixes === undefined ? standing : [...standing, prefixes],
    ...waitingOf(view, parts, standing),
    asksForBlocksOf: parts.flatMap(({ view: { selection }, growth }) =>
      growth.asksForBlock && selection.kind !== 'None' ? [selection.subnetId] : [],
    ),
    fullSubnets: parts.flatMap(({ view: { selection }, pool, condition }) =>
      condition.reason === 'SubnetFull' && selection.kind !== 'None' && demandShortfall(pool.counts) > 0
        ? [selection.subnetId]
        : [],
    ),
    excessCount,
    isMakingRoom: parts.some((part) => part.view.enis.some((eni) => eni.givenUp === true)),
    isRestoring: isPulledOff(view),
    ...(nextCheckAt === undefined ? {} : { nextCheckAt }),
  };
}

/** One pool of the node, planned. */
interface PlannedPart extends PoolPart {
  readonly pool: Pool;
  readonly growth: Growth;
  readonly ipv6: Ipv6Plan;
  readonly release: Release;
  readonly condition: OwnCondition;
}

/** Each pool by itself, and anew when one has to make room for pods of another. */
function planParts(view: NodeView): readonly PlannedPart[] {
  const parts = planEach(view);
  const leaving = eniToGiveUp(view, parts);
  if (leaving === undefined) return parts;
  const enis = view.enis.map((eni) => (eni.eniId === leaving ? { ...eni, givenUp: true as const } : eni));
  return planEach({ ...view, enis });
}

/** Pools for which pods wait come first: what is left of the instance's ENIs serves warm targets. */
function planEach(view: NodeView): readonly PlannedPart[] {
  const parts = poolParts(view).map((part) => ({ ...part, pool: poolOf(part.view) }));
  const shortOf = ({ pool }: (typeof parts)[number]): boolean => demandShortfall(pool.counts) > 0;
  const ordered = [...parts.filter(shortOf), ...parts.filter((part) => !shortOf(part))];
  // One that is frozen is attached by nobody before the choice is mended, so it takes no other pool's room.
  const unattachedCount = ({ pool }: (typeof parts)[number]): number =>
    pool.unattached.filter(({ role }) => role !== 'frozen').length;
  const coming = new Map(
    ordered.map((part) => [part, unattachedCount(part) + openIntents(part.view).length]),
  );
  return ordered.map((part, n): PlannedPart => {
    let reservedEniCount = 0;
    for (const [other, count] of coming) if (other !== part) reservedEniCount += count;
    // Each pool may note an intent in this very round, and every intent's id is a client token of its own.
    const freshIntentId = n === 0 ? view.freshIntentId : intentId(`${view.freshIntentId}-${n}`);
    const ofPart = { ...part.view, reservedEniCount, freshIntentId };
    const growth = planGrowth(ofPart, part.pool);
    coming.set(part, unattachedCount(part) + growth.intents.length);
    const release = planRelease(ofPart, part.pool, growth);
    const ipv6 = planIpv6(ofPart, part.pool);
    const condition = addressesCondition(part, growth.blocked ?? ipv6.blocked);
    return { ...part, growth, ipv6, release, condition };
  });
}

const nodeAddressesCondition = (parts: readonly PlannedPart[]): OwnCondition => {
  const own = parts.filter(({ chosen }) => !chosen);
  const all = [...own, ...parts.filter(({ chosen }) => chosen)].map(({ condition }) => condition);
  return all.find(({ status }) => status === 'False') ?? AS_PLANNED;
};

/** Who waits, and by what they wait for. */
function waitingOf(
  view: NodeView,
  parts: readonly PlannedPart[],
  conditions: readonly OwnCondition[],
): Pick<Plan, 'waiting' | 'stuck'> {
  const blockedNode = conditions.find((one) => one.status === 'False');
  const selected = conditions.find((one) => one.type === 'EniConfigSelected' && one.status === 'False');
  const ofPools = parts.flatMap(({ pool, chosen, condition }) => {
    // A pod for which there is a free address has only to come for it.
    if (demandShortfall(pool.counts) === 0) return [];
    const ownBlocked = condition.status === 'False' ? condition : undefined;
    const blocked = ownBlocked ?? (chosen ? undefined : selected);
    return blocked === undefined ? [] : [{ pods: pool.waiting, blocked }];
  });
  const refused = (view.choosing?.pods ?? []).flatMap((decision) =>
    decision.kind === 'Refused' ? [{ pods: [decision.pod], blocked: refusal(decision) }] : [],
  );
  return {
    waiting: {
      pods: parts.flatMap(({ pool }) => pool.waiting),
      ...(blockedNode === undefined ? {} : { blocked: blockedNode }),
    },
    stuck: [...ofPools, ...refused],
  };
}

const refusal = ({ reason, message }: Extract<PodDecision, { kind: 'Refused' }>): OwnCondition => ({
  type: 'AddressesAvailable',
  status: 'False',
  reason,
  message,
});

/** ENIs attached after launch outlive their instance unless told otherwise: every terminated node would leak them. */
function protect(view: NodeView, pool: Pool): readonly Action[] {
  if (activeObstacle(view, 'Attribute') !== undefined) return [];
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
  if (selection.kind === 'None' || activeObstacle(view, 'Attribute') !== undefined) return [];
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

function specOf(view: NodeView, parts: readonly PlannedPart[]): NodeNetworkSpec {
  const primary = view.enis.filter((eni) => eni.primary).flatMap((eni) => specEni(view, eni, emptyGrant));
  const secondary = parts
    .flatMap((part) => specEnisOf(view, part))
    .sort((a, b) => a.networkCardIndex - b.networkCardIndex || a.deviceIndex - b.deviceIndex);
  return {
    instance: view.instance,
    selection: view.selection,
    mode: modeInForce(view.settings.mode, view.limits),
    addressFamilies: view.settings.addressFamilies,
    intents: parts.flatMap(({ growth }) => growth.intents),
    enis: [...primary, ...secondary],
    settings: view.settings.datapath,
    cooldownMs: view.settings.cooldownMs,
    ...(view.choosing === undefined ? {} : { choosing: view.choosing }),
  };
}

function specEnisOf(view: NodeView, { pool, growth, release, chosen }: PlannedPart): readonly SpecEni[] {
  return pool.enis.flatMap((one) => {
    const takenBack = new Set<Ip>(growth.takenBack.get(one.eni.eniId) ?? []);
    const isStillAsked = (ip: Ip): boolean => !takenBack.has(ip);
    const withdrawn = new Set<Ip>(one.withdrawn);
    const withdrawing = new Set<Ip>([
      ...[...one.withdrawing, ...one.withdrawn].filter(isStillAsked),
      ...(release.withdraw.get(one.eni.eniId) ?? []),
    ]);
    const granted = specEni(view, one.eni, {
      addresses: sortedIps(one.published.filter((ip) => isStillAsked(ip) || !withdrawn.has(ip))),
      prefixes: [...one.prefixes.map(({ prefix }) => prefix), ...one.eni.ipv6Prefixes].sort(compareCidrs),
      withdrawing: sortedIps(withdrawing),
      cordoned: one.role === 'frozen' ? isFrozenCordoned(view, one.eni) : one.role === 'cordoned',
    });
    return chosen ? granted.map((eni) => ({ ...eni, chosenOnly: true as const })) : granted;
  });
}

/** Whether pods of the node may have IPv6, be it of an earlier choice. */
const hasIpv6 = ({ settings, enis }: NodeView): boolean =>
  settings.addressFamilies.includes('IPv6') ||
  enis.some((eni) => (eni.owned || eni.otherPool === true) && eni.ipv6Prefixes.length > 0);

interface Grant {
  readonly addresses: readonly Ip[];
  readonly prefixes: readonly Cidr[];
  readonly withdrawing: readonly Ip[];
  readonly cordoned: boolean;
}
const emptyGrant: Grant = { addresses: [], prefixes: [], withdrawing: [], cordoned: false };

function specEni(view: NodeView, eni: EniView, grant: Grant): readonly SpecEni[] {
  const known = view.published?.spec.enis.find((one) => one.eniId === eni.eniId);
  const subnet = view.subnets.get(eni.subnetId);
  const subnetCidr = subnet?.cidr ?? known?.subnetCidr;
  const subnetIpv6Cidr = hasIpv6(view) ? (subnet?.ipv6Cidr ?? known?.subnetIpv6Cidr) : undefined;
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
      ...(subnetIpv6Cidr === undefined ? {} : { subnetIpv6Cidr }),
      securityGroupIds: eni.securityGroupIds,
      primaryAddress: eni.primaryAddress,
      addresses: grant.addresses,
      prefixes: grant.prefixes,
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

const AS_PLANNED: OwnCondition = {
  type: 'AddressesAvailable',
  status: 'True',
  reason: 'AsPlanned',
  message: 'every pod has an address, or one is on its way',
};

function addressesCondition(
  { view, pool, chosen }: PoolPart & { readonly pool: Pool },
  blockedBy: Blocked | undefined,
): OwnCondition {
  const type = 'AddressesAvailable' as const;
  const { selection } = view;
  if (selection.kind === 'None' && demandShortfall(pool.counts) > 0) {
    const message = `no ENIConfig applies to the node: ${selection.message}; ${selection.fix}`;
    return { type, status: 'False', reason: selection.problem, message };
  }
  if (blockedBy !== undefined && isTold(blockedBy, pool)) {
    const { reason, message, fix } = blockedBy;
    if (reason === 'InstanceFull' && isRoomComing(view)) return AS_PLANNED;
    const forWhom =
      chosen && selection.kind === 'EniConfig' ? `pods that chose ENIConfig "${selection.name}" wait: ` : '';
    return { type, status: 'False', reason, message: `${forWhom}${message}; ${fix}` };
  }
  return AS_PLANNED;
}

/**
 * What only a person can mend is told at once, before any pod has to wait for it; and so is a full subnet that has left the
 * node without any address. A warm pool that cannot be had beside others is no trouble.
 */
function isTold({ reason }: Blocked, { counts }: Pool): boolean {
  if (demandShortfall(counts) > 0) return true;
  switch (reason) {
    case 'Unauthorized':
    case 'Ec2Refused':
      return true;
    case 'SubnetFull':
      return counts.total === 0;
    case 'InstanceFull':
      return false;
  }
}

function nextCheck(view: NodeView, excessCount: number): number | undefined {
  const { settings } = view;
  const intentTimes = (view.published?.spec.intents ?? []).map(
    (intent: Intent) => intent.notedAt + settings.intentLifeMs,
  );
  const times = [
    ...intentTimes,
    ...view.obstacles.map((one) => one.until),
    ...[...(view.blockRefusals?.values() ?? [])].map((one) => one.until),
    ...view.enis.flatMap((eni) => (eni.heldUntil === undefined ? [] : [eni.heldUntil])),
    ...(excessCount > 0 ? [(view.excessSince ?? view.now) + settings.excessHoldMs] : []),
  ].filter((time) => time > view.now);
  return times.length === 0 ? undefined : Math.min(...times);
}
