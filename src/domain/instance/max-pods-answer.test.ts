// Max pods as the command answers it: the users' cases, the shares of several ENIConfigs, the refusals.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { knownLimits } from './instance-types.ts';
import {
  answerMaxPods,
  type MaxPodsAnswer,
  type MaxPodsFigures,
  type MaxPodsQuestion,
} from './max-pods-answer.ts';

const ask = (instanceType: string, with_: Partial<MaxPodsQuestion> = {}): MaxPodsAnswer =>
  answerMaxPods(
    {
      instanceType,
      customNetworking: true,
      prefix: false,
      furtherReservedEniCount: 0,
      eniConfigs: [],
      ...with_,
    },
    knownLimits(instanceType),
  );

function figures(answer: MaxPodsAnswer): MaxPodsFigures {
  assert.ok(answer.kind === 'MaxPods', JSON.stringify(answer));
  return answer;
}

suite('max pods for people', () => {
  const u01: readonly [string, number][] = [
    ['a1.medium', 5],
    ['t2.medium', 12],
    ['t3.small', 8],
    ['c5.large', 20],
    ['c5.xlarge', 44],
    ['c5.4xlarge', 205],
    ['c5.18xlarge', 688],
  ];
  test('S01 with custom networking and without it, each type has the figure that operators worked out', () => {
    const rows: readonly [string, number, number][] = [
      ['t2.medium', 12, 17],
      ['t3.small', 8, 11],
      ['c5.large', 20, 29],
      ['t3.2xlarge', 44, 58],
      ['c5.4xlarge', 205, 234],
      ['c5.18xlarge', 688, 737],
    ];
    for (const [type, custom, plain] of rows)
      assert.deepEqual(
        [figures(ask(type)).addressSum, figures(ask(type, { customNetworking: false })).addressSum],
        [custom, plain],
        type,
      );
  });

  test('S02 prefixes end at the ceiling of the type, and memory is reserved for what can run', () => {
    const prefix = { prefix: true };
    assert.equal(figures(ask('r8gd.medium', { ...prefix, customNetworking: false })).maxPods, 98);
    assert.equal(figures(ask('c5.18xlarge', prefix)).maxPods, 250);
    const { addressSum, maxPods, reservedMemoryMib } = figures(ask('c5.xlarge', prefix));
    assert.deepEqual([addressSum, maxPods, reservedMemoryMib], [674, 110, 1465]);
    const plain = figures(ask('m5a.4xlarge', { customNetworking: false }));
    assert.deepEqual([plain.addressSum, plain.maxPods], [234, 110]);
    assert.match(plain.explanation, /the ceiling for 16 vCPUs is 110/);
  });

  test('[K8S-1] U01 the primary ENI does not count under custom networking', () => {
    for (const [type, sum] of u01) assert.equal(figures(ask(type)).addressSum, sum, type);
  });

  test('U03 each type of a pool has its own density', () => {
    assert.deepEqual(
      ['c5.large', 'c5.xlarge'].map((type) => figures(ask(type)).maxPods),
      [20, 44],
    );
  });

  test('U23 memory is reserved for the pods that can run, not for the raw sum', () => {
    const found = figures(ask('c5.xlarge', { prefix: true }));
    assert.deepEqual([found.addressSum, found.maxPods, found.reservedMemoryMib], [674, 110, 1465]);
  });

  test('U34 a trunk takes one ENI of those for pods', () => {
    assert.equal(
      figures(ask('m6i.large', { customNetworking: false, furtherReservedEniCount: 1 })).maxPods,
      20,
    );
    assert.equal(figures(ask('m5.large', { furtherReservedEniCount: 1 })).maxPods, 11);
  });

  test('U83 one ceiling for every way to start a node, and it is printed', () => {
    const small = figures(ask('m5a.4xlarge', { customNetworking: false }));
    assert.deepEqual([small.addressSum, small.maxPods], [234, 110]);
    const large = figures(ask('c5.18xlarge', { customNetworking: false }));
    assert.deepEqual([large.addressSum, large.maxPods], [737, 250]);
    assert.match(large.explanation, /the ceiling for 72 vCPUs is 250/);
  });

  test('[TOOL-3] U85 an unknown type is refused by name, never guessed', () => {
    const answer = ask('m99.mega');
    assert.ok(answer.kind === 'Refused');
    assert.equal(answer.code, 'UnknownInstanceType');
  });

  test('U86 prefixes on a type that is not Nitro: single addresses, and a note says so', () => {
    const found = figures(ask('t2.medium', { prefix: true }));
    assert.equal(found.maxPods, 12);
    assert.match(found.notes.join(), /t2\.medium is not built on Nitro/);
    assert.equal(figures(ask('c7i-flex.xlarge')).maxPods, 44);
    assert.equal(figures(ask('c7i-flex.xlarge', { prefix: true })).maxPods, 110);
  });

  test('U102 pods of two ENIConfigs share the ENIs of a node, one at least for each', () => {
    const found = figures(ask('m5.xlarge', { eniConfigs: ['x', 'y'] }));
    assert.deepEqual(found.shares, [
      { eniConfig: 'x', eniMax: 2, addressMax: 28 },
      { eniConfig: 'y', eniMax: 2, addressMax: 28 },
    ]);
    const many = ask('m5.large', { eniConfigs: ['x', 'y', 'z'] });
    assert.ok(many.kind === 'Refused');
    assert.equal(many.code, 'TooManyEniConfigs');
    assert.match(many.message, /m5\.large has 2 ENIs for pods and cannot hold pools of 3 ENIConfigs/);
  });

  test('several network cards: the ENIs of card 0 count', () => {
    const found = figures(ask('p4d.24xlarge'));
    assert.equal(found.addressSum, 14 * 49 + 2);
    assert.match(found.explanation, /15 ENIs of network card 0 - 1 reserved/);
    assert.match(found.notes.join(), /p4d\.24xlarge has 4 network cards/);
    assert.equal(figures(ask('p5.48xlarge', { customNetworking: false })).maxPods, 100);
  });

  test('[TOOL-3] a type whose only ENI is the primary one is refused', () => {
    const answer = ask('hpc6id.32xlarge');
    assert.ok(answer.kind === 'Refused');
    assert.equal(answer.code, 'NoEniForPods');
    assert.match(answer.message, /hpc6id\.32xlarge has 1 ENI, the primary one serves no pods/);
  });

  test('[K8S-1] pods with IPv6 alone: the ceiling, shares by ENI, and a refusal where there are no prefixes', () => {
    const found = figures(ask('m5.xlarge', { ipv6Only: true, eniConfigs: ['a', 'b'] }));
    assert.deepEqual([found.maxPods, found.shares.map(({ addressMax }) => addressMax)], [110, [512, 512]]);
    const refused = ask('m4.large', { ipv6Only: true });
    assert.ok(refused.kind === 'Refused' && refused.code === 'NoIpv6Prefixes');
  });
});
