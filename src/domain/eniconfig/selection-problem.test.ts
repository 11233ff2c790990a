// What fails closed, and how it says what is wrong and what to do.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EniConfigView } from './eni-config.ts';
import { selectEniConfig } from './select-eni-config.ts';
import type { Selection, SelectionProblemCode } from './selection.ts';
import { DEFAULT_ENI_CONFIG_KEY, EXTERNAL_ENI_CONFIG_LABEL, type SelectionInput } from './selection-input.ts';
import {
  everyEniConfig,
  fallback,
  invalidOne,
  node,
  refused,
  selectionInput,
  unresolvedOne,
  valid,
  zoneA,
  zoneB,
} from './testing.ts';

const KEY = DEFAULT_ENI_CONFIG_KEY;
const EXTERNAL = EXTERNAL_ENI_CONFIG_LABEL;
const ZONE_KEY = 'topology.kubernetes.io/zone';

const select = (input: SelectionInput): Selection => selectEniConfig(input).selection;

describe('[SEL-1] a written name that cannot be used leads to no ENI', () => {
  const rows: readonly {
    readonly title: string;
    readonly annotation: string;
    readonly views?: readonly EniConfigView[];
    readonly problem: SelectionProblemCode;
    readonly message: string;
    readonly fix: string;
  }[] = [
    {
      title: 'it does not exist',
      annotation: 'pod-1a',
      problem: 'EniConfigNotFound',
      message:
        'annotation k8s.amazonaws.com/eniConfig on node n1 names "pod-1a", but no ENIConfig has that name; ' +
        'ENIConfigs in the node\'s zone us-west-2a: "default", "other", "special", "us-west-2a"',
      fix:
        'Create ENIConfig "pod-1a" with a subnet in zone us-west-2a, or name one that the node can use: ' +
        'kubectl annotate node n1 k8s.amazonaws.com/eniConfig=default --overwrite',
    },
    {
      title: 'it is spelled a little wrong',
      annotation: 'Special ',
      problem: 'EniConfigNotFound',
      message:
        'annotation k8s.amazonaws.com/eniConfig on node n1 names "Special ", but no ENIConfig has that name; ' +
        'ENIConfigs in the node\'s zone us-west-2a: "default", "other", "special", "us-west-2a"',
      fix:
        'Create ENIConfig "Special " with a subnet in zone us-west-2a, or name one that the node can use: ' +
        'kubectl annotate node n1 k8s.amazonaws.com/eniConfig=special --overwrite',
    },
    {
      title: 'it does not exist, and no other would do',
      annotation: 'pod-1a',
      views: [zoneB],
      problem: 'EniConfigNotFound',
      message:
        'annotation k8s.amazonaws.com/eniConfig on node n1 names "pod-1a", but no ENIConfig has that name; ' +
        "no usable ENIConfig has its subnet in the node's zone us-west-2a",
      fix: 'Create ENIConfig "pod-1a" with a subnet in zone us-west-2a',
    },
    {
      title: "it is invalid: the ENIConfig's own message and fix",
      annotation: 'broken',
      problem: 'EniConfigInvalid',
      message:
        'annotation k8s.amazonaws.com/eniConfig on node n1 names "broken", but that ENIConfig cannot be used: ' +
        'spec.securityGroups[0] "sg-00000bad" does not exist',
      fix: 'Correct spec.securityGroups: kubectl edit eniconfig broken',
    },
    {
      title: 'EC2 has not answered about it',
      annotation: 'fresh',
      problem: 'EniConfigUnresolved',
      message:
        'annotation k8s.amazonaws.com/eniConfig on node n1 names "fresh", and EC2 has not yet said what its subnet is: ' +
        'DescribeSubnets timed out',
      fix: 'Wait for EC2; if this lasts, check that the controller may call ec2:DescribeSubnets and ec2:DescribeSecurityGroups',
    },
    {
      title: 'it lies in another zone',
      annotation: 'us-west-2b',
      views: [zoneA, zoneB],
      problem: 'EniConfigInOtherZone',
      message:
        'annotation k8s.amazonaws.com/eniConfig on node n1 names "us-west-2b", but its subnet subnet-0000000b lies in ' +
        'zone us-west-2b and the node in us-west-2a: an ENI attaches only within its zone; ' +
        'ENIConfigs in the node\'s zone us-west-2a: "us-west-2a"',
      fix:
        'Name an ENIConfig that the node can use: ' +
        'kubectl annotate node n1 k8s.amazonaws.com/eniConfig=us-west-2a --overwrite',
    },
    {
      title: "it lies in another zone, and none lies in the node's",
      annotation: 'us-west-2b',
      views: [zoneB],
      problem: 'EniConfigInOtherZone',
      message:
        'annotation k8s.amazonaws.com/eniConfig on node n1 names "us-west-2b", but its subnet subnet-0000000b lies in ' +
        'zone us-west-2b and the node in us-west-2a: an ENI attaches only within its zone; ' +
        "no usable ENIConfig has its subnet in the node's zone us-west-2a",
      fix:
        'Create an ENIConfig with a subnet of vpc-0000000a in zone us-west-2a and name it: ' +
        'kubectl annotate node n1 k8s.amazonaws.com/eniConfig=NAME --overwrite',
    },
    {
      title: 'it lies in another VPC',
      annotation: 'far',
      views: [valid({ name: 'far', vpc: 'vpc-0000000b' }), zoneA],
      problem: 'EniConfigInOtherVpc',
      message:
        'annotation k8s.amazonaws.com/eniConfig on node n1 names "far", but its subnet subnet-00000001 belongs to ' +
        'vpc-0000000b and the node to vpc-0000000a; ENIConfigs in the node\'s zone us-west-2a: "us-west-2a"',
      fix:
        'Name an ENIConfig that the node can use: ' +
        'kubectl annotate node n1 k8s.amazonaws.com/eniConfig=us-west-2a --overwrite',
    },
    {
      title: 'it is empty, which is not the same as absent',
      annotation: '',
      problem: 'EmptyName',
      message:
        'annotation k8s.amazonaws.com/eniConfig on node n1 is present with an empty value, which names no ENIConfig; ' +
        'it does not count as absent',
      fix:
        'Name an ENIConfig: kubectl annotate node n1 k8s.amazonaws.com/eniConfig=NAME --overwrite -- ' +
        'or take the annotation away: kubectl annotate node n1 k8s.amazonaws.com/eniConfig-',
    },
  ];
  for (const row of rows) {
    it(row.title, () => {
      const annotated = node({ annotations: { [KEY]: row.annotation } });
      const selection = refused(select(selectionInput(annotated, row.views ?? everyEniConfig)));
      assert.equal(selection.problem, row.problem);
      assert.equal(selection.message, row.message);
      assert.equal(selection.fix, row.fix);
      assert.equal(selection.source, 'Annotation');
    });
  }

  it('a wrong label too, with the command for labels', () => {
    const selection = refused(select(selectionInput(node({ labels: { [EXTERNAL]: 'gone' } }), [zoneA])));
    assert.match(
      selection.fix,
      /kubectl label node n1 vpc\.amazonaws\.com\/externalEniConfig=us-west-2a --overwrite$/,
    );
  });

  it('a zone label without its ENIConfig; the fix leaves the zone label alone', () => {
    const labelled = node({ labels: { [ZONE_KEY]: 'us-west-2c' }, zone: 'us-west-2c' });
    const inC = valid({ name: 'pods-c', zone: 'us-west-2c' });
    const selection = refused(
      select(selectionInput(labelled, [zoneA, fallback, inC], { labelKey: ZONE_KEY })),
    );
    assert.equal(selection.problem, 'EniConfigNotFound');
    assert.equal(
      selection.message,
      'label topology.kubernetes.io/zone on node n1 names "us-west-2c", but no ENIConfig has that name; ' +
        'ENIConfigs in the node\'s zone us-west-2c: "pods-c"',
    );
    assert.equal(
      selection.fix,
      'Create ENIConfig "us-west-2c" with a subnet in zone us-west-2c, or name one that the node can use: ' +
        'kubectl annotate node n1 k8s.amazonaws.com/eniConfig=pods-c --overwrite',
    );
  });

  it('names at most eight candidates and counts the rest', () => {
    const many = Array.from({ length: 11 }, (_, n) => valid({ name: `pods-${String(n).padStart(2, '0')}` }));
    const selection = refused(select(selectionInput(node({ annotations: { [KEY]: 'x' } }), many)));
    assert.match(selection.message, /"pods-00", .*"pods-07" and 3 more$/);
  });

  it('cuts an endless value', () => {
    const selection = refused(
      select(selectionInput(node({ annotations: { [KEY]: 'x'.repeat(200_000) } }), everyEniConfig)),
    );
    assert.ok(selection.message.length < 1000 && selection.fix.length < 1000);
  });
});

