// What a NodeNetworkClass object may look like, and what is said of one that cannot work.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parse } from 'yaml';
import { parseNodeNetworkClassManifest, parseNodeNetworkClassSpec } from './node-network-class.ts';

suite('a NodeNetworkClass', () => {
  test('is read from YAML with everything in it', () => {
    const manifest = parseNodeNetworkClassManifest(
      parse(`
apiVersion: eniwhere.io/v1alpha1
kind: NodeNetworkClass
metadata:
  name: workers
spec:
  priority: 10
  match:
    nodeSelector:
      matchLabels: { pool: general }
      matchExpressions: [{ key: gpu, operator: DoesNotExist }]
    zones: [ap-southeast-1a]
    nodeGroups: [ng-1]
    instanceTypes: ['m5.*']
    nodeCidrs: [10.0.0.0/24]
  eniConfigs:
    names: [pods-1a, pods-1a-2]
  strategy: Hash
  fallback: NodeSubnet
  onENIConfigChange: Keep
  mode: Prefix
  addressFamilies: [IPv4, IPv6]
  warm: { ipTarget: 2, minimumIPTarget: 10, prefixTarget: 2 }
  maxENI: 3
  snat: { external: true, excludeCIDRs: [192.168.0.0/16] }
`),
    );
    assert.deepEqual(manifest, {
      ok: true,
      value: {
        name: 'workers',
        labels: {},
        annotations: {},
        spec: {
          kind: 'Parsed',
          nodeNetworkClass: {
            name: 'workers',
            priority: 10,
            match: {
              nodeSelector: {
                matchLabels: { pool: 'general' },
                matchExpressions: [{ key: 'gpu', operator: 'DoesNotExist', values: [] }],
              },
              zones: ['ap-southeast-1a'],
              nodeGroups: ['ng-1'],
              instanceTypes: ['m5.*'],
              nodeCidrs: ['10.0.0.0/24'],
            },
            candidates: { kind: 'Names', names: ['pods-1a', 'pods-1a-2'] },
            strategy: 'Hash',
            fallback: 'NodeSubnet',
            overrides: {
              targets: { warmIp: 2, minimumIp: 10, warmPrefix: 2, warmEni: 0, exact: true },
              maxEni: 3,
              mode: 'Prefix',
              addressFamilies: ['IPv4', 'IPv6'],
              externalSnat: true,
              excludeSnatCidrs: ['192.168.0.0/16'],
              onEniConfigChange: 'Keep',
            },
          },
        },
      },
    });
  });

  test('without a spec matches every node, names no ENIConfigs and sets nothing', () => {
    const spec = parseNodeNetworkClassSpec('all', undefined);
    assert.ok(spec.kind === 'Parsed');
    const { match, candidates, strategy, fallback, overrides } = spec.nodeNetworkClass;
    assert.deepEqual(match, { nodeSelector: { matchLabels: {}, matchExpressions: [] } });
    assert.deepEqual([candidates, strategy, fallback, overrides], [undefined, 'First', 'None', {}]);
  });

  test('may name subnets by their tags, with the groups of the ENIConfigs that are made', () => {
    const spec = parseNodeNetworkClassSpec('tagged', {
      eniConfigs: { subnetTags: { 'eniwhere.io/pods': 'prod' }, securityGroups: ['sg-0123456789abcdef0'] },
    });
    assert.ok(spec.kind === 'Parsed');
    assert.deepEqual(spec.nodeNetworkClass.candidates, {
      kind: 'SubnetTags',
      tags: { 'eniwhere.io/pods': 'prod' },
      securityGroupIds: ['sg-0123456789abcdef0'],
    });
  });
});

suite('[SEL-13] a NodeNetworkClass that cannot work is Malformed, with the field, the value and the fix', () => {
  const cases: readonly [string, unknown, RegExp][] = [
    ['a spec that is a text', 'x', /: spec is "x": must be a mapping/],
    [
      'an unknown field',
      { stratgey: 'Hash' },
      /: spec has the unknown field "stratgey"; the fields here are /,
    ],
    ['an unknown strategy', { strategy: 'Random' }, /spec\.strategy is "Random": must be one of First, Hash/],
    ['a priority in quotes', { priority: '1' }, /spec\.priority is "1": must be a whole number/],
    [
      'a zone for a list of zones',
      { match: { zones: 'a' } },
      /spec\.match\.zones is "a": must be a list of zones/,
    ],
    [
      'an empty list of zones',
      { match: { zones: [] } },
      /spec\.match\.zones must name at least one of zones/,
    ],
    ['an unknown condition', { match: { zone: 'a' } }, /spec\.match has the unknown field "zone"/],
    ['no CIDR', { match: { nodeCidrs: ['10.0.0.0'] } }, /spec\.match\.nodeCidrs\[0\] is "10\.0\.0\.0":/],
    [
      'an operator without values',
      { match: { nodeSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } } },
      /spec\.match\.nodeSelector\.matchExpressions\[0\]\.values is nothing: In and NotIn need values/,
    ],
    [
      'a label that is a number',
      { match: { nodeSelector: { matchLabels: { a: 1 } } } },
      /matchLabels\.a is 1:/,
    ],
    [
      'two kinds of candidates',
      { eniConfigs: { names: ['a'], subnetTags: { a: 'b' } } },
      /exactly one of names/,
    ],
    ['no candidates', { eniConfigs: {} }, /spec\.eniConfigs must have exactly one of names/],
    ['an empty selector', { eniConfigs: { selector: {} } }, /must ask for at least one label/],
    ['no tag', { eniConfigs: { subnetTags: {} } }, /must name at least one tag/],
    [
      'groups without tags',
      { eniConfigs: { names: ['a'], securityGroups: ['sg-01234567'] } },
      /belong to subnetTags/,
    ],
    ['no name of an ENIConfig', { eniConfigs: { names: ['Pods'] } }, /names\[0\] is "Pods": is no name/],
    ['no id of a group', { eniConfigs: { subnetTags: { a: '' }, securityGroups: ['web'] } }, /"web" is not/],
    ['a negative target', { warm: { ipTarget: -1 } }, /spec\.warm\.ipTarget is -1: must not be negative/],
    [
      'a flag in quotes',
      { snat: { external: 'true' } },
      /spec\.snat\.external is "true": must be true or false/,
    ],
    ['no family', { addressFamilies: [] }, /spec\.addressFamilies must name at least one/],
  ];
  for (const [title, spec, message] of cases)
    test(title, () => {
      const parsed = parseNodeNetworkClassSpec('workers', spec);
      assert.ok(parsed.kind === 'Malformed');
      assert.match(parsed.message, /^NodeNetworkClass "workers": spec/);
      assert.match(parsed.message, message);
      assert.match(parsed.fix, /^correct spec.*: kubectl edit nodenetworkclass workers$/);
    });

  test('whom it claims is still told, where that can be read', () => {
    const parsed = parseNodeNetworkClassSpec('w', { priority: 7, match: { zones: ['a'] }, strategy: 'X' });
    assert.ok(parsed.kind === 'Malformed');
    assert.deepEqual([parsed.priority, parsed.match?.zones], [7, ['a']]);
    const unreadable = parseNodeNetworkClassSpec('w', { priority: 'high', match: { zones: 'a' } });
    assert.ok(unreadable.kind === 'Malformed');
    assert.deepEqual([unreadable.priority, unreadable.match], [undefined, undefined]);
  });
});
