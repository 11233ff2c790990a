// A snapshot to test introspection and metrics on: a node with two ENIs, a pod, and an address that cools.

import { cidr, ip } from '../domain/address/testing.ts';
import { defaultSettings } from '../domain/datapath/testing.ts';
import type { EniId, InstanceId, SubnetId, VpcId } from '../domain/ids.ts';
import type { NodeNetworkSpec } from '../domain/ipam/node-network.ts';
import { allocation, specEni } from '../domain/ipam/testing-node.ts';
import type { AgentSnapshot } from './agent-snapshot.ts';

export const nodeNetwork: NodeNetworkSpec = {
  instance: {
    instanceId: 'i-00000001' as InstanceId,
    instanceType: 'm5.large',
    zone: 'us-west-2a',
    vpcId: 'vpc-00000001' as VpcId,
    primaryEniId: 'eni-00000000' as EniId,
    primaryAddress: ip('10.0.0.10'),
    primarySubnetId: 'subnet-0000000a' as SubnetId,
    primarySecurityGroupIds: [],
  },
  selection: {
    kind: 'EniConfig',
    name: 'blue',
    subnetId: 'subnet-0000000b' as SubnetId,
    securityGroupIds: [],
    source: 'Label',
    reason: 'the node has the label',
  },
  mode: 'SecondaryIP',
  addressFamilies: ['IPv4'],
  intents: [],
  enis: [
    { ...specEni({ deviceIndex: 0, primary: true }), eniConfig: '', subnetCidr: cidr('10.0.0.0/24') },
    specEni({
      deviceIndex: 1,
      addresses: ['10.1.0.4', '10.1.0.5', '10.1.0.6', '10.1.0.7'],
      withdrawing: ['10.1.0.6'],
    }),
  ],
  settings: { ...defaultSettings, directCidrs: [cidr('10.0.0.0/16')] },
  cooldownMs: 30_000,
};

export const snapshot = (over: Partial<AgentSnapshot> = {}): AgentSnapshot => ({
  spec: { uid: 'uid-1', generation: 7 },
  nodeNetwork,
  allocations: [allocation('web', '10.1.0.4')],
  cooling: [ip('10.1.0.5')],
  // 2026-11-30T10:00:00Z
  coolingSince: [1_796_032_800_000],
  withdrawn: [],
  routedAddressCount: 4,
  imdsAllowed: [],
  pendingEnis: [],
  waitingAddCount: 2,
  noAddressCount: 3,
  requestCount: 1,
  ...over,
});

/** Before the agent knows anything. */
export const emptySnapshot: AgentSnapshot = {
  notServing: 'the journal is being read',
  spec: undefined,
  allocations: [],
  cooling: [],
  coolingSince: [],
  withdrawn: [],
  routedAddressCount: 0,
  imdsAllowed: [],
  pendingEnis: [],
  waitingAddCount: 0,
  noAddressCount: 0,
  requestCount: 0,
};
