// Builders of pictures: a cluster in order, of which a test sets what matters to it.

import { cidr, ip } from '../address/testing.ts';
import type { EniConfig, SubnetFacts } from '../eniconfig/eni-config.ts';
import { defaultSelectionSettings } from '../eniconfig/selection-input.ts';
import {
  type EniId,
  type InstanceId,
  type NodeName,
  podKey,
  type SecurityGroupId,
  type SubnetId,
  type VpcId,
} from '../ids.ts';
import { knownLimits } from '../instance/instance-types.ts';
import type { InstanceFacts } from '../ipam/node-network.ts';
import { completePicture } from './complete-picture.ts';
import type {
  Picture,
  PictureEniConfig,
  PictureFacts,
  PictureNetwork,
  PictureNode,
  PicturePod,
} from './picture.ts';

export const VPC = 'vpc-00000001' as VpcId;
export const NODE_SUBNET = 'subnet-0000000a' as SubnetId;
export const POD_SUBNET = 'subnet-0000000b' as SubnetId;
export const GROUP = 'sg-00000001' as SecurityGroupId;

export const instance: InstanceFacts = {
  instanceId: 'i-00000001' as InstanceId,
  instanceType: 'm5.large',
  zone: 'eu-west-1a',
  vpcId: VPC,
  primaryEniId: 'eni-00000001' as EniId,
  primaryAddress: ip('10.0.0.10'),
  primarySubnetId: NODE_SUBNET,
  primarySecurityGroupIds: [GROUP],
};

export const node = (with_: Partial<PictureNode> = {}): PictureNode => ({
  name: 'n1' as NodeName,
  labels: {},
  annotations: {},
  deleting: false,
  instanceId: instance.instanceId,
  zone: 'eu-west-1a',
  taints: [],
  ...with_,
});

export const pod = (name: string, with_: Partial<PicturePod> = {}): PicturePod => ({
  name,
  namespace: 'shop',
  key: podKey(with_.namespace ?? 'shop', name),
  labels: {},
  annotations: {},
  deleting: false,
  hostNetwork: false,
  finished: false,
  nodeName: 'n1' as NodeName,
  ...with_,
});

export const subnet = (with_: Partial<SubnetFacts> = {}): SubnetFacts => ({
  subnetId: POD_SUBNET,
  vpcId: VPC,
  zone: 'eu-west-1a',
  cidr: cidr('100.64.0.0/24'),
  freeAddressCount: 200,
  ...with_,
});

/** In zone eu-west-1a, and named like it. */
export const eniConfig = (with_: Partial<EniConfig> = {}): PictureEniConfig => {
  const config: EniConfig = {
    name: 'eu-west-1a',
    labels: {},
    subnetId: POD_SUBNET,
    securityGroupIds: [GROUP],
    ...with_,
  };
  return {
    name: config.name,
    labels: config.labels,
    deleting: false,
    spec: { kind: 'Parsed', eniConfig: config },
  };
};

/** Of node n1, with one ENI of four addresses, the first of them used by pod shop/web; the agent serves. */
export const network = (with_: Partial<PictureNetwork['spec']> = {}): PictureNetwork => ({
  name: 'n1' as NodeName,
  generation: 1,
  spec: {
    instance,
    selection: {
      kind: 'EniConfig',
      name: 'eu-west-1a',
      subnetId: POD_SUBNET,
      securityGroupIds: [GROUP],
      source: 'Zone',
      reason: 'test',
    },
    intents: [],
    enis: [
      eni({
        eniId: instance.primaryEniId,
        primary: true,
        deviceIndex: 0,
        subnetId: NODE_SUBNET,
        subnetCidr: cidr('10.0.0.0/24'),
        addresses: [],
        eniConfig: '',
      }),
      eni({}),
    ],
    mode: 'SecondaryIP',
    addressFamilies: ['IPv4'],
    settings: {
      externalSnat: false,
      directCidrs: [cidr('10.0.0.0/16'), cidr('100.64.0.0/16')],
      mtu: 9001,
      vethPrefix: 'eni',
      randomizeSnat: 'prng',
    },
    cooldownMs: 30_000,
    ...with_,
  },
  status: {
    observedGeneration: 1,
    used: [{ ip: ip('100.64.0.5'), pod: podKey('shop', 'web') }],
    cooling: [],
    withdrawn: [],
    conditions: [
      {
        type: 'AgentReady',
        status: 'True',
        reason: 'Serving',
        message: 'pods get addresses',
        lastTransitionAt: 0,
      },
    ],
  },
});

type SpecEni = PictureNetwork['spec']['enis'][number];

export const eni = (with_: Partial<SpecEni>): SpecEni => ({
  eniId: 'eni-00000002' as EniId,
  mac: '02:00:00:00:00:02',
  primary: false,
  deviceIndex: 1,
  networkCardIndex: 0,
  eniConfig: 'eu-west-1a',
  subnetId: POD_SUBNET,
  subnetCidr: cidr('100.64.0.0/24'),
  securityGroupIds: [GROUP],
  primaryAddress: ip('100.64.0.4'),
  addresses: ['100.64.0.5', '100.64.0.6', '100.64.0.7', '100.64.0.8'].map(ip),
  prefixes: [],
  withdrawing: [],
  cordoned: false,
  ...with_,
});

export interface PictureOptions extends Partial<PictureFacts> {
  readonly subnets?: readonly SubnetFacts[];
}

/** One node of type m5.large in order, with one pod. */
export function picture({ subnets = [subnet()], ...with_ }: PictureOptions = {}): Picture {
  const limits = knownLimits('m5.large');
  const nodes = { subnetId: NODE_SUBNET, cidr: cidr('10.0.0.0/24') };
  return completePicture({
    now: 1_000_000,
    nodes: [node()],
    pods: [pod('web')],
    eniConfigs: [eniConfig()],
    classes: [],
    networks: [network()],
    ec2: {
      region: 'eu-west-1',
      instances: new Map([[instance.instanceId, instance]]),
      subnets: new Map([...subnets, subnet(nodes)].map((one) => [one.subnetId, one])),
      groupVpcs: new Map([[GROUP, VPC]]),
    },
    limits: new Map(limits === undefined ? [] : [['m5.large', limits]]),
    settings: {
      selection: defaultSelectionSettings,
      targets: { warmIp: 3, warmEni: 1 },
      addressFamilies: ['IPv4'],
      startupTaint: 'eniwhere.io/network-not-ready',
    },
    ...with_,
  });
}
