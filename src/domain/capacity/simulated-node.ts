// A node whose EC2 does at once what the controller's planner asks for: the smallest world in which a plan comes to rest.

import { ipv4FromNumber } from '../address/ip-number.ts';
import type { Cidr, Ip } from '../address/ip.ts';
import { type Action } from '../ipam/action.ts';
import { emptyStatus, type NodeNetworkSpec, type NodeNetworkStatus } from '../ipam/node-network.ts';
import type { EniView, NodeView, PlanSettings } from '../ipam/node-view.ts';
import {
  type AttachmentId,
  type EniId,
  type InstanceId,
  intentId,
  type PodKey,
  podKey,
  type SubnetId,
  type VpcId,
} from '../ids.ts';
import type { PlannedGroup } from './model.ts';

const POD_SUBNET = 'subnet-00000001' as SubnetId;
const NODE_SUBNET = 'subnet-00000002' as SubnetId;
const VPC = 'vpc-00000001' as VpcId;
/** Shorter than the life of an intent. */
const ROUND_MS = 1_000;
/** Any excess has lasted so long that it is given back. */
const EXCESS_MS = 600_000;
const FIRST_ADDRESS = 0x0a_00_00_00;

export interface SimulatedNode {
  readonly enis: readonly EniView[];
  readonly published: { readonly spec: NodeNetworkSpec; readonly status: NodeNetworkStatus } | undefined;
  /** Of the pods' subnet, for this node alone. */
  readonly freeAddressCount: number;
  readonly nextNumber: number;
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
    eniConfig: 'pods',
    ...with_,
  };
}

export function newNode(freeAddressCount: number): SimulatedNode {
  const primary = eni(0, { owned: false, primary: true, subnetId: NODE_SUBNET, eniConfig: '' });
  const attached = attachment(0);
  return {
    enis: [attached === undefined ? primary : { ...primary, attachment: attached }],
    published: undefined,
    freeAddressCount,
    nextNumber: 1,
  };
}

export const podsOf = (count: number): readonly PodKey[] =>
  Array.from({ length: count }, (_, n) => podKey('planned', `pod-${n}`));

const settingsOf = (group: PlannedGroup): PlanSettings => ({
  datapath: { externalSnat: false, directCidrs: [], mtu: 9001, vethPrefix: 'eni', randomizeSnat: 'prng' },
  cooldownMs: 30_000,
  mode: 'SecondaryIP',
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
      [POD_SUBNET, subnet(POD_SUBNET, node.freeAddressCount)],
      [NODE_SUBNET, subnet(NODE_SUBNET, 1)],
    ]),
    enis: node.enis,
    ...(node.published === undefined ? {} : { published: node.published }),
    pods,
    maxPods,
    settings: settingsOf(group),
    obstacles: [],
    excessSince: round * ROUND_MS - EXCESS_MS,
    failedIntents: new Set(),
    freshIntentId: intentId(`intent-${round}`),
  };
}

/** What EC2 makes of one action. */
export function perform(node: SimulatedNode, action: Action): SimulatedNode {
  const change = (eniId: EniId, with_: (one: EniView) => EniView): readonly EniView[] =>
    node.enis.map((one) => (one.eniId === eniId ? with_(one) : one));
  switch (action.do) {
    case 'CreateEni': {
      const { addressCount, id } = action.intent;
      const made = eni(node.nextNumber, {
        intentId: id,
        addresses: addressesFrom(node.nextNumber + 1, addressCount),
      });
      return {
        ...node,
        enis: [...node.enis, made],
        freeAddressCount: node.freeAddressCount - addressCount - 1,
        nextNumber: node.nextNumber + addressCount + 1,
      };
    }
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
        freeAddressCount: node.freeAddressCount - action.count,
        nextNumber: node.nextNumber + action.count,
      };
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
        freeAddressCount: node.freeAddressCount + gone.size,
      };
    }
    case 'DetachEni':
      return { ...node, enis: change(action.eniId, detached) };
    case 'DeleteEni': {
      const returned = node.enis.find((one) => one.eniId === action.eniId)?.addresses.length ?? 0;
      return {
        ...node,
        enis: node.enis.filter((one) => one.eniId !== action.eniId),
        freeAddressCount: node.freeAddressCount + returned + 1,
      };
    }
    case 'SetDeleteOnTermination':
      return node;
  }
}

function detached(one: EniView): EniView {
  const { attachment: _, ...rest } = one;
  return rest;
}

const addressesFrom = (first: number, count: number): readonly Ip[] =>
  Array.from({ length: count }, (_, n) => ipv4FromNumber(FIRST_ADDRESS + first + n));

/** The agent's answer to a spec: pods take the first free addresses, and what is asked back is let go of. */
export function answerOf(
  spec: NodeNetworkSpec,
  pods: readonly PodKey[],
  generation: number,
): NodeNetworkStatus {
  const withdrawing = spec.enis.flatMap((one) => one.withdrawing);
  const offered = spec.enis
    .filter((one) => !one.cordoned)
    .flatMap((one) => one.addresses.filter((ip) => !one.withdrawing.includes(ip)));
  return {
    ...emptyStatus,
    observedGeneration: generation,
    used: offered.slice(0, pods.length).map((ip, n) => ({ ip, pod: pods[n] ?? podKey('planned', 'none') })),
    withdrawn: withdrawing,
  };
}
