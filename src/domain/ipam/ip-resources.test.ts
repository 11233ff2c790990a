// The extended resource per ENIConfig: what the scheduler may count on.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ipResources } from './ip-resources.ts';
import { addresses, nodeView, OTHER_SUBNET, podEni, pods, published } from './testing.ts';

const usable = [
  { name: 'pods-a', freeAddressCount: 1000 },
  { name: 'pods-b', freeAddressCount: 1000 },
];

describe('[POD-6] addresses per ENIConfig as a resource of the node', () => {
  it('are those of the ENIs that are there and could be there: an m5.large has two of nine', () => {
    assert.deepEqual(ipResources(nodeView(), usable), {
      'eniwhere.io/ip.pods-a': 18,
      'eniwhere.io/ip.pods-b': 18,
    });
  });

  it('an ENI in whose addresses one has pods is taken from the others, and an idle one is not', () => {
    const idle = nodeView({ podEnis: [podEni(1, { addresses: addresses(1, 3) })], pods: pods(2) });
    const inUse = published(idle, { used: pods(2).map((pod, n) => ({ pod, ip: addresses(1 + n, 1)[0]! })) });
    assert.deepEqual(ipResources(idle, usable), { 'eniwhere.io/ip.pods-a': 16, 'eniwhere.io/ip.pods-b': 18 });
    assert.deepEqual(ipResources(inUse, usable), { 'eniwhere.io/ip.pods-a': 16, 'eniwhere.io/ip.pods-b': 9 });
  });

  it('a full subnet gives no more than what is held', () => {
    const held = podEni(1, { eniConfig: 'pods-b', subnetId: OTHER_SUBNET, addresses: addresses(300, 4) });
    const scarce = [{ name: 'pods-b', freeAddressCount: 1 }];
    assert.deepEqual(ipResources(nodeView({ podEnis: [held] }), scarce), { 'eniwhere.io/ip.pods-b': 5 });
  });

  it('a name too long for a resource has none', () => {
    assert.deepEqual(ipResources(nodeView(), [{ name: 'x'.repeat(61), freeAddressCount: 9 }]), {});
  });
});
