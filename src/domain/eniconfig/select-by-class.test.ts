// NodeNetworkClasses in the selection: whom they claim, what they choose, and how they fail.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { cidr, ip } from '../address/testing.ts';
import type { EniConfigView } from './eni-config.ts';
import { anyLabels } from './label-selector.ts';
import type { ClassMatch, ClassStrategy, NamedClass, NodeNetworkClass } from './node-network-class.ts';
import { CLASS_LABEL } from './select-by-class.ts';
import { selectEniConfig, type SelectionDecision } from './select-eni-config.ts';
import { DEFAULT_ENI_CONFIG_KEY } from './selection-input.ts';
import type { SelectionNode } from './selection-node.ts';
import { node, selectionInput, valid } from './testing.ts';

const SEED = 20_261;

type Sketch = Partial<Omit<NodeNetworkClass, 'match'>> & { readonly match?: Partial<ClassMatch> };

const classOf = ({ match, ...given }: Sketch): NamedClass => {
  const name = given.name ?? 'workers';
  return {
    name,
    spec: {
      kind: 'Parsed',
      nodeNetworkClass: {
        name,
        priority: 0,
        match: { nodeSelector: anyLabels, ...match },
        strategy: 'First',
        fallback: 'None',
        overrides: {},
        ...given,
      },
    },
  };
};

const named = (...names: readonly string[]): Sketch => ({ candidates: { kind: 'Names', names } });

const a1 = valid({ name: 'a-1', subnet: 'subnet-0000000a', labels: { tier: 'web' } });
const a2 = valid({ name: 'a-2', subnet: 'subnet-0000000b', labels: { tier: 'web' }, free: 10 });
const b1 = valid({ name: 'b-1', zone: 'us-west-2b', labels: { tier: 'web' } });
const zoneA = valid({ name: 'us-west-2a' });
const fallback = valid({ name: 'default' });
const broken: EniConfigView = {
  kind: 'Invalid',
  name: 'broken',
  labels: { tier: 'web' },
  message: 'ENIConfig "broken": spec.subnet subnet-1 does not exist',
  fix: 'set spec.subnet',
};
const fresh: EniConfigView = {
  kind: 'Unresolved',
  name: 'fresh',
  labels: { tier: 'new' },
  message: 'not yet',
};
const all = [a1, a2, b1, zoneA, fallback, broken, fresh];

const decide = (
  classes: readonly NamedClass[],
  selected: SelectionNode = node(),
  more: { readonly views?: readonly EniConfigView[]; readonly current?: string } = {},
): SelectionDecision =>
  selectEniConfig({
    ...selectionInput(selected, more.views ?? all),
    classes,
    ...(more.current === undefined ? {} : { current: more.current }),
  });

const outcome = ({ selection }: SelectionDecision): string => {
  switch (selection.kind) {
    case 'EniConfig':
      return `${selection.name} by ${selection.source}`;
    case 'NodeSubnet':
      return `NodeSubnet by ${selection.source}`;
    case 'None':
      return `${selection.problem} by ${selection.source}`;
  }
};

describe('[SEL-8] a class decides after the written names and before the zone', () => {
  it('a class that matches decides, although an ENIConfig is named like the zone', () => {
    assert.equal(outcome(decide([classOf(named('a-1'))])), 'a-1 by Class');
  });

  it('a written name goes before it', () => {
    const written = node({ labels: { [DEFAULT_ENI_CONFIG_KEY]: 'a-2' } });
    assert.equal(outcome(decide([classOf(named('a-1'))], written)), 'a-2 by Label');
  });

  it('of several the highest priority wins, among equals the first by name, in whatever order they come', () => {
    const classes = [
      classOf({ name: 'low', priority: -1, ...named('us-west-2a') }),
      classOf({ name: 'zz', priority: 5, ...named('a-2') }),
      classOf({ name: 'aa', priority: 5, ...named('a-1') }),
    ];
    fc.assert(
      fc.property(fc.shuffledSubarray(classes, { minLength: 3 }), (shuffled) => {
        assert.equal(outcome(decide(shuffled)), 'a-1 by Class');
      }),
      { seed: SEED },
    );
  });

  const selected = node({
    labels: { pool: 'gpu', 'eks.amazonaws.com/nodegroup': 'ng-1' },
    primaryAddress: ip('10.0.4.7'),
    instanceType: 'm5.large',
  });
  const matches: readonly [string, Partial<ClassMatch>, boolean][] = [
    ['no condition', {}, true],
    ['its label', { nodeSelector: { ...anyLabels, matchLabels: { pool: 'gpu' } } }, true],
    ['another label', { nodeSelector: { ...anyLabels, matchLabels: { pool: 'cpu' } } }, false],
    [
      'an expression',
      {
        nodeSelector: {
          ...anyLabels,
          matchExpressions: [{ key: 'pool', operator: 'NotIn', values: ['cpu'] }],
        },
      },
      true,
    ],
    ['its zone', { zones: ['us-west-2b', 'us-west-2a'] }, true],
    ['another zone', { zones: ['us-west-2b'] }, false],
    ['its managed node group', { nodeGroups: ['ng-1'] }, true],
    ['another node group', { nodeGroups: ['ng-2'] }, false],
    ['its instance type', { instanceTypes: ['m5.large'] }, true],
    ['its instance family', { instanceTypes: ['c5.*', 'm5.*'] }, true],
    ['another instance type', { instanceTypes: ['m5.xlarge'] }, false],
    ['the CIDR of its primary address', { nodeCidrs: [cidr('10.0.4.0/24')] }, true],
    ['another CIDR', { nodeCidrs: [cidr('10.0.5.0/24')] }, false],
    ['two conditions, one of which does not hold', { zones: ['us-west-2a'], nodeGroups: ['ng-2'] }, false],
  ];
  for (const [title, match, holds] of matches)
    it(`${holds ? 'matches' : 'does not match'} a node by ${title}`, () => {
      const decided = decide([classOf({ match, ...named('a-1') })], selected);
      assert.equal(outcome(decided), holds ? 'a-1 by Class' : 'us-west-2a by Zone');
    });

  it('a Karpenter node pool is a node group too', () => {
    const karpenter = node({ labels: { 'karpenter.sh/nodepool': 'spot' } });
    const decided = decide([classOf({ match: { nodeGroups: ['spot'] }, ...named('a-1') })], karpenter);
    assert.equal(outcome(decided), 'a-1 by Class');
  });
});

