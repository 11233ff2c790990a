// Everything that the planner knows about one node, frozen at one moment.

import type { AddressFamily } from '../address/families.ts';
import type { Cidr, Ip } from '../address/ip.ts';
import type { DatapathSettings } from '../datapath/datapath-settings.ts';
import type { SubnetFacts } from '../eniconfig/eni-config.ts';
import type { Selection } from '../eniconfig/selection.ts';
import type { AttachmentId, EniId, IntentId, PodKey, SecurityGroupId, SubnetId } from '../ids.ts';
import type { InstanceLimits } from '../instance/instance-limits.ts';
import { sameData } from '../same-data.ts';
import type { Mode } from './mode.ts';
import type {
  Choosing,
  Condition,
  InstanceFacts,
  NodeNetworkSpec,
  NodeNetworkStatus,
} from './node-network.ts';
import type { WarmTargets } from './warm-targets.ts';

export interface EniAttachmentView {
  readonly attachmentId: AttachmentId;
  readonly deviceIndex: number;
  readonly networkCardIndex: number;
  readonly deleteOnTermination: boolean;
  readonly state: 'attaching' | 'attached' | 'detaching';
}

/** An ENI as believed: EC2's answer overlaid with our own recent writes and sightings. */
export interface EniView {
  readonly eniId: EniId;
  readonly mac: string;
  /** Carries this cluster's Eniwhere tag. Everything else is foreign: it counts against limits and is never touched (ENI-2). */
  readonly owned: boolean;
  /** Ours, but of another pool than the one that is being planned; `owned` is false then. */
  readonly otherPool?: true;
  /** It makes room on the instance for pods of another pool, which wait. */
  readonly givenUp?: true;
  readonly primary: boolean;
  readonly subnetId: SubnetId;
  readonly securityGroupIds: readonly SecurityGroupId[];
  readonly primaryAddress: Ip;
  /** Single secondary addresses; each takes a slot. */
  readonly addresses: readonly Ip[];
  /** Blocks of IPv4; each takes a slot. */
  /** Of IPv4. */
  readonly prefixes: readonly Cidr[];
  /** /80 blocks; one is all that an ENI ever needs. They go with the ENI alone. */
  readonly ipv6Prefixes: readonly Cidr[];
  /** Of these, the ones that may be gone since: they take their slot, but are not published. */
  readonly doubtful?: ReadonlySet<Ip | Cidr>;
  /** ENIConfig for which it was made, `''` for the node's own subnet. */
  readonly eniConfig: string;
  readonly intentId?: IntentId;
  /** Absent: not attached. Attached elsewhere never gets into a node's view. */
  readonly attachment?: EniAttachmentView;
  /** No address is assigned before this time: an assign call has an unknown outcome that only later sightings can close. */
  readonly heldUntil?: number;
  /** An earlier process may have asked for its detach: nothing new is put on it until EC2's answers can tell. */
  readonly maybeLeaving?: boolean;
}

export interface PlanSettings {
  readonly datapath: DatapathSettings;
  readonly cooldownMs: number;
  readonly mode: Mode;
  /** What new pods get. */
  readonly addressFamilies: readonly AddressFamily[];
  readonly targets: WarmTargets;
  /** What happens to ENIs of the old choice when the choice changes. */
  readonly onEniConfigChange: 'Cordon' | 'Keep';
  /** An excess must last this long before addresses are withdrawn, so that a rollout does not make the pool swing. */
  readonly excessHoldMs: number;
  /** A create is repeated (same token) for this long after its intent was noted ... */
  readonly intentRetryMs: number;
  /** ... and the intent is dropped after this long: longer than the retries, one call's time-out and EC2's staleness together. */
  readonly intentLifeMs: number;
}

/** Why EC2 last refused something for this node. It stands until something of the kind has been done. */
export interface Obstacle {
  readonly code: 'Unauthorized' | 'Ec2Refused';
  /** What it stands in the way of: more addresses, another attribute of an ENI, or giving back. */
  readonly of: 'Growth' | 'Attribute' | 'Release';
  readonly message: string;
  readonly fix: string;
  /** Nothing of the kind is tried before. */
  readonly until: number;
  /** What EC2 refused was meant for this choice: another pool's is not held up by it. Absent: everything of the kind is. */
  readonly choice?: ObstacleChoice;
}

