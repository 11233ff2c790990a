// A snapshot to test introspection and metrics on: a node with two ENIs, a pod, and an address that cools.

import { cidr, ip } from '../domain/address/testing.ts';
import { defaultSettings } from '../domain/datapath/testing.ts';
import type { NodeNetworkSpec } from '../domain/ipam/node-network.ts';
import { allocation, nodeNetworkSpec, primaryEni, specEni } from '../domain/ipam/testing-node.ts';
import type { AgentSnapshot } from './agent-snapshot.ts';

export const nodeNetwork: NodeNetworkSpec = nodeNetworkSpec({
  enis: [
    { ...primaryEni, eniConfig: '' },
    specEni({
      deviceIndex: 1,
      addresses: ['10.1.0.4', '10.1.0.5', '10.1.0.6', '10.1.0.7'],
      withdrawing: ['10.1.0.6'],
    }),
  ],
  settings: { ...defaultSettings, directCidrs: [cidr('10.0.0.0/16')] },
});

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
