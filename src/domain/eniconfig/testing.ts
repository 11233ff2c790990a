// For tests: a node and ENIConfigs in few words.

import assert from 'node:assert/strict';
import { cidr, ip } from '../address/testing.ts';
import type { NodeName, SecurityGroupId, SubnetId, VpcId } from '../ids.ts';
import type { EniConfigView } from './eni-config.ts';
import { defaultSelectionSettings, type SelectionInput, type SelectionSettings } from './selection-input.ts';
import type { Selection } from './selection.ts';
import type { SelectionNode } from './selection-node.ts';

/** Node n1 in us-west-2a of vpc-0000000a, with one group on its primary ENI. */
export const node = (differences: Partial<SelectionNode> = {}): SelectionNode => ({
  name: 'n1' as NodeName,
  labels: {},
  annotations: {},
  zone: 'us-west-2a',
  vpcId: 'vpc-0000000a' as VpcId,
  instanceType: 'm5.large',
  primaryAddress: ip('10.0.0.10'),
  primarySubnetId: 'subnet-000000ff' as SubnetId,
  primarySecurityGroupIds: ['sg-000000ff' as SecurityGroupId],
  ...differences,
});

export interface EniConfigSketch {
  readonly name: string;
  readonly zone?: string;
  readonly vpc?: string;
  readonly subnet?: string;
  readonly groups?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly free?: number;
}

/** A usable ENIConfig, by default in the node's zone and VPC, with a group. */
export const valid = ({
  name,
  zone = 'us-west-2a',
  vpc = 'vpc-0000000a',
  subnet = 'subnet-00000001',
  groups = ['sg-00000001'],
  labels = {},
  free = 4000,
}: EniConfigSketch): EniConfigView => ({
  kind: 'Valid',
  eniConfig: {
    name,
    labels,
    subnetId: subnet as SubnetId,
    securityGroupIds: groups as readonly SecurityGroupId[],
  },
  subnet: {
    subnetId: subnet as SubnetId,
    vpcId: vpc as VpcId,
    zone,
    cidr: cidr('10.1.0.0/20'),
    freeAddressCount: free,
  },
});

/** The input for a readable node and ENIConfigs. */
export const selectionInput = (
  selected: SelectionNode,
  views: readonly EniConfigView[],
  settings: Partial<SelectionSettings> = {},
): SelectionInput => ({
  node: { kind: 'Readable', node: selected },
  eniConfigs: {
    kind: 'Readable',
    byName: new Map(views.map((view) => [view.kind === 'Valid' ? view.eniConfig.name : view.name, view])),
  },
  classes: [],
  use: new Map(),
  settings: { ...defaultSelectionSettings, ...settings },
});

/** What the tests of selection choose among: of two zones, by name, by default, and two that cannot be used. */
export const zoneA = valid({ name: 'us-west-2a', subnet: 'subnet-0000000a' });
export const zoneB = valid({ name: 'us-west-2b', zone: 'us-west-2b', subnet: 'subnet-0000000b' });
export const special = valid({ name: 'special', subnet: 'subnet-0000005c' });
const other = valid({ name: 'other', subnet: 'subnet-00000007' });
export const fallback = valid({ name: 'default', subnet: 'subnet-0000000d' });
export const invalidOne = {
  kind: 'Invalid',
  name: 'broken',
  labels: {},
  message: 'spec.securityGroups[0] "sg-00000bad" does not exist',
  fix: 'Correct spec.securityGroups: kubectl edit eniconfig broken',
} satisfies EniConfigView;
export const unresolvedOne = {
  kind: 'Unresolved',
  name: 'fresh',
  labels: {},
  message: 'DescribeSubnets timed out',
} satisfies EniConfigView;
export const everyEniConfig: readonly EniConfigView[] = [
  zoneA,
  zoneB,
  special,
  other,
  fallback,
  invalidOne,
  unresolvedOne,
];

export function refused(selection: Selection): Extract<Selection, { kind: 'None' }> {
  assert.equal(selection.kind, 'None', JSON.stringify(selection));
  return selection;
}