describe('[SEL-10] a class chooses only among its own ENIConfigs in the node’s zone and VPC', () => {
  const rows: readonly [string, Sketch, string][] = [
    ['by name, those elsewhere passed over', named('b-1', 'a-2', 'a-1'), 'a-2 by Class'],
    ['a name that does not exist is passed over while another serves', named('ghost', 'a-2'), 'a-2 by Class'],
    ['a broken one too', named('broken', 'a-2'), 'a-2 by Class'],
    [
      'by selector, in the order of the names',
      { candidates: { kind: 'Selector', selector: { ...anyLabels, matchLabels: { tier: 'web' } } } },
      'a-1 by Class',
    ],
    ['none in the zone [U48]', named('b-1'), 'NoEniConfigInZone by Class'],
    [
      'none in the zone, with a fallback',
      { ...named('b-1'), fallback: 'NodeSubnet' },
      'NodeSubnet by ClassFallback',
    ],
    ['none that exists', named('ghost'), 'EniConfigNotFound by Class'],
    [
      'none that exists, with a fallback',
      { ...named('ghost'), fallback: 'NodeSubnet' },
      'EniConfigNotFound by Class',
    ],
    [
      'none that is sound, with a fallback',
      { ...named('broken'), fallback: 'NodeSubnet' },
      'EniConfigInvalid by Class',
    ],
    [
      'none that EC2 has answered for',
      { ...named('fresh'), fallback: 'NodeSubnet' },
      'EniConfigUnresolved by Class',
    ],
    [
      'no ENIConfig has the labels',
      { candidates: { kind: 'Selector', selector: { ...anyLabels, matchLabels: { tier: 'x' } } } },
      'NoEniConfigInZone by Class',
    ],
    ['none listed: the rules after it', {}, 'us-west-2a by Zone'],
  ];
  for (const [title, sketch, expected] of rows)
    it(title, () => {
      assert.equal(outcome(decide([classOf(sketch)])), expected);
    });

  it('by subnet tags, those that the controller made for it', () => {
    const own = valid({ name: 'workers.1', labels: { [CLASS_LABEL]: 'workers' } });
    const others = valid({ name: 'a.1', labels: { [CLASS_LABEL]: 'others' } });
    const tagged = classOf({
      candidates: { kind: 'SubnetTags', tags: { pods: 'yes' }, securityGroupIds: [] },
    });
    assert.equal(outcome(decide([tagged], node(), { views: [others, own] })), 'workers.1 by Class');
    const none = decide([tagged], node(), { views: [others] }).selection;
    assert.ok(none.kind === 'None');
    assert.match(none.message, /no subnet carries pods=yes/);
    assert.match(none.fix, /^Tag a subnet of vpc-0000000a in zone us-west-2a with pods=yes/);
  });

  it('a class without ENIConfigs, and nothing else either: its fallback holds', () => {
    const settingsOnly = classOf({ fallback: 'NodeSubnet' });
    assert.equal(outcome(decide([settingsOnly], node(), { views: [b1] })), 'NodeSubnet by ClassFallback');
    assert.equal(outcome(decide([classOf({})], node(), { views: [b1] })), 'NoEniConfig by Nothing');
  });

  it('the node keeps its choice while another candidate is not known yet, where the strategy stays', () => {
    const spread = classOf({ ...named('fresh', 'a-2', 'a-1'), strategy: 'Spread' });
    assert.equal(outcome(decide([spread], node(), { current: 'a-1' })), 'a-1 by Class');
    assert.equal(outcome(decide([spread])), 'EniConfigUnresolved by Class');
  });

  it('the reason names the class, the choice, the others and the strategy', () => {
    const { selection } = decide([classOf({ ...named('a-2', 'a-1'), strategy: 'Hash' })]);
    assert.equal(
      selection.reason,
      'NodeNetworkClass "workers" matches node n1 and takes "a-1", by the hash of 10.0.0.10, of "a-2", "a-1" in zone us-west-2a (strategy Hash)',
    );
  });
});

