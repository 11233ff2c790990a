// A node whose EC2 does at once what the controller's planner asks for: the smallest world in which a plan comes to rest.

import { blockOf } from '../address/cidr.ts';
import { ipv4FromNumber } from '../address/ip-number.ts';
import type { Cidr, Ip } from '../address/ip.ts';
import { type Action } from '../ipam/action.ts';
import { ADDRESSES_PER_PREFIX } from '../instance/slots.ts';
import {
  emptyStatus,
  type Intent,
  type NodeNetworkSpec,
  type NodeNetworkStatus,
} from '../ipam/node-network.ts';
import type { BlockRefusal, EniView, NodeView, PlanSettings } from '../ipam/node-view.ts';
import {
  type AttachmentId,
  type EniId,
  type InstanceId,
  type IntentId,
  intentId,
  type PodKey,
  podKey,
  type SubnetId,
  type VpcId,
} from '../ids.ts';
import type { PlannedGroup } from './model.ts';
import { type SubnetRoom, takeAddresses, takeBlocks } from './subnet-room.ts';

const POD_SUBNET = 'subnet-00000001' as SubnetId;
const NODE_SUBNET = 'subnet-00000002' as SubnetId;
const VPC = 'vpc-00000001' as VpcId;
/** Shorter than the life of an intent. */
const ROUND_MS = 1_000;
/** Any excess has lasted so long that it is given back. */
const EXCESS_MS = 600_000;
const FIRST_ADDRESS = 0x0a_00_00_00;
/** Apart from single addresses: how EC2 places them is counted, not played. */
const FIRST_BLOCK_ADDRESS = 0x0a_80_00_00;
const BLOCK_LENGTH = 28;

export interface SimulatedNode {
  readonly enis: readonly EniView[];
  readonly published: { readonly spec: NodeNetworkSpec; readonly status: NodeNetworkStatus } | undefined;
  /** Of the pods' subnet, for this node alone. */
  readonly room: SubnetRoom;
  readonly nextNumber: number;
  readonly nextBlock: number;
  /** EC2 had not as many blocks as were asked for. */
  readonly refusal?: BlockRefusal;
  readonly failedIntents: ReadonlySet<IntentId>;
}

const attachment = (deviceIndex: number): EniView['attachment'] => ({
  attachmentId: `eni-attach-${deviceIndex}` as AttachmentId,
  deviceIndex,
  networkCardIndex: 0,
  deleteOnTermination: true,
  state: 'attached',
});

function eni(number: number, with_: Partial<EniView>): EniView {
  return {
    eniId: `eni-${number.toString(16).padStart(8, '0')}` as EniId,
    mac: '02:00:00:00:00:00',
    owned: true,
    primary: false,
    subnetId: POD_SUBNET,
    securityGroupIds: [],
    primaryAddress: ipv4FromNumber(FIRST_ADDRESS + number),
    addresses: [],
    prefixes: [],
    ipv6Prefixes: [],
    eniConfig: 'pods',
    ...with_,
  };
}

export function newNode(room: SubnetRoom): SimulatedNode {
  const primary = eni(0, { owned: false, primary: true, subnetId: NODE_SUBNET, eniConfig: '' });
  const attached = attachment(0);
  return {
    enis: [attached === undefined ? primary : { ...primary, attachment: attached }],
    published: undefined,
    room,
    nextNumber: 1,
    nextBlock: 0,
    failedIntents: new Set(),
  };
}

export const podsOf = (count: number): readonly PodKey[] =>
  Array.from({ length: count }, (_, n) => podKey('planned', `pod-${n}`));

const settingsOf = (group: PlannedGroup): PlanSettings => ({
  datapath: { externalSnat: false, directCidrs: [], mtu: 9001, vethPrefix: 'eni', randomizeSnat: 'prng' },
  cooldownMs: 30_000,
  mode: group.mode,
  addressFamilies: ['IPv4'],
  targets: group.targets,
  onEniConfigChange: 'Cordon',
  excessHoldMs: 30_000,
  intentRetryMs: 60_000,
  intentLifeMs: 150_000,
});

interface Moment {
  readonly round: number;
  readonly maxPods: number;
  readonly pods: readonly PodKey[];
}

export function viewOf(node: SimulatedNode, group: PlannedGroup, { round, maxPods, pods }: Moment): NodeView {
  const subnet = (subnetId: SubnetId, freeAddressCount: number) => ({
    subnetId,
    vpcId: VPC,
    zone: 'planned',
    cidr: '10.0.0.0/8' as Cidr,
    freeAddressCount,
  });
  const primaryAddress = ipv4FromNumber(FIRST_ADDRESS);
  return {
    now: round * ROUND_MS,
    nodeName: 'planned',
    instance: {
      instanceId: 'i-00000001' as InstanceId,
      instanceType: group.limits.instanceType,
      zone: 'planned',
      vpcId: VPC,
      primaryEniId: 'eni-00000000' as EniId,
      primaryAddress,
      primarySubnetId: NODE_SUBNET,
      primarySecurityGroupIds: [],
    },
    limits: group.limits,
    selection: {
      kind: 'EniConfig',
      name: 'pods',
      subnetId: POD_SUBNET,
      securityGroupIds: [],
      source: 'Class',
      reason: 'planned',
    },
    subnets: new Map([
      [POD_SUBNET, subnet(POD_SUBNET, node.room.freeAddressCount)],
      [NODE_SUBNET, subnet(NODE_SUBNET, 1)],
    ]),
    enis: node.enis,
    ...(node.published === undefined ? {} : { published: node.published }),
    pods,
    maxPods,
    settings: settingsOf(group),
    obstacles: [],
    excessSince: round * ROUND_MS - EXCESS_MS,
    ...(node.refusal === undefined ? {} : { blockRefusals: new Map([[POD_SUBNET, node.refusal]]) }),
    failedIntents: node.failedIntents,
    freshIntentId: intentId(`intent-${round}`),
  };
}

