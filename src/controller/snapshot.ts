// Freezes what is believed of one node for one decision.

import { grantedFamily } from '../domain/address/families.ts';
import { familyOf } from '../domain/address/ip.ts';
import type { SubnetFacts } from '../domain/eniconfig/eni-config.ts';
import type { ClassOverrides } from '../domain/eniconfig/node-network-class.ts';
import type { EniId, IntentId, NodeName, SubnetId } from '../domain/ids.ts';
import { maxPods } from '../domain/instance/max-pods.ts';
import type { InstanceFacts, NodeNetworkSpec, SpecEni } from '../domain/ipam/node-network.ts';
import type { EniView, NodeView, PlanSettings } from '../domain/ipam/node-view.ts';
import { slotContentOf } from '../domain/ipam/pod-addresses.ts';
import { ENI_CONFIG_TAG, intentOf, isOwned } from '../domain/ipam/tags.ts';
import { err, ok, type Result } from '../domain/result.ts';
import type { NodeNetworkRecord } from '../ports/cluster.ts';
import type { Ec2Instance, Ec2Vpc } from '../ports/ec2.ts';
import { type ClusterView, isSynced, podsNeedingAddress } from './cluster-view.ts';
import type { ControllerSettings } from './controller-settings.ts';
import { refusalsFor } from './block-refusals.ts';
import { type Ec2View, enisOf, knownValue } from './ec2-view.ts';
import { podChoicesOf } from './choices-of-pods.ts';
import { type EniBelief, isPrefix, type SlotContent } from './eni-belief.ts';
import type { EniConfigUses } from './eni-config-uses.ts';
import type { NodeMemory } from './node-memory.ts';
import { selectForNode } from './select-for-node.ts';

/** A create is repeated for this long; EC2 keeps client tokens far longer. */
const INTENT_RETRY_MS = 60_000;
/** Retries, one call's time-out and EC2's staleness together. */
const INTENT_LIFE_MS = 150_000;

export interface SnapshotSources {
  readonly cluster: ClusterView;
  readonly ec2: Ec2View;
  readonly settings: ControllerSettings;
  readonly uses: EniConfigUses;
  readonly now: number;
  readonly freshIntentId: IntentId;
}

/** `false` on a node whose network somebody else keeps. */
const MANAGED_LABEL = 'eniwhere.io/managed';

/** The node as believed now, or what has to be known first. */
export function snapshotOf(
  name: NodeName,
  from: SnapshotSources,
  memory: NodeMemory,
): Result<NodeView, string> {
  const { cluster, ec2, settings, now } = from;
  const node = cluster.nodes.get(name);
  if (!isSynced(cluster)) return err('the first lists of the cluster have not all come yet');
  if (node === undefined) return err(`node "${name}" does not exist`);
  if (node.labels[MANAGED_LABEL] === 'false')
    return err(`label ${MANAGED_LABEL} leaves node "${name}" alone`);
  if (node.instanceId === undefined) return err(`node "${name}" has no provider id yet`);
  const instance = knownValue(ec2.instances, node.instanceId);
  if (instance === undefined) return err(`EC2 does not show instance ${node.instanceId} of node "${name}"`);
  if (!ec2.readInstances.has(node.instanceId))
    return err(`the ENIs of ${node.instanceId} have not been read yet`);
  const limits = knownValue(ec2.limits, instance.instanceType);
  if (limits === undefined) return err(`the limits of instance type ${instance.instanceType} are not known`);
  const vpc = knownValue(ec2.vpcs, instance.vpcId);
  if (vpc === undefined) return err(`the CIDRs of ${instance.vpcId} are not known`);
  const published = cluster.nodeNetworks.get(name);
  const beliefs = enisOf(ec2, node.instanceId, settings.clusterName);
  const unseen = unseenEni(beliefs, published, from);
  if (unseen !== undefined)
    return err(`EC2 does not show ${unseen} attached, which was published before this process began`);
  const selected = selectForNode(node, { instance, limits }, from);
  const { selection, overrides } = selected;
  const choices = podChoicesOf({
    cluster,
    settings,
    pods: podsNeedingAddress(cluster, name),
    node: selected.node,
    byName: selected.byName,
    selection,
    published: published?.spec,
  });
  const planned = planSettings(settings, vpc, overrides);
  return ok({
    now,
    nodeName: name,
    instance: factsOf(instance),
    limits,
    selection,
    subnets: subnetsOf(ec2, [
      ...beliefs.map(({ eni }) => eni.subnetId),
      ...(published?.spec.intents ?? []).map((intent) => intent.subnetId),
      ...[selection, ...choices.podPools.map((pool) => pool.selection)].flatMap((one) =>
        one.kind === 'None' ? [] : one.subnetId,
      ),
    ]),
    enis: beliefs.map((belief) => eniView(belief, { instance, published, planned }, from)),
    ...(published === undefined
      ? {}
      : { published: { spec: datedByUs(published.spec, memory), status: published.status } }),
    ...choices,
    // The primary ENI serves no pods, whether or not custom networking is on.
    maxPods: maxPods({
      limits,
      customNetworking: true,
      prefix: planned.mode === 'Prefix',
      ipv6Only: grantedFamily(planned.addressFamilies) === 6,
    }).maxPods,
    settings: planned,
    obstacles: memory.obstacles,
    blockRefusals: refusalsFor(ec2.blockRefusals, name, now),
    ...(memory.excessSince === undefined ? {} : { excessSince: memory.excessSince }),
    ...intentsOf(memory),
    freshIntentId: from.freshIntentId,
  });
}

