// The address families of a node: which, who says so, and what is not published yet.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { AddressFamily } from '../address/families.ts';
import { cidr } from '../address/testing.ts';
import type { ClassSpec } from '../eniconfig/node-network-class.ts';
import { type NodeExplanation, explainNode } from './explain-node.ts';
import { network, type PictureOptions, picture, subnet } from './testing.ts';

const classOf = (addressFamilies: readonly AddressFamily[]): { name: string; spec: ClassSpec } => ({
  name: 'dual',
  spec: {
    kind: 'Parsed',
    nodeNetworkClass: {
      name: 'dual',
      priority: 0,
      match: { nodeSelector: { matchLabels: {}, matchExpressions: [] } },
      strategy: 'MostFree',
      fallback: 'None',
      overrides: { addressFamilies },
    },
  },
});

const IN_IPV6 = { ipv6Cidr: cidr('2001:db8:0:1::/64') };
const explain = (options: PictureOptions): NodeExplanation =>
  explainNode(picture({ subnets: [subnet(IN_IPV6)], ...options }), 'n1');

suite('address families of a node', () => {
  test("are those of the controller's settings where no class sets them", () => {
    const { addressFamilies, addressFamiliesBy, missing } = explain({});
    assert.deepEqual(addressFamilies, ['IPv4']);
    assert.match(addressFamiliesBy ?? '', /ENABLE_IPv4 and ENABLE_IPv6/);
    assert.deepEqual(missing, []);
  });

  test('are those of its class', () => {
    const published = network({ addressFamilies: ['IPv4', 'IPv6'] });
    const { addressFamilies, addressFamiliesBy, missing } = explain({
      classes: [classOf(['IPv4', 'IPv6'])],
      networks: [published],
    });
    assert.deepEqual(addressFamilies, ['IPv4', 'IPv6']);
    assert.equal(addressFamiliesBy, 'spec.addressFamilies of class dual');
    assert.ok(!missing.some((one) => one.startsWith('published')), missing.join('\n'));
  });

  test('that the controller has not published yet are told as missing', () => {
    const { missing } = explain({ classes: [classOf(['IPv6'])] });
    assert.ok(
      missing.some((one) => one.startsWith('published is IPv4, and pods are to get IPv6:')),
      missing.join('\n'),
    );
  });

  test('are not known of a node whose instance nobody knows', () => {
    const { addressFamilies } = explain({ networks: [], ec2: 'not asked' });
    assert.equal(addressFamilies, undefined);
  });
});
