// A NodeNetwork on the wire: what is written is read back, and what cannot be read is named.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { z } from 'zod';
import type { NodeNetworkSpec, NodeNetworkStatus } from '../../domain/ipam/node-network.ts';
import {
  type nodeNetworkSpec,
  type nodeNetworkStatus,
  readNodeNetwork,
  writeNodeNetworkSpec,
  writeNodeNetworkStatus,
} from './node-network.ts';

/** Every field of the type, the optional ones made required: what the schema forgets is an error of the compiler here. */
type Deep<T> = T extends string | number | boolean
  ? T
  : T extends readonly (infer E)[]
    ? readonly Deep<E>[]
    : { readonly [K in keyof T]-?: Deep<T[K]> };
type Same<A, B> = [A, B] extends [B, A] ? true : false;
const isSpecWhole: Same<Deep<z.output<typeof nodeNetworkSpec>>, Deep<NodeNetworkSpec>> = true;
type WireStatus = Omit<z.output<typeof nodeNetworkStatus>, 'conditions' | 'usedCount' | 'totalCount'>;
const isStatusWhole: Same<Deep<WireStatus>, Deep<Omit<NodeNetworkStatus, 'conditions'>>> = true;

const GROUP = 'sg-0123456789abcdef0';
const SUBNET = 'subnet-0123456789abcdef0';
const eni = {
  eniId: 'eni-0123456789abcdef0',
  mac: '02:00:00:00:00:01',
  primary: false,
  deviceIndex: 1,
  networkCardIndex: 0,
  eniConfig: 'a',
  subnetId: SUBNET,
  subnetCidr: '10.0.0.0/24',
  subnetIpv6Cidr: 'fd00::/64',
  securityGroupIds: [GROUP],
  primaryAddress: '10.0.0.5',
  addresses: ['10.0.0.6', ...Array.from({ length: 16 }, (_, n) => `10.0.0.${16 + n}`), 'fd00::6'],
  prefixes: ['10.0.0.16/28'],
  withdrawing: ['10.0.0.6'],
  cordoned: false,
};
const wireSpec = {
  instance: {
    instanceId: 'i-0123456789abcdef0',
    instanceType: 'm5.large',
    zone: 'eu-west-1a',
    vpcId: 'vpc-0123456789abcdef0',
    primaryEniId: 'eni-0123456789abcdef1',
    primaryAddress: '10.0.0.4',
    primarySubnetId: SUBNET,
    primarySecurityGroupIds: [GROUP],
  },
  selection: {
    kind: 'None',
    source: 'Nothing',
    problem: 'NoEniConfig',
    reason: 'nothing names one',
    message: 'no ENIConfig',
    fix: 'make one',
  },
  mode: 'Prefix',
  addressFamilies: ['IPv4', 'IPv6'],
  intents: [
    {
      id: 'intent-1',
      kind: 'CreateEni',
      subnetId: SUBNET,
      securityGroupIds: [GROUP],
      addressCount: 3,
      prefixCount: 0,
      ipv6PrefixCount: 1,
      eniConfig: '',
      notedAt: '2026-11-30T10:00:00.001Z',
    },
  ],
  enis: [eni],
  settings: {
    externalSnat: false,
    directCidrs: ['10.0.0.0/16'],
    mtu: 9001,
    vethPrefix: 'eni',
    randomizeSnat: 'prng',
  },
  cooldownMs: 30_000,
};
const wireStatus = {
  observedGeneration: 7,
  used: [{ ip: '10.0.0.6', pod: 'default/web-1' }],
  cooling: ['10.0.0.17'],
  withdrawn: ['10.0.0.8'],
  conditions: [
    {
      type: 'AgentReady',
      status: 'True',
      reason: 'Serving',
      message: 'pods get addresses and are wired',
      lastTransitionTime: '2026-11-30T10:00:00.000Z',
    },
  ],
};

const object = (spec: unknown, status?: unknown): unknown => ({
  apiVersion: 'eniwhere.io/v1alpha1',
  kind: 'NodeNetwork',
  metadata: { name: 'n1', uid: 'u1', resourceVersion: '9', generation: 7 },
  spec,
  ...(status === undefined ? {} : { status }),
});