const intentsOf = ({
  failedIntents,
  unsentIntents,
}: NodeMemory): Pick<NodeView, 'failedIntents' | 'unsentIntents'> => ({ failedIntents, unsentIntents });

/** Only those that the node has to do with: a cluster may have hundreds. */
function subnetsOf({ subnets }: Ec2View, ids: readonly SubnetId[]): ReadonlyMap<SubnetId, SubnetFacts> {
  const known = new Map<SubnetId, SubnetFacts>();
  for (const id of ids) {
    const facts = knownValue(subnets, id);
    if (facts !== undefined) known.set(id, facts);
  }
  return known;
}

function factsOf(instance: Ec2Instance): InstanceFacts {
  const { instanceId, instanceType, zone, vpcId, primaryEniId, primaryAddress, primarySubnetId } = instance;
  const primarySecurityGroupIds = instance.primarySecurityGroupIds;
  return {
    instanceId,
    instanceType,
    zone,
    vpcId,
    primaryEniId,
    primaryAddress,
    primarySubnetId,
    primarySecurityGroupIds,
  };
}

/** What the node's class sets goes before what the cluster sets. */
function planSettings(settings: ControllerSettings, vpc: Ec2Vpc, overrides: ClassOverrides): PlanSettings {
  const maxEni = overrides.maxEni ?? settings.targets.maxEni;
  return {
    datapath: {
      externalSnat: overrides.externalSnat ?? settings.externalSnat,
      directCidrs: [...vpc.cidrs, ...(overrides.excludeSnatCidrs ?? settings.excludeSnatCidrs)],
      mtu: settings.mtu,
      vethPrefix: settings.vethPrefix,
      randomizeSnat: settings.randomizeSnat,
    },
    cooldownMs: settings.cooldownMs,
    mode: overrides.mode ?? settings.mode,
    addressFamilies: overrides.addressFamilies ?? settings.addressFamilies,
    targets: { ...(overrides.targets ?? settings.targets), ...(maxEni === undefined ? {} : { maxEni }) },
    onEniConfigChange: overrides.onEniConfigChange ?? settings.onEniConfigChange,
    excessHoldMs: settings.excessHoldMs,
    intentRetryMs: INTENT_RETRY_MS,
    intentLifeMs: INTENT_LIFE_MS,
  };
}

/** The spec with its intents dated by our own clock, which is what the next one will say of them. */
const datedByUs = (spec: NodeNetworkSpec, { intentSince }: NodeMemory): NodeNetworkSpec => ({
  ...spec,
  intents: spec.intents.map((intent) => ({
    ...intent,
    notedAt: intentSince.get(intent.id) ?? intent.notedAt,
  })),
});

/**
 * An ENI that an earlier process published and that EC2 does not show attached while its answers may be older than that:
 * deciding without it would take it from under its pods.
 */
function unseenEni(
  beliefs: readonly EniBelief[],
  published: NodeNetworkRecord | undefined,
  { ec2, now }: SnapshotSources,
): EniId | undefined {
  if (now >= ec2.trustedFrom) return undefined;
  const seen = new Set(
    beliefs
      .filter(({ eni, detached }) => eni.attachment !== undefined || detached !== undefined)
      .map(({ eni }) => eni.eniId),
  );
  return published?.spec.enis.find(
    (one) => !seen.has(one.eniId) && ec2.enis.get(one.eniId)?.deletedAt === undefined,
  )?.eniId;
}

/**
 * Whether an earlier process may have asked EC2 to detach the ENI: the agent has let go of all that was published of it,
 * and describes may still be from before.
 */
