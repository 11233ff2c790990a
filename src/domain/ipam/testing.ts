// Builders for the planner's tests: every option that is set matters to the test.

import type { Ip } from '../address/ip.ts';
import { cidr, ip } from '../address/testing.ts';
import type { Selection } from '../eniconfig/selection.ts';
import {
  type AttachmentId,
  type EniId,
  type InstanceId,
  intentId,
  type PodKey,
  podKey,
  type SecurityGroupId,
  type SubnetId,
  type VpcId,
} from '../ids.ts';
import { M5_LARGE } from '../instance/testing.ts';
import { emptyStatus, type NodeNetworkSpec, type NodeNetworkStatus } from './node-network.ts';
import type { EniView, NodeView, PlanSettings } from './node-view.ts';
import { plan } from './plan.ts';

export { cidr, ip };

export const NODE_SUBNET = 'subnet-0000000000000000a' as SubnetId;
export const POD_SUBNET = 'subnet-0000000000000000b' as SubnetId;
export const OTHER_SUBNET = 'subnet-0000000000000000c' as SubnetId;
export const PODS_GROUP = 'sg-0000000000000000b' as SecurityGroupId;
export const NODES_GROUP = 'sg-0000000000000000a' as SecurityGroupId;
const INSTANCE = 'i-0000000000000000a' as InstanceId;

export const eniId = (n: number): EniId => `eni-${n.toString(16).padStart(17, '0')}` as EniId;
export const pod = (n: number): PodKey => podKey('default', `p${n}`);
export const pods = (count: number): readonly PodKey[] => Array.from({ length: count }, (_, n) => pod(n + 1));
/** `count` addresses of the pod subnet, from host number `from` on. */
export const addresses = (from: number, count: number): readonly Ip[] =>
  Array.from({ length: count }, (_, n) => ip(`10.1.${Math.floor((from + n) / 256)}.${(from + n) % 256}`));

export const inPodSubnet: Selection = {
  kind: 'EniConfig',
  name: 'pods-a',
  subnetId: POD_SUBNET,
  securityGroupIds: [PODS_GROUP],
  source: 'Zone',
  reason: 'test',
};
export const inOtherSubnet: Selection = { ...inPodSubnet, name: 'pods-b', subnetId: OTHER_SUBNET };
export const noSelection: Selection = {
  kind: 'None',
  source: 'Annotation',
  problem: 'EniConfigNotFound',
  reason: 'test',
  message: 'ENIConfig "x" does not exist',
  fix: 'create it',
};

const primary: EniView = {
  eniId: eniId(0xa),
  mac: '02:00:00:00:00:0a',
  owned: false,
  primary: true,
  subnetId: NODE_SUBNET,
  securityGroupIds: [NODES_GROUP],
  primaryAddress: ip('10.0.0.10'),
  addresses: [],
  prefixes: [],
  ipv6Prefixes: [],
  eniConfig: '',
  attachment: {
    attachmentId: 'eni-attach-0000000000000000a' as AttachmentId,
    deviceIndex: 0,
    networkCardIndex: 0,
    deleteOnTermination: true,
    state: 'attached',
  },
};

/** An ENI of ours in the pod subnet, attached at device index `n`. */
export function podEni(n: number, with_: Partial<EniView> = {}): EniView {
  return {
    ...primary,
    eniId: eniId(n),
    mac: `02:00:00:00:00:${n.toString(16).padStart(2, '0')}`,
    owned: true,
    primary: false,
    subnetId: POD_SUBNET,
    securityGroupIds: [PODS_GROUP],
    primaryAddress: ip(`10.1.200.${n}`),
    eniConfig: 'pods-a',
    attachment: {
      attachmentId: `eni-attach-${n.toString(16).padStart(17, '0')}` as AttachmentId,
      deviceIndex: n,
      networkCardIndex: 0,
      deleteOnTermination: true,
      state: 'attached',
    },
    ...with_,
  };
}

export function unattached(eni: EniView): EniView {
  const { attachment: _, ...rest } = eni;
  return rest;
}

export const settings: PlanSettings = {
  datapath: { externalSnat: false, directCidrs: [], mtu: 9001, vethPrefix: 'eni', randomizeSnat: 'prng' },
  cooldownMs: 30_000,
  mode: 'SecondaryIP',
  addressFamilies: ['IPv4'],
  targets: { warmIp: 2, warmEni: 1 },
  onEniConfigChange: 'Cordon',
  excessHoldMs: 30_000,
  intentRetryMs: 60_000,
  intentLifeMs: 150_000,
};

export const NOW = 1_000_000;

/** A node of type m5.large (3 ENIs of 10 addresses) with its primary ENI and no NodeNetwork yet. */
export function nodeView(
  with_: Partial<NodeView> & { podEnis?: readonly EniView[]; freeInPodSubnet?: number } = {},
): NodeView {
  const { podEnis = [], freeInPodSubnet = 1000, ...rest } = with_;
  const subnet = (subnetId: SubnetId, block: string, freeAddressCount: number) => ({
    subnetId,
    vpcId: 'vpc-0000000000000000a' as VpcId,
    zone: 'a',
    cidr: cidr(block),
    freeAddressCount,
  });
  return {
    now: NOW,
    nodeName: 'n1',
    instance: {
      instanceId: INSTANCE,
      instanceType: 'm5.large',
      zone: 'a',
      vpcId: 'vpc-0000000000000000a' as VpcId,
      primaryEniId: primary.eniId,
      primaryAddress: primary.primaryAddress,
      primarySubnetId: NODE_SUBNET,
      primarySecurityGroupIds: [NODES_GROUP],
    },
    limits: M5_LARGE,
    selection: inPodSubnet,
    subnets: new Map([
      [NODE_SUBNET, subnet(NODE_SUBNET, '10.0.0.0/24', 200)],
      [POD_SUBNET, subnet(POD_SUBNET, '10.1.0.0/16', freeInPodSubnet)],
      [OTHER_SUBNET, subnet(OTHER_SUBNET, '10.2.0.0/16', 1000)],
    ]),
    enis: [primary, ...podEnis],
    pods: [],
    maxPods: 20,
    settings,
    obstacles: [],
    failedIntents: new Set(),
    freshIntentId: intentId('fresh'),
    ...rest,
  };
}

/** The view after the controller has published what it wants to, with the agent's answer as given. */
export function published(
  view: NodeView,
  status: Partial<NodeNetworkStatus> = {},
  spec?: NodeNetworkSpec,
): NodeView {
  const whole = { ...emptyStatus, ...status };
  const wanted = spec ?? plan(view)?.spec;
  if (wanted === undefined) throw new Error('the view cannot be planned');
  return { ...view, published: { spec: wanted, status: whole } };
}

/** Publishes until the spec does not change any more, as the controller does before it acts. */
export function settled(view: NodeView): NodeView {
  let now = view;
  for (let round = 0; round < 5; round += 1) {
    now = published(now, now.published?.status ?? {});
  }
  return now;
}