suite('a NodeNetwork', () => {
  test('is read and written back as it was, its status with the counts that people see', () => {
    assert.ok(isSpecWhole && isStatusWhole);
    const read = readNodeNetwork(object(wireSpec, wireStatus));
    assert.ok(read.ok, JSON.stringify(read));
    assert.equal(read.value.spec.intents[0]?.notedAt, Date.UTC(2026, 10, 30, 10, 0, 0, 1));
    assert.deepEqual(writeNodeNetworkSpec(read.value.spec), { ok: true, value: wireSpec });
    const written = writeNodeNetworkStatus(read.value, 'agent');
    assert.deepEqual(written, { ok: true, value: { ...wireStatus, usedCount: 1, totalCount: 18 } });
    assert.ok(written.ok);
    assert.deepEqual(readNodeNetwork(object(wireSpec, written.value)), read);
  });

  test('without a status has the empty one', () => {
    const read = readNodeNetwork(object(wireSpec));
    assert.ok(read.ok);
    assert.equal(read.value.status.observedGeneration, 0);
  });

  test('of a release before there were modes has single addresses', () => {
    const { mode: _, ...before } = wireSpec;
    const read = readNodeNetwork(object(before));
    assert.ok(read.ok);
    assert.equal(read.value.spec.mode, 'SecondaryIP');
  });

  test('of a release before there were address families has IPv4', () => {
    const { addressFamilies: _, ...before } = wireSpec;
    const read = readNodeNetwork(object(before));
    assert.ok(read.ok);
    assert.deepEqual(read.value.spec.addressFamilies, ['IPv4']);
  });

  test('counts a pod once that holds an address of each family', () => {
    const pod = 'default/web-1';
    const used = [
      { ip: '10.0.0.6', pod },
      { ip: 'fd00::a00:6', pod },
      { ip: '10.0.0.16', pod: 'default/web-2' },
    ];
    const read = readNodeNetwork(object(wireSpec, { ...wireStatus, used }));
    assert.ok(read.ok);
    const written = writeNodeNetworkStatus(read.value, 'agent');
    assert.ok(written.ok);
    assert.equal((written.value as { usedCount: number }).usedCount, 2);
  });

  test('that withdraws what it does not grant is refused by the name of the field', () => {
    const read = readNodeNetwork(object({ ...wireSpec, enis: [{ ...eni, withdrawing: ['10.0.0.99'] }] }));
    assert.ok(!read.ok);
    assert.match(JSON.stringify(read.error), /withdrawing.*only addresses that are granted can be withdrawn/);
  });

  test('keeps no field that this release does not know, and is read all the same', () => {
    const read = readNodeNetwork(object({ ...wireSpec, later: 1 }));
    assert.ok(read.ok);
    assert.equal('later' in read.value.spec, false);
  });

  const faults: readonly [string, unknown, string, RegExp][] = [
    ['no spec', undefined, 'spec', /object/],
    [
      'an address that is none',
      { ...wireSpec, enis: [{ ...eni, addresses: ['10.0.0.300'] }] },
      'spec.enis[0].addresses[0]',
      /10\.0\.0\.300/,
    ],
    [
      'an address in another writing',
      { ...wireSpec, enis: [{ ...eni, primaryAddress: 'fd00:0::1' }] },
      'spec.enis[0].primaryAddress',
      /written fd00::1/,
    ],
    [
      'a block with host bits',
      { ...wireSpec, enis: [{ ...eni, prefixes: ['10.0.0.1/28'] }] },
      'spec.enis[0].prefixes[0]',
      /host bits/,
    ],
    [
      'a selection of an unknown kind',
      { ...wireSpec, selection: { kind: 'Magic' } },
      'spec.selection.kind',
      /Invalid/,
    ],
    [
      'a time that is none',
      { ...wireSpec, intents: [{ ...wireSpec.intents[0], notedAt: 'now' }] },
      'spec.intents[0].notedAt',
      /is not a time/,
    ],
    [
      'an id of another kind',
      { ...wireSpec, instance: { ...wireSpec.instance, vpcId: 'eni-12345678' } },
      'spec.instance.vpcId',
      /vpc-/,
    ],
  ];
  for (const [title, spec, field, message] of faults)
    test(`with ${title} cannot be read, and the field is named`, () => {
      const read = readNodeNetwork(object(spec));
      assert.ok(!read.ok);
      assert.equal(read.error.name, 'n1');
      assert.equal(read.error.field, field);
      assert.match(read.error.message, message);
    });

  test('that the schema would refuse is not written', () => {
    const read = readNodeNetwork(object(wireSpec));
    assert.ok(read.ok);
    const written = writeNodeNetworkSpec({ ...read.value.spec, cooldownMs: -1 });
    assert.ok(!written.ok);
    assert.match(written.error, /^spec\.cooldownMs: /);
  });
});
