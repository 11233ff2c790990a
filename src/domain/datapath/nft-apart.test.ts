// Pods of one node under different security groups: what the host gets for it, and that nothing changes without it.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SecurityGroupId } from '../ids.ts';
import { specEni } from '../ipam/testing-node.ts';
import { desiredHost } from './desired-host.ts';
import type { HostDatapath } from './host-datapath.ts';
import { defaultSettings } from './testing.ts';

const RED = 'sg-0000000a' as SecurityGroupId;
const BLUE = 'sg-0000000b' as SecurityGroupId;

function hostOf(
  groups: readonly (readonly SecurityGroupId[])[],
  prefixesOf: (n: number) => readonly string[] = () => [],
): HostDatapath {
  const primary = specEni({ deviceIndex: 0, primary: true });
  const enis = groups.map((securityGroupIds, n) => ({
    ...specEni({
      deviceIndex: n + 1,
      addresses: [`10.1.0.${10 * (n + 1)}`],
      prefixes: prefixesOf(n + 1),
      ...(prefixesOf(n + 1).length === 0 ? {} : { subnetIpv6: '2001:db8:0:1::/64' }),
    }),
    securityGroupIds,
  }));
  const { host } = desiredHost({
    spec: {
      instance: { primaryAddress: primary.primaryAddress } as never,
      enis: [primary, ...enis],
      settings: defaultSettings,
    },
    links: [primary, ...enis].map(({ mac }, n) => ({ name: `eth${n}`, mac })),
  });
  return host;
}

const apartRules = ({ rules }: HostDatapath): readonly string[] =>
  rules.flatMap(({ priority, table, fwmark }) =>
    priority === 511 ? [`0x${fwmark?.mark.toString(16)} ${table}`] : [],
  );

describe('[POD-5] ENIs of pods under different security groups', () => {
  it('have a rule each, before the pods’ table, by which a packet leaves the node for a pod on it', () => {
    assert.deepEqual(apartRules(hostOf([[RED], [BLUE]])), ['0x42 1002', '0x43 1003']);
  });

  it('are told apart by all their groups, in whatever order', () => {
    assert.deepEqual(
      apartRules(
        hostOf([
          [RED, BLUE],
          [BLUE, RED],
        ]),
      ),
      [],
    );
    assert.deepEqual(apartRules(hostOf([[RED, BLUE], [RED]])).length, 2);
  });

  it('put each address into the set of its groups, and only packets between sets go by the VPC', () => {
    const { nftTable } = hostOf([[RED], [BLUE], [RED]]);
    assert.match(
      nftTable,
      /set groups_0 \{\n {4}type ipv4_addr\n {4}flags interval\n {4}elements = \{\n {6}10\.1\.0\.10,\n {6}10\.1\.0\.30\n/,
    );
    assert.match(nftTable, /ip saddr @groups_0 ip daddr @groups_0 return/);
    assert.match(nftTable, /10\.1\.0\.20 : goto apart_by_eni_3/);
    assert.match(nftTable, /jump apart/);
  });

  it('under the same groups nothing is added', () => {
    const { nftTable } = hostOf([[RED], [RED]]);
    assert.doesNotMatch(nftTable, /apart|untracked|groups_/);
  });

  it('are kept apart under IPv6 by the same rules, with sets of their own', () => {
    const { nftTable, rules } = hostOf([[RED], [BLUE]], (n) => [`2001:db8:0:1:${n}::/80`]);
    assert.deepEqual(
      rules
        .filter(({ priority }) => priority === 511)
        .map(({ family, fwmark }) => `${family} 0x${fwmark?.mark.toString(16)}`),
      ['4 0x42', '4 0x43', '6 0x42', '6 0x43'],
    );
    assert.match(nftTable, /set groups6_1 \{\n {4}type ipv6_addr\n[^}]*\{\n {6}2001:db8:0:1:2::\/80\n/);
    assert.match(nftTable, /map apart_of_address6 \{[^}]*2001:db8:0:1:1::\/80 : goto apart_by_eni_2/);
    assert.match(nftTable, /ip6 saddr @groups6_0 ip6 daddr @groups6_0 return/);
    assert.match(nftTable, /jump apart\n {4}jump apart6\n/);
    assert.match(nftTable, /meta nfproto vmap \{ ipv4 : goto untracked, ipv6 : goto untracked6 \}/);
  });

  it('leave the node’s own IPv6 tracked where pods have none', () => {
    const { nftTable } = hostOf([[RED], [BLUE]]);
    assert.match(nftTable, /meta nfproto vmap \{ ipv4 : goto untracked \}/);
    assert.doesNotMatch(nftTable, /ipv6_addr|untracked6|apart6/);
  });
});