export interface ObstacleChoice {
  /** Absent: of any subnet. */
  readonly subnetId?: SubnetId;
  readonly securityGroupIds: readonly SecurityGroupId[];
}

/** EC2 said that no block of a subnet is free, and has given none there since. */
export interface BlockRefusal {
  /** EC2's words. */
  readonly message: string;
  /** The fewest addresses of the subnet that were free since. */
  readonly freeAddressCount: number;
  /** No block of the subnet is asked for before; from then on, one at a time. */
  readonly until: number;
}

/** The pods of a node that get addresses of an ENIConfig which they chose. */
export interface PodPool {
  readonly selection: Extract<Selection, { kind: 'EniConfig' }>;
  /** Also those that have their address. */
  readonly pods: readonly PodKey[];
}

export interface NodeView {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly nodeName: string;
  readonly instance: InstanceFacts;
  readonly limits: InstanceLimits;
  readonly selection: Selection;
  readonly subnets: ReadonlyMap<SubnetId, SubnetFacts>;
  /** Primary, foreign and owned ENIs attached to the instance, and owned ones made for it that are not attached. */
  readonly enis: readonly EniView[];
  /** The newest NodeNetwork that was read; absent when there is none yet. */
  readonly published?: { readonly spec: NodeNetworkSpec; readonly status: NodeNetworkStatus };
  /** Pods bound to the node that need an address: not host-network, not finished. */
  readonly pods: readonly PodKey[];
  /** Pods that chose an ENIConfig other than the node's own, by ENIConfig; their addresses are theirs alone. */
  readonly podPools?: readonly PodPool[];
  /** What is decided for every pod of the node that chooses; absent: pods may not choose. */
  readonly choosing?: Choosing;
  /** ENIs that other pools of the node are about to have: they take room on the instance. */
  readonly reservedEniCount?: number;
  readonly maxPods: number;
  readonly settings: PlanSettings;
  readonly obstacles: readonly Obstacle[];
  /** Subnets without a free block; absent: none. */
  readonly blockRefusals?: ReadonlyMap<SubnetId, BlockRefusal>;
  /** When the present excess began; absent while there is none. */
  readonly excessSince?: number;
  /** Intents whose first try failed definitely: nothing was made, and nothing will be. */
  readonly failedIntents: ReadonlySet<IntentId>;
  /**
   * Published intents that surely nobody has sent to EC2: they may be dropped, and do not age. Absent: it is not known of any,
   * and ENIs are planned one at a time.
   */
  readonly unsentIntents?: ReadonlySet<IntentId>;
  /** A fresh id for an intent, should the plan need one; further ones are made of it. */
  readonly freshIntentId: IntentId;
}

export type OwnCondition = Omit<Condition, 'lastTransitionAt'>;

/** What EC2 has refused of the kind, for what the view selects. */
export const obstacleFor = (
  { obstacles, selection }: Pick<NodeView, 'obstacles' | 'selection'>,
  of: Obstacle['of'],
): Obstacle | undefined =>
  obstacles.find((one) => one.of === of && (one.choice === undefined || isChoiceOf(one.choice, selection)));

/** The same while it stands in the way; once its time is over it is tried again. */
export function activeObstacle(view: NodeView, of: Obstacle['of']): Obstacle | undefined {
  const obstacles = view.obstacles.filter((one) => one.until > view.now);
  return obstacleFor({ obstacles, selection: view.selection }, of);
}

const isChoiceOf = ({ subnetId, securityGroupIds }: ObstacleChoice, selection: Selection): boolean =>
  selection.kind !== 'None' &&
  (subnetId === undefined || subnetId === selection.subnetId) &&
  sameData([...securityGroupIds].sort(), [...selection.securityGroupIds].sort());
