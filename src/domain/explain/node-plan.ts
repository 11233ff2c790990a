// What the controller would do next for a node, by its own planner over what is published.

import type { Selection } from '../eniconfig/selection.ts';
import { type AttachmentId, intentId } from '../ids.ts';
import { maxPods } from '../instance/max-pods.ts';
import type { EniView, NodeView } from '../ipam/node-view.ts';
import { slotContentOf } from '../ipam/pod-addresses.ts';
import { type Plan, plan } from '../ipam/plan.ts';
import { type Pool, poolOf } from '../ipam/pool.ts';
import { poolParts } from '../ipam/pool-parts.ts';
import type { Picture, PictureNetwork } from './picture.ts';
import { podsOfPools } from './pod-pools.ts';
import type { ReplayedSelection } from './replay-selection.ts';

export interface PlannedNode {
  readonly view: NodeView;
  readonly plan: Plan;
  /** The node's own; those of pods that chose another ENIConfig are beside it. */
  readonly pool: Pool;
}

/** As in the controller; a picture is one moment, so the waits hardly matter. */
const INTENT_RETRY_MS = 60_000;
const INTENT_LIFE_MS = 150_000;
const EXCESS_HOLD_MS = 30_000;

/** Undefined when the limits of the instance type or the node's own subnet are not known. */
export function planNode(
  picture: Picture,
  network: PictureNetwork,
  replayed: Pick<ReplayedSelection, 'overrides' | 'families'> & { readonly selection: Selection },
): PlannedNode | undefined {
  const { spec, status } = network;
  const limits = picture.limits.get(spec.instance.instanceType);
  if (limits === undefined) return undefined;
  const { overrides, selection } = replayed;
  const maxEni = overrides.maxEni ?? picture.settings.targets.maxEni;
  const view: NodeView = {
    now: picture.now,
    nodeName: network.name,
    instance: spec.instance,
    limits,
    selection,
    subnets: picture.index.subnets,
    enis: enisOf(network),
    published: { spec, status },
    ...podsOfPools(picture, network, selection),
    maxPods: maxPods({ limits, customNetworking: true, prefix: spec.mode === 'Prefix' }).maxPods,
    settings: {
      datapath: spec.settings,
      cooldownMs: spec.cooldownMs,
      mode: spec.mode,
      addressFamilies: replayed.families,
      targets: {
        ...(overrides.targets ?? picture.settings.targets),
        ...(maxEni === undefined ? {} : { maxEni }),
      },
      onEniConfigChange: overrides.onEniConfigChange ?? 'Cordon',
      excessHoldMs: EXCESS_HOLD_MS,
      intentRetryMs: INTENT_RETRY_MS,
      intentLifeMs: INTENT_LIFE_MS,
    },
    obstacles: [],
    // As if the present excess had begun just now: when it began, only the controller knows.
    excessSince: picture.now,
    failedIntents: new Set(),
    freshIntentId: intentId('next'),
  };
  const planned = plan(view);
  const [own] = poolParts(view);
  return planned === undefined ? undefined : { view, plan: planned, pool: poolOf(own?.view ?? view) };
}

/** ENIs as published: attached, and those of ours protected, since the controller sees to both before it publishes. */
const enisOf = ({ spec }: PictureNetwork): readonly EniView[] =>
  spec.enis.map((eni) => ({
    eniId: eni.eniId,
    mac: eni.mac,
    owned: !eni.primary,
    primary: eni.primary,
    subnetId: eni.subnetId,
    securityGroupIds: eni.securityGroupIds,
    primaryAddress: eni.primaryAddress,
    ...slotContentOf(eni),
    eniConfig: eni.eniConfig,
    attachment: {
      attachmentId: `eni-attach-of-${eni.eniId}` as AttachmentId,
      deviceIndex: eni.deviceIndex,
      networkCardIndex: eni.networkCardIndex,
      deleteOnTermination: true,
      state: 'attached' as const,
    },
  }));

/** The next steps in sentences: what EC2 is asked for, what the agent is asked for. */
export function nextSteps({ view, plan }: PlannedNode): readonly string[] {
  const open = new Set(view.published?.spec.intents.map((intent) => intent.id));
  const created = plan.spec.intents
    .filter((intent) => !open.has(intent.id))
    .map(
      ({ addressCount, prefixCount, subnetId }) =>
        `note, then create an ENI with ${prefixCount > 0 ? `${prefixCount} blocks` : `${addressCount} addresses`} in ${subnetId}`,
    );
  const before = new Map(view.published?.spec.enis.map((eni) => [eni.eniId, eni.withdrawing.length]));
  const asked = plan.spec.enis.flatMap((eni) => {
    const more = eni.withdrawing.length - (before.get(eni.eniId) ?? 0);
    return more > 0 ? [`ask the agent to let go of ${more} addresses of ${eni.eniId}`] : [];
  });
  const actions = plan.actions.map((action) => `${ACTION_WORDS[action.do]}, because ${action.because}`);
  return [...created, ...asked, ...actions];
}

const ACTION_WORDS = {
  CreateEni: 'create an ENI',
  AttachEni: 'attach an ENI',
  SetDeleteOnTermination: 'have an ENI deleted with its instance',
  SetSecurityGroups: 'change the security groups of an ENI',
  AssignAddresses: 'assign addresses',
  AssignPrefixes: 'assign blocks',
  AssignIpv6Prefix: 'assign an IPv6 prefix',
  UnassignAddresses: 'give addresses back to the subnet',
  UnassignPrefixes: 'give blocks back to the subnet',
  DetachEni: 'detach an ENI',
  DeleteEni: 'delete an ENI',
} as const;
