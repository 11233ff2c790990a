// Port and protocol arithmetic of security groups.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as fc from 'fast-check';
import { cidr } from '../address/testing.ts';
import type { SecurityGroupId } from '../ids.ts';
import { type Flow, type Passage, passageOf, type SecurityGroupRule } from './security-group-rule.ts';

const PODS = 'sg-00000001' as SecurityGroupId;
const DNS = 'sg-00000002' as SecurityGroupId;

const rule = (with_: Partial<SecurityGroupRule>): SecurityGroupRule => ({
  direction: 'Ingress',
  protocol: 'all',
  peer: { kind: 'Cidr', cidr: cidr('0.0.0.0/0') },
  ...with_,
});
const OUT = rule({ direction: 'Egress' });
const block = (text: string): SecurityGroupRule['peer'] => ({ kind: 'Cidr', cidr: cidr(text) });
const group = (securityGroupId: SecurityGroupId): SecurityGroupRule['peer'] => ({
  kind: 'Group',
  securityGroupId,
});

const flow: Flow = {
  from: { securityGroupIds: [PODS], cidr: cidr('100.64.0.0/20') },
  to: { securityGroupIds: [DNS], cidr: cidr('10.0.0.7/32') },
  protocol: 'udp',
  port: 53,
};

const passage = (
  of: Partial<Flow>,
  ingress: readonly SecurityGroupRule[],
  egress: readonly SecurityGroupRule[] = [OUT],
): Passage =>
  passageOf(
    { ...flow, ...of },
    new Map([
      [PODS, egress],
      [DNS, ingress],
    ]),
  );

suite('a connection between security groups', () => {
  const cases: readonly [string, Passage, readonly SecurityGroupRule[]][] = [
    ['no rule at all', 'IngressDenied', []],
    ['the port and the protocol', 'Passes', [rule({ protocol: 'udp', ports: { from: 53, to: 53 } })]],
    ['a range around it', 'Passes', [rule({ protocol: 'udp', ports: { from: 1, to: 53 } })]],
    ['a range that ends before it', 'IngressDenied', [rule({ protocol: 'udp', ports: { from: 1, to: 52 } })]],
    [
      'a range that begins after it',
      'IngressDenied',
      [rule({ protocol: 'udp', ports: { from: 54, to: 99 } })],
    ],
    ['the other protocol', 'IngressDenied', [rule({ protocol: 'tcp', ports: { from: 53, to: 53 } })]],
    ['all ports of the protocol', 'Passes', [rule({ protocol: 'udp' })]],
    ['everything', 'Passes', [rule({})]],
    ['everything, but out', 'IngressDenied', [OUT]],
    ['the group of the pods', 'Passes', [rule({ peer: group(PODS) })]],
    ['its own group', 'IngressDenied', [rule({ peer: group(DNS) })]],
    ['the block of the pods', 'Passes', [rule({ peer: block('100.64.0.0/16') })]],
    ['another block', 'IngressDenied', [rule({ peer: block('10.0.0.0/8') })]],
    ['a part of their block', 'Unknown', [rule({ peer: block('100.64.0.0/24') })]],
    ['a prefix list', 'Unknown', [rule({ peer: { kind: 'PrefixList', prefixListId: 'pl-1' } })]],
    ['a part in one rule, all in another', 'Passes', [rule({ peer: block('100.64.0.0/24') }), rule({})]],
  ];
  for (const [title, expected, ingress] of cases)
    test(`ingress of ${title}: ${expected}`, () => {
      assert.equal(passage({}, ingress), expected);
    });

  test('what may not leave is denied there, whatever may come in', () => {
    assert.equal(passage({}, [rule({})], []), 'EgressDenied');
    assert.equal(
      passage(
        {},
        [rule({})],
        [rule({ direction: 'Egress', protocol: 'tcp', ports: { from: 443, to: 443 } })],
      ),
      'EgressDenied',
    );
  });

  test('one of several groups is enough, and one that could not be read leaves it open', () => {
    const far = { securityGroupIds: ['sg-00000009' as SecurityGroupId, DNS], cidr: flow.to.cidr };
    assert.equal(passage({ to: far }, [rule({})]), 'Passes');
    assert.equal(passage({ to: far }, []), 'Unknown');
  });

  test('any port will do where none is meant', () => {
    const { port: _, ...anyPort } = flow;
    const rules = new Map([
      [PODS, [OUT]],
      [DNS, [rule({ protocol: 'tcp', ports: { from: 8443, to: 8443 } })]],
    ]);
    assert.equal(passageOf({ ...anyPort, protocol: 'tcp' }, rules), 'Passes');
    assert.equal(passageOf({ ...anyPort, protocol: 'udp' }, rules), 'IngressDenied');
  });

  test('a rule more never closes what was open', () => {
    const port = fc.integer({ min: 0, max: 65_535 });
    const anyRule = fc
      .record({
        direction: fc.constantFrom('Ingress' as const, 'Egress' as const),
        protocol: fc.constantFrom('all' as const, 'tcp' as const, 'udp' as const, 'icmp' as const),
        ends: fc.tuple(port, port),
        peer: fc.constantFrom(group(PODS), group(DNS), block('100.64.0.0/16'), block('10.0.0.0/8')),
      })
      .map(({ ends: [a, b], ...rest }) =>
        rule({ ...rest, ports: { from: Math.min(a, b), to: Math.max(a, b) } }),
      );
    fc.assert(
      fc.property(fc.array(anyRule), fc.array(anyRule), anyRule, port, (egress, ingress, more, wanted) => {
        const before = passage({ port: wanted }, ingress, egress);
        const after = passage({ port: wanted }, [...ingress, more], [...egress, more]);
        if (before === 'Passes') assert.equal(after, 'Passes');
      }),
      { seed: 20_264, numRuns: 500 },
    );
  });
});