describe('[SEL-3] an ENIConfig that applies by its own name fails closed too', () => {
  it('named like the zone, with its subnet in another', () => {
    const misplaced = valid({ name: 'us-west-2a', zone: 'us-west-2b' });
    const selection = refused(select(selectionInput(node(), [misplaced, fallback])));
    assert.deepEqual([selection.source, selection.problem], ['Zone', 'EniConfigInOtherZone']);
    assert.equal(
      selection.fix,
      'Set spec.subnet of ENIConfig "us-west-2a" to a subnet of vpc-0000000a in zone us-west-2a: ' +
        'kubectl edit eniconfig us-west-2a',
    );
  });

  it('default, in another zone', () => {
    const elsewhere = valid({ name: 'default', zone: 'us-west-2b' });
    const selection = refused(select(selectionInput(node(), [elsewhere])));
    assert.deepEqual([selection.source, selection.problem], ['Default', 'EniConfigInOtherZone']);
    assert.equal(
      selection.message,
      'nothing else names an ENIConfig for node n1, so "default" applies, but its subnet subnet-00000001 lies in zone ' +
        'us-west-2b and the node in us-west-2a: an ENI attaches only within its zone; ' +
        "no usable ENIConfig has its subnet in the node's zone us-west-2a",
    );
    assert.equal(
      selection.fix,
      'Create an ENIConfig named "us-west-2a" with a subnet of vpc-0000000a in that zone, or name one for the node: ' +
        'kubectl annotate node n1 k8s.amazonaws.com/eniConfig=NAME --overwrite',
    );
  });

  it('named like the zone, and invalid or unresolved', () => {
    const broken: EniConfigView = { ...invalidOne, name: 'us-west-2a' };
    const fresh: EniConfigView = { ...unresolvedOne, name: 'us-west-2a' };
    assert.equal(refused(select(selectionInput(node(), [broken, fallback]))).problem, 'EniConfigInvalid');
    assert.equal(refused(select(selectionInput(node(), [fresh, fallback]))).problem, 'EniConfigUnresolved');
  });
});
