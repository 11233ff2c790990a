// What operators report of selection, replayed: which ENIConfig, or what is said of the mistake.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { selectEniConfig } from './select-eni-config.ts';
import type { Selection } from './selection.ts';
import { DEFAULT_ENI_CONFIG_KEY } from './selection-input.ts';
import type { SelectionNode } from './selection-node.ts';
import { node, selectionInput, valid } from './testing.ts';

const ZONE_LABEL = 'topology.kubernetes.io/zone';
const zoneA = valid({ name: 'us-west-2a' });
const zoneB = valid({ name: 'us-west-2b', zone: 'us-west-2b' });
const special = valid({ name: 'special' });
const wrong = valid({ name: 'pods-b', zone: 'us-west-2b' });
const ungrouped = valid({ name: 'only-subnet', groups: [] });
const all = [zoneA, zoneB, special, wrong, ungrouped];

const select = (selected: SelectionNode, settings: { readonly labelKey?: string } = {}): Selection =>
  selectEniConfig(selectionInput(selected, all, settings)).selection;

describe('S14 [U46] [SEL-2] the ENIConfig of a node whose label is there, missing or misnamed', () => {
  it('the zone’s label as the key: the ENIConfig named like its value', () => {
    const selection = select(node({ labels: { [ZONE_LABEL]: 'us-west-2a' } }), { labelKey: ZONE_LABEL });
    assert.ok(selection.kind === 'EniConfig');
    assert.deepEqual([selection.name, selection.source], ['us-west-2a', 'Label']);
  });

  it('no label at all (a node without a cloud provider): EC2 knows the zone', () => {
    const selection = select(node({ zone: 'us-west-2b' }), { labelKey: ZONE_LABEL });
    assert.ok(selection.kind === 'EniConfig');
    assert.deepEqual([selection.name, selection.source], ['us-west-2b', 'Zone']);
  });

  it('an annotation outranks it', () => {
    const selection = select(
      node({ labels: { [ZONE_LABEL]: 'us-west-2a' }, annotations: { [DEFAULT_ENI_CONFIG_KEY]: 'special' } }),
      { labelKey: ZONE_LABEL },
    );
    assert.ok(selection.kind === 'EniConfig' && selection.name === 'special');
  });

  it('a value that names none (a chart wrote "us-west-2" and "a"): key, value and candidates are told', () => {
    const selection = select(node({ labels: { [DEFAULT_ENI_CONFIG_KEY]: 'us-west-2-a' } }));
    assert.ok(selection.kind === 'None');
    assert.match(selection.message, /label k8s\.amazonaws\.com\/eniConfig on node n1 names "us-west-2-a"/);
    assert.match(
      selection.message,
      /ENIConfigs in the node's zone us-west-2a: "only-subnet", "special", "us-west-2a"/,
    );
    assert.match(selection.fix, /=us-west-2a --overwrite/);
  });
});

describe('S14 [U48] [SEL-1] a pod subnet in another zone than the node', () => {
  it('is refused before any ENI is made, and both zones are told', () => {
    const selection = select(node({ annotations: { [DEFAULT_ENI_CONFIG_KEY]: 'pods-b' } }));
    assert.ok(selection.kind === 'None');
    assert.equal(selection.problem, 'EniConfigInOtherZone');
    assert.match(selection.message, /lies in zone us-west-2b and the node in us-west-2a/);
  });
});

describe('S14 [U55] [SEL-4] an ENIConfig with only a subnet', () => {
  it('means the groups of the node’s primary ENI, not the VPC’s default group', () => {
    const selection = select(node({ annotations: { [DEFAULT_ENI_CONFIG_KEY]: 'only-subnet' } }));
    assert.ok(selection.kind === 'EniConfig');
    assert.deepEqual(selection.securityGroupIds, node().primarySecurityGroupIds);
  });
});
