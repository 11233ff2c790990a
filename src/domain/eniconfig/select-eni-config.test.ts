// Selection: precedence, groups, outages, the trace. (What fails closed on a wrong name: selection-problem.test.ts.)

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeName } from '../ids.ts';
import type { EniConfigView } from './eni-config.ts';
import { selectEniConfig } from './select-eni-config.ts';
import type { Selection, SelectionSource } from './selection.ts';
import {
  DEFAULT_ENI_CONFIG_KEY,
  defaultSelectionSettings,
  EXTERNAL_ENI_CONFIG_LABEL,
  type SelectionInput,
} from './selection-input.ts';
import {
  everyEniConfig,
  fallback,
  node,
  refused,
  selectionInput,
  special,
  valid,
  zoneA,
  zoneB,
} from './testing.ts';

const KEY = DEFAULT_ENI_CONFIG_KEY;
const EXTERNAL = EXTERNAL_ENI_CONFIG_LABEL;
const ZONE_KEY = 'topology.kubernetes.io/zone';

const select = (input: SelectionInput): Selection => selectEniConfig(input).selection;

function chosen(selection: Selection): Extract<Selection, { kind: 'EniConfig' }> {
  assert.equal(selection.kind, 'EniConfig', JSON.stringify(selection));
  return selection;
}

describe('[SEL-2] the first rule that names an ENIConfig decides', () => {
  const rows: readonly {
    readonly title: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labelKey?: string;
    readonly annotationKey?: string;
    readonly views?: readonly EniConfigView[];
    readonly zone?: string;
    readonly name: string;
    readonly source: SelectionSource;
    readonly reason: string;
  }[] = [
    {
      title: 'the external label over annotation and label',
      labels: { [EXTERNAL]: 'special', [KEY]: 'other' },
      annotations: { [KEY]: 'us-west-2a' },
      name: 'special',
      source: 'ExternalLabel',
      reason: 'label vpc.amazonaws.com/externalEniConfig on node n1 names "special"',
    },
    {
      title: 'the annotation over the label',
      labels: { [KEY]: 'other' },
      annotations: { [KEY]: 'special' },
      name: 'special',
      source: 'Annotation',
      reason: 'annotation k8s.amazonaws.com/eniConfig on node n1 names "special"',
    },
    {
      title: 'the label over the zone',
      labels: { [KEY]: 'other' },
      name: 'other',
      source: 'Label',
      reason: 'label k8s.amazonaws.com/eniConfig on node n1 names "other"',
    },
    {
      title: 'the zone label, when ENI_CONFIG_LABEL_DEF says so',
      labels: { [ZONE_KEY]: 'us-west-2a' },
      labelKey: ZONE_KEY,
      name: 'us-west-2a',
      source: 'Label',
      reason: 'label topology.kubernetes.io/zone on node n1 names "us-west-2a"',
    },
    {
      title: 'the annotation of ENI_CONFIG_ANNOTATION_DEF, and not the one with the default key',
      annotations: { 'example.com/eni': 'special', [KEY]: 'other' },
      annotationKey: 'example.com/eni',
      name: 'special',
      source: 'Annotation',
      reason: 'annotation example.com/eni on node n1 names "special"',
    },
    {
      title: 'the default keys, when the settings are present but empty',
      annotations: { [KEY]: 'special' },
      annotationKey: '',
      labelKey: '',
      name: 'special',
      source: 'Annotation',
      reason: 'annotation k8s.amazonaws.com/eniConfig on node n1 names "special"',
    },
    {
      title: 'the zone over default; a node without a zone label has its zone from EC2',
      zone: 'us-west-2b',
      name: 'us-west-2b',
      source: 'Zone',
      reason: 'ENIConfig "us-west-2b" is named like the zone of node n1',
    },
    {
      title: 'default, when there is nothing else',
      views: [fallback, special],
      name: 'default',
      source: 'Default',
      reason: 'nothing else names an ENIConfig for node n1, so "default" applies',
    },
  ];
  for (const row of rows) {
    it(row.title, () => {
      const selection = chosen(
        select(
          selectionInput(
            node({
              labels: row.labels ?? {},
              annotations: row.annotations ?? {},
              zone: row.zone ?? 'us-west-2a',
            }),
            row.views ?? everyEniConfig,
            { labelKey: row.labelKey ?? KEY, annotationKey: row.annotationKey ?? KEY },
          ),
        ),
      );
      assert.deepEqual(
        { name: selection.name, source: selection.source, reason: selection.reason },
        { name: row.name, source: row.source, reason: row.reason },
      );
    });
  }

  it('a key called like a member of every object is not found on a node that lacks it', () => {
    const selection = select(selectionInput(node(), [zoneA], { annotationKey: 'constructor' }));
    assert.equal(selection.source, 'Zone');
  });
});

