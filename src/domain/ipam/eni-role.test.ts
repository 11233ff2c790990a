// What an ENI of an earlier choice is to a node whose pods have IPv6.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AddressFamily } from '../address/families.ts';
import type { SubnetFacts } from '../eniconfig/eni-config.ts';
import { eniRole } from './eni-role.ts';
import { plan } from './plan.ts';
import { addresses, cidr, nodeView, OTHER_SUBNET, podEni, published, settings } from './testing.ts';

describe('[LV-1] Keep goes on using an ENI', () => {
  const BOTH: readonly AddressFamily[] = ['IPv4', 'IPv6'];
  const BLOCK = cidr('2600:1f14:0:ab20::/64');
  const PREFIX = cidr('2600:1f14:0:ab20:1::/80');
  const cases = [
    ['of IPv4 alone, for pods of IPv4', ['IPv4'], [], undefined, 'kept'],
    ['with a /80, for pods of both families', BOTH, [PREFIX], BLOCK, 'kept'],
    ['with a /80, though its subnet has lost its block', BOTH, [PREFIX], undefined, 'kept'],
    ['that can still get a /80', BOTH, [], BLOCK, 'kept'],
    ['but not one that can never serve them', BOTH, [], undefined, 'cordoned'],
    ['nor for pods without IPv4', ['IPv6'], [], undefined, 'cordoned'],
  ] as const;
  for (const [title, addressFamilies, ipv6Prefixes, ipv6Cidr, role] of cases)
    test(title, () => {
      const earlier = podEni(1, {
        subnetId: OTHER_SUBNET,
        eniConfig: 'pods-b',
        addresses: addresses(10, 2),
        ipv6Prefixes,
      });
      const view = nodeView({
        podEnis: [earlier],
        settings: { ...settings, onEniConfigChange: 'Keep', addressFamilies },
      });
      const facts = view.subnets.get(OTHER_SUBNET);
      assert.ok(facts !== undefined);
      const subnet: SubnetFacts = ipv6Cidr === undefined ? facts : { ...facts, ipv6Cidr };
      const of = { ...view, subnets: new Map([...view.subnets, [OTHER_SUBNET, subnet]]) };
      const spec = plan(of)?.spec;
      assert.ok(spec !== undefined, 'the view can be planned');
      const inUse = { ...spec, enis: spec.enis.map((eni) => ({ ...eni, cordoned: false })) };
      assert.equal(eniRole(published(of, {}, inUse), earlier), role);
    });
});