describe('[SEL-13] a malformed class fails closed for the nodes that it may be meant for', () => {
  const mistake = { kind: 'Malformed', message: 'spec.strategy is wrong', fix: 'correct it' } as const;

  it('whose match can be read: for those nodes alone', () => {
    const match: ClassMatch = { nodeSelector: anyLabels, zones: ['us-west-2a'] };
    const malformed: NamedClass = { name: 'bad', spec: { ...mistake, priority: 0, match } };
    assert.equal(outcome(decide([malformed])), 'ClassInvalid by Class');
    const other = node({ zone: 'us-west-2b' });
    assert.equal(outcome(decide([malformed], other)), 'EniConfigInOtherZone by Default');
  });

  it('whose match cannot be read: for every node, and what was decided stays', () => {
    const malformed: NamedClass = { name: 'bad', spec: mistake };
    assert.equal(outcome(decide([malformed])), 'ClassUnreadable by Class');
    const written = node({ labels: { [DEFAULT_ENI_CONFIG_KEY]: 'a-2' } });
    assert.equal(outcome(decide([malformed], written)), 'a-2 by Label');
  });

  it('a sound class of a higher priority decides all the same', () => {
    const malformed: NamedClass = {
      name: 'bad',
      spec: { ...mistake, priority: 1, match: { nodeSelector: anyLabels } },
    };
    assert.equal(outcome(decide([malformed, classOf({ priority: 2, ...named('a-1') })])), 'a-1 by Class');
  });
});

describe('[SEL-10] over any classes and ENIConfigs', () => {
  const names = ['a-1', 'a-2', 'b-1', 'broken', 'fresh', 'ghost'] as const;
  const strategy = fc.constantFrom<ClassStrategy>('First', 'Hash', 'MostFree', 'Spread');
  const someClass = fc.record({
    name: fc.constantFrom('x', 'y', 'z'),
    priority: fc.integer({ min: -1, max: 1 }),
    names: fc.shuffledSubarray([...names], { minLength: 1 }),
    strategy,
    fallback: fc.constantFrom('None', 'NodeSubnet'),
  });
  const classes = fc.uniqueArray(someClass, { selector: ({ name }) => name, maxLength: 3 }).map((list) =>
    list.map((one) =>
      classOf({
        name: one.name,
        priority: one.priority,
        strategy: one.strategy,
        fallback: one.fallback,
        ...named(...one.names),
      }),
    ),
  );
  const current = fc.option(fc.constantFrom('a-1', 'a-2', 'b-1'), { nil: undefined });

  it('what a class chooses is one of its names, sound, and in the node’s zone; a mistake never leads to the fallback', () => {
    fc.assert(
      fc.property(classes, current, (list, now) => {
        const { selection } = decide(list, node(), now === undefined ? {} : { current: now });
        if (selection.source === 'Class' && selection.kind === 'EniConfig')
          assert.ok(['a-1', 'a-2'].includes(selection.name), selection.name);
        if (selection.source === 'ClassFallback')
          assert.ok(!/broken|ghost|fresh/.test(selection.reason), selection.reason);
        if (list.length > 0) assert.ok(['Class', 'ClassFallback'].includes(selection.source));
      }),
      { seed: SEED, numRuns: 1000 },
    );
  });

  it('the order of the classes does not matter', () => {
    fc.assert(
      fc.property(classes, current, (list, now) => {
        const more = now === undefined ? {} : { current: now };
        assert.deepEqual(decide([...list].reverse(), node(), more), decide(list, node(), more));
      }),
      { seed: SEED },
    );
  });

  it('deciding again with what was chosen as the present choice chooses the same', () => {
    fc.assert(
      fc.property(classes, current, (list, now) => {
        const first = decide(list, node(), now === undefined ? {} : { current: now }).selection;
        if (first.kind !== 'EniConfig') return;
        assert.deepEqual(decide(list, node(), { current: first.name }).selection, first);
      }),
      { seed: SEED, numRuns: 1000 },
    );
  });
});