describe('[SEL-4] security groups', () => {
  it("are the ENIConfig's", () => {
    assert.deepEqual(chosen(select(selectionInput(node(), [zoneA]))).securityGroupIds, ['sg-00000001']);
  });

  it('are those of the primary ENI when the ENIConfig lists none, and the reason says so', () => {
    const bare = valid({ name: 'us-west-2a', groups: [] });
    const selection = chosen(select(selectionInput(node(), [bare])));
    assert.deepEqual(selection.securityGroupIds, ['sg-000000ff']);
    assert.equal(
      selection.reason,
      'ENIConfig "us-west-2a" is named like the zone of node n1; ' +
        "it lists no security groups, so those of the node's primary ENI apply",
    );
  });

  it("are never left to EC2, which would take the VPC's default group", () => {
    const groupless = node({ primarySecurityGroupIds: [] });
    const bare = valid({ name: 'us-west-2a', groups: [] });
    assert.equal(refused(select(selectionInput(groupless, [bare]))).problem, 'Unreadable');
    const off = select(selectionInput(groupless, [], { customNetworking: false }));
    assert.equal(refused(off).problem, 'Unreadable');
  });
});

describe('[SEL-5] what cannot be read never chooses', () => {
  const unreadableConfigs = (input: SelectionInput): SelectionInput => ({
    ...input,
    eniConfigs: { kind: 'Unreadable', cause: 'connection refused' },
  });

  it('a node', () => {
    const selection = refused(
      select({
        ...selectionInput(node(), everyEniConfig),
        node: { kind: 'Unreadable', name: 'n1' as NodeName, cause: 'timeout after 3 s' },
      }),
    );
    assert.deepEqual([selection.source, selection.problem], ['Unreadable', 'Unreadable']);
    assert.match(selection.message, /^node n1 cannot be read: timeout after 3 s;/);
  });

  it('the ENIConfigs, for a node with nothing set', () => {
    const selection = refused(select(unreadableConfigs(selectionInput(node(), []))));
    assert.deepEqual([selection.source, selection.problem], ['Unreadable', 'Unreadable']);
    assert.match(selection.message, /^the ENIConfigs cannot be read: connection refused;/);
  });

  it('the ENIConfigs, for a node with a name: the reason keeps the name', () => {
    const selection = refused(
      select(unreadableConfigs(selectionInput(node({ labels: { [KEY]: 'other' } }), []))),
    );
    assert.deepEqual([selection.source, selection.problem], ['Label', 'Unreadable']);
    assert.equal(selection.reason, 'label k8s.amazonaws.com/eniConfig on node n1 names "other"');
  });
});

describe('[SEL-6] without custom networking', () => {
  it("pods use the node's own subnet and groups, whatever is written and whatever is unreadable", () => {
    const written = node({ annotations: { [KEY]: 'gone' } });
    const selection = select({
      ...selectionInput(written, [], { customNetworking: false }),
      eniConfigs: { kind: 'Unreadable', cause: 'connection refused' },
    });
    assert.deepEqual(selection, {
      kind: 'NodeSubnet',
      subnetId: 'subnet-000000ff',
      securityGroupIds: ['sg-000000ff'],
      source: 'CustomNetworkingOff',
      reason:
        'custom networking is off (AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG), ' +
        'so pods use the subnet and the security groups of node n1 itself',
    });
  });
});

describe('[SEL-7] when no rule names an ENIConfig', () => {
  it('nothing is allocated, and the message says what was looked for', () => {
    const selection = refused(select(selectionInput(node(), [special, zoneB])));
    assert.deepEqual([selection.source, selection.problem], ['Nothing', 'NoEniConfig']);
    assert.equal(
      selection.message,
      'node n1 has no label vpc.amazonaws.com/externalEniConfig, no annotation k8s.amazonaws.com/eniConfig, ' +
        'no label k8s.amazonaws.com/eniConfig, and no ENIConfig is named "us-west-2a" (its zone) or "default"; ' +
        'ENIConfigs in the node\'s zone us-west-2a: "special"',
    );
    assert.equal(
      selection.fix,
      'Create an ENIConfig named "us-west-2a" with a subnet in that zone, or name one for the node: ' +
        'kubectl annotate node n1 k8s.amazonaws.com/eniConfig=special --overwrite',
    );
  });
});

describe('[SEL-9] the trace', () => {
  it('lists every rule that was tried, in order, with what it found', () => {
    const { tried } = selectEniConfig(selectionInput(node(), [fallback]));
    assert.deepEqual(tried, [
      { rule: 'CustomNetworkingOff', matched: false, detail: 'custom networking is on' },
      {
        rule: 'ExternalLabel',
        matched: false,
        detail: 'node n1 has no label vpc.amazonaws.com/externalEniConfig',
      },
      { rule: 'Annotation', matched: false, detail: 'node n1 has no annotation k8s.amazonaws.com/eniConfig' },
      { rule: 'Label', matched: false, detail: 'node n1 has no label k8s.amazonaws.com/eniConfig' },
      { rule: 'Class', matched: false, detail: 'there are no NodeNetworkClasses' },
      { rule: 'Zone', matched: false, detail: 'there is no ENIConfig named "us-west-2a"' },
      {
        rule: 'Default',
        matched: true,
        detail: 'nothing else names an ENIConfig for node n1, so "default" applies',
      },
    ]);
  });

  it('ends with the problem when the selection fails', () => {
    const { selection, tried } = selectEniConfig({
      ...selectionInput(node(), []),
      settings: defaultSelectionSettings,
    });
    assert.deepEqual(tried.at(-2), {
      rule: 'ClassFallback',
      matched: false,
      detail: 'no NodeNetworkClass without ENIConfigs of its own matches the node',
    });
    assert.deepEqual(tried.at(-1), { rule: 'Nothing', matched: true, detail: refused(selection).message });
  });
});
