// What pods with IPv6 need of ENIConfigs, instance types and the node's own subnet.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AddressFamily } from '../address/families.ts';
import { cidr } from '../address/testing.ts';
import type { SubnetId, VpcId } from '../ids.ts';
import { INSTANCE_TYPES } from '../instance/instance-types.ts';
import type { EniConfigView, SubnetFacts } from './eni-config.ts';
import { checkedForFamilies, viewsForFamilies } from './family-needs.ts';
import type { Selection } from './selection.ts';

const subnet = (ipv6: string | undefined): SubnetFacts => ({
  subnetId: 'subnet-0000000b' as SubnetId,
  vpcId: 'vpc-00000001' as VpcId,
  zone: 'a',
  cidr: cidr('10.1.0.0/24'),
  ...(ipv6 === undefined ? {} : { ipv6Cidr: cidr(ipv6) }),
  freeAddressCount: 9,
});
const view = (name: string, ipv6: string | undefined): EniConfigView => ({
  kind: 'Valid',
  eniConfig: { name, labels: { tier: 'x' }, subnetId: subnet(ipv6).subnetId, securityGroupIds: [] },
  subnet: subnet(ipv6),
});
const views = new Map([
  ['with', view('with', '2001:db8::/64')],
  ['without', view('without', undefined)],
]);
const limitsOf = (type: string) => {
  const found = INSTANCE_TYPES.find(({ instanceType }) => instanceType === type);
  assert.ok(found !== undefined);
  return found;
};
const nodeSubnet: Selection = {
  kind: 'NodeSubnet',
  subnetId: subnet(undefined).subnetId,
  securityGroupIds: [],
  source: 'ClassFallback',
  reason: 'nothing else is there',
};
const both: readonly AddressFamily[] = ['IPv4', 'IPv6'];

describe('[SEL-16] where pods are to have IPv6', () => {
  test('an ENIConfig without an IPv6 block is broken, and its labels stay', () => {
    const found = viewsForFamilies(views, both);
    assert.equal(found.get('with'), views.get('with'));
    const broken = found.get('without');
    assert.ok(broken?.kind === 'Invalid');
    assert.deepEqual(broken.labels, { tier: 'x' });
    assert.match(broken.message, /ENIConfig "without".*subnet-0000000b has no IPv6 block/);
    assert.match(broken.fix, /a \/64 of the IPv6 block of vpc-00000001/);
    assert.equal(viewsForFamilies(views, ['IPv4']), views);
  });

  const rows: readonly [string, string, string | undefined, readonly AddressFamily[], string][] = [
    ['a Nitro type and a subnet with IPv6', 'm5.large', '2001:db8::/64', both, 'NodeSubnet'],
    ['a subnet without IPv6', 'm5.large', undefined, ['IPv6'], 'SubnetWithoutIpv6'],
    ['a type without prefixes', 'm4.large', '2001:db8::/64', both, 'InstanceWithoutIpv6'],
    ['neither, where pods have IPv4 only', 'm4.large', undefined, ['IPv4'], 'NodeSubnet'],
  ];
  for (const [title, type, ipv6, families, expected] of rows)
    test(`a node with ${title}: ${expected}`, () => {
      const needs = { families, limits: limitsOf(type), nodeSubnet: subnet(ipv6) };
      const found = checkedForFamilies(nodeSubnet, needs);
      assert.equal(found.kind === 'None' ? found.problem : found.kind, expected);
    });
});