function maybeLeaving(
  { eni }: EniBelief,
  published: NodeNetworkRecord | undefined,
  { ec2, now }: SnapshotSources,
): boolean {
  const spec = published?.spec.enis.find((one) => one.eniId === eni.eniId && !one.primary);
  if (spec === undefined || now >= ec2.trustedFrom) return false;
  const withdrawn = new Set(published?.status.withdrawn);
  return spec.addresses.every((ip) => withdrawn.has(ip));
}

/**
 * What takes the ENI's slots, where an earlier process' published spec outweighs describes that may be older than it: what
 * it lists and they miss is there; what they show and it does not list may have been unassigned since.
 */
function contentViewOf(
  belief: EniBelief,
  published: NodeNetworkRecord | undefined,
  { ec2, now }: SnapshotSources,
): Pick<EniView, 'addresses' | 'prefixes' | 'ipv6Prefixes' | 'doubtful'> {
  const { eni, contentSeenAt, ownContent, removedAt } = belief;
  const listed = new Set(listedOf(published?.spec.enis.find((one) => one.eniId === eni.eniId)));
  const missed =
    now < ec2.trustedFrom ? [...listed].filter((one) => !contentSeenAt.has(one) && !removedAt.has(one)) : [];
  const missedBlocks = missed.filter(isPrefix);
  // An ENI whose intent is still open has never been published, so nobody can have unassigned anything from it.
  const intentId = intentOf(eni.tags);
  const isNew = published?.spec.intents.some((intent) => intent.id === intentId) ?? false;
  const isTrusted = (one: SlotContent): boolean =>
    isNew || listed.has(one) || ownContent.has(one) || (contentSeenAt.get(one) ?? 0) >= ec2.trustedFrom;
  return {
    addresses: [...eni.addresses, ...missed.filter((one) => !isPrefix(one))],
    prefixes: [...eni.prefixes, ...missedBlocks.filter((one) => familyOf(one) === 4)],
    // Nobody ever takes one off an ENI: one that was seen once is there.
    ipv6Prefixes: [...eni.ipv6Prefixes, ...missedBlocks.filter((one) => familyOf(one) === 6)],
    doubtful: new Set<SlotContent>([...eni.addresses, ...eni.prefixes].filter((one) => !isTrusted(one))),
  };
}

/** Single addresses and prefixes of a published ENI, /80s too. */
function listedOf(eni: SpecEni | undefined): readonly SlotContent[] {
  if (eni === undefined) return [];
  const { addresses, prefixes, ipv6Prefixes } = slotContentOf(eni);
  return [...addresses, ...prefixes, ...ipv6Prefixes];
}

/**
 * An ENI may have only one /80, which nobody takes back, and the call for it has no client token: where describes may be older
 * than a call of the process before, an ENI that shows none rests until they cannot be.
 */
function heldUntil(
  { eni, heldUntil: held }: EniBelief,
  planned: PlanSettings,
  ec2: Ec2View,
): number | undefined {
  if (eni.ipv6Prefixes.length > 0 || !planned.addressFamilies.includes('IPv6')) return held;
  return Math.max(held ?? 0, ec2.trustedFrom);
}

interface OfNode {
  readonly instance: Ec2Instance;
  readonly published: NodeNetworkRecord | undefined;
  readonly planned: PlanSettings;
}

function eniView(
  belief: EniBelief,
  { instance, published, planned }: OfNode,
  from: SnapshotSources,
): EniView {
  const { eni } = belief;
  const { settings } = from;
  const intentId = intentOf(eni.tags);
  const held = heldUntil(belief, planned, from.ec2);
  return {
    eniId: eni.eniId,
    mac: eni.mac,
    owned: isOwned(eni.tags, settings.clusterName),
    primary: eni.eniId === instance.primaryEniId,
    subnetId: eni.subnetId,
    securityGroupIds: eni.securityGroupIds,
    primaryAddress: eni.primaryAddress,
    ...contentViewOf(belief, published, from),
    maybeLeaving: maybeLeaving(belief, published, from),
    eniConfig: eni.tags[ENI_CONFIG_TAG] ?? '',
    ...(intentId === undefined ? {} : { intentId }),
    ...(eni.attachment === undefined
      ? {}
      : {
          attachment: {
            attachmentId: eni.attachment.attachmentId,
            deviceIndex: eni.attachment.deviceIndex,
            networkCardIndex: eni.attachment.networkCardIndex,
            deleteOnTermination: eni.attachment.deleteOnTermination,
            state: eni.attachment.status,
          },
        }),
    ...(held === undefined ? {} : { heldUntil: held }),
  };
}