/** What EC2 makes of one action. */
export function perform(node: SimulatedNode, action: Action): SimulatedNode {
  const change = (eniId: EniId, with_: (one: EniView) => EniView): readonly EniView[] =>
    node.enis.map((one) => (one.eniId === eniId ? with_(one) : one));
  switch (action.do) {
    case 'CreateEni':
      return create(node, action.intent);
    case 'AttachEni': {
      const attached = attachment(action.deviceIndex);
      return {
        ...node,
        enis: change(action.eniId, (one) =>
          attached === undefined ? one : { ...one, attachment: attached },
        ),
      };
    }
    case 'AssignAddresses':
      return {
        ...node,
        enis: change(action.eniId, (one) => ({
          ...one,
          addresses: [...one.addresses, ...addressesFrom(node.nextNumber, action.count)],
        })),
        room: takeAddresses(node.room, action.count),
        nextNumber: node.nextNumber + action.count,
      };
    case 'AssignPrefixes':
      return assignPrefixes(node, action);
    case 'SetSecurityGroups':
      return {
        ...node,
        enis: change(action.eniId, (one) => ({ ...one, securityGroupIds: action.securityGroupIds })),
      };
    case 'UnassignAddresses': {
      const gone = new Set<Ip>(action.addresses);
      return {
        ...node,
        enis: change(action.eniId, (one) => ({
          ...one,
          addresses: one.addresses.filter((ip) => !gone.has(ip)),
        })),
        room: takeAddresses(node.room, -gone.size),
      };
    }
    case 'UnassignPrefixes': {
      const gone = new Set<Cidr>(action.prefixes);
      return {
        ...node,
        enis: change(action.eniId, (one) => ({
          ...one,
          prefixes: one.prefixes.filter((prefix) => !gone.has(prefix)),
        })),
        room: takeBlocks(node.room, -gone.size),
      };
    }
    case 'AssignIpv6Prefix':
      // The model's pods have IPv4 alone.
      return node;
    case 'DetachEni':
      return { ...node, enis: change(action.eniId, detached) };
    case 'DeleteEni':
      return deleted(node, action.eniId);
    case 'SetDeleteOnTermination':
      return node;
  }
}

function create(node: SimulatedNode, { id, addressCount, prefixCount }: Intent): SimulatedNode {
  const room = takeAddresses(node.room, 1 + addressCount);
  if (prefixCount > room.freeBlockCount)
    return { ...refused(node, prefixCount), failedIntents: new Set([...node.failedIntents, id]) };
  const made = eni(node.nextNumber, {
    intentId: id,
    addresses: addressesFrom(node.nextNumber + 1, addressCount),
    prefixes: blocksFrom(node.nextBlock, prefixCount),
  });
  return {
    ...node,
    enis: [...node.enis, made],
    room: takeBlocks(room, prefixCount),
    nextNumber: node.nextNumber + addressCount + 1,
    nextBlock: node.nextBlock + prefixCount,
  };
}

function assignPrefixes(
  node: SimulatedNode,
  { eniId, count }: { readonly eniId: EniId; readonly count: number },
): SimulatedNode {
  if (count > node.room.freeBlockCount) return refused(node, count);
  const added = blocksFrom(node.nextBlock, count);
  return {
    ...node,
    enis: node.enis.map((one) =>
      one.eniId === eniId ? { ...one, prefixes: [...one.prefixes, ...added] } : one,
    ),
    room: takeBlocks(node.room, count),
    nextBlock: node.nextBlock + count,
  };
}

function deleted(node: SimulatedNode, eniId: EniId): SimulatedNode {
  const gone = node.enis.find((one) => one.eniId === eniId);
  const room = takeBlocks(node.room, -(gone?.prefixes.length ?? 0));
  return {
    ...node,
    enis: node.enis.filter((one) => one.eniId !== eniId),
    room: takeAddresses(room, -(gone?.addresses.length ?? 0) - 1),
  };
}

/** Where several were refused one may still be had; where one was, none is asked for again. */
const refused = (node: SimulatedNode, count: number): SimulatedNode => ({
  ...node,
  refusal: {
    message: 'planned',
    freeAddressCount: node.room.freeAddressCount,
    until: count > 1 ? 0 : Number.MAX_SAFE_INTEGER,
  },
});

function detached(one: EniView): EniView {
  const { attachment: _, ...rest } = one;
  return rest;
}

const addressesFrom = (first: number, count: number): readonly Ip[] =>
  Array.from({ length: count }, (_, n) => ipv4FromNumber(FIRST_ADDRESS + first + n));

const blocksFrom = (first: number, count: number): readonly Cidr[] =>
  Array.from({ length: count }, (_, n) =>
    blockOf(ipv4FromNumber(FIRST_BLOCK_ADDRESS + (first + n) * ADDRESSES_PER_PREFIX), BLOCK_LENGTH),
  );

/** The agent's answer to a spec: pods take the first free addresses, and what is asked back is let go of. */
export function answerOf(
  spec: NodeNetworkSpec,
  pods: readonly PodKey[],
  generation: number,
): NodeNetworkStatus {
  const withdrawing = new Set(spec.enis.flatMap((one) => one.withdrawing));
  const offered = spec.enis
    .filter((one) => !one.cordoned)
    .flatMap((one) => one.addresses.filter((ip) => !withdrawing.has(ip)));
  return {
    ...emptyStatus,
    observedGeneration: generation,
    used: offered.slice(0, pods.length).map((ip, n) => ({ ip, pod: pods[n] ?? podKey('planned', 'none') })),
    withdrawn: [...withdrawing],
  };
}
