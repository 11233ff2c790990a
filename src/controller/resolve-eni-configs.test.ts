// What EC2 says of an ENIConfig: each mistake is named with the field, the value and the fix.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SecurityGroupId, SubnetId, VpcId } from '../domain/ids.ts';
import { cidr } from '../domain/ipam/testing.ts';
import type { EniConfigRecord } from '../ports/cluster.ts';
import { createEc2View, type Ec2View } from './ec2-view.ts';
import { resolveEniConfig } from './resolve-eni-configs.ts';

const SUBNET = 'subnet-0000000a' as SubnetId;
const GROUP = 'sg-0000000a' as SecurityGroupId;
const VPC = 'vpc-0000000a' as VpcId;
const OTHER_VPC = 'vpc-0000000b' as VpcId;

const subnet = { subnetId: SUBNET, vpcId: VPC, zone: 'a', cidr: cidr('10.0.0.0/24'), freeAddressCount: 9 };

function record(spec?: EniConfigRecord['spec']): EniConfigRecord {
  const eniConfig = { name: 'pods', labels: {}, subnetId: SUBNET, securityGroupIds: [GROUP] };
  return {
    name: 'pods',
    uid: 'u',
    resourceVersion: '1',
    generation: 1,
    labels: {},
    annotations: {},
    deleting: false,
    spec: spec ?? { kind: 'Parsed', eniConfig },
  };
}

function view(fill: (view: Ec2View) => void): Ec2View {
  const empty = createEc2View(0);
  fill(empty);
  return empty;
}
const hasSubnet = ({ subnets }: Ec2View): unknown => subnets.set(SUBNET, { kind: 'Known', value: subnet });
const hasGroup =
  (vpcId: VpcId) =>
  ({ groups }: Ec2View): unknown =>
    groups.set(GROUP, { kind: 'Known', value: { securityGroupId: GROUP, vpcId } });

test('subnet and groups known and of one VPC: it can be used', () => {
  const known = view((one) => [hasSubnet(one), hasGroup(VPC)(one)]);
  assert.equal(resolveEniConfig(record(), known).kind, 'Valid');
});

test('[SEL-5] what EC2 has not answered yet is not known, and not wrong either', () => {
  assert.equal(
    resolveEniConfig(
      record(),
      view(() => undefined),
    ).kind,
    'Unresolved',
  );
  assert.equal(resolveEniConfig(record(), view(hasSubnet)).kind, 'Unresolved');
});

for (const [what, fill, message, fix] of [
  [
    'a subnet that does not exist',
    ({ subnets }: Ec2View) => subnets.set(SUBNET, { kind: 'Missing' }),
    /"pods": spec\.subnet subnet-0000000a does not exist/,
    /set spec\.subnet/,
  ],
  [
    'an unknown group',
    (one: Ec2View) => [hasSubnet(one), one.groups.set(GROUP, { kind: 'Missing' })],
    /security group sg-0000000a does not exist/,
    /remove sg-0000000a/,
  ],
  [
    'a group of another VPC',
    (one: Ec2View) => [hasSubnet(one), hasGroup(OTHER_VPC)(one)],
    /sg-0000000a is in vpc-0000000b, its subnet subnet-0000000a in vpc-0000000a/,
    /groups of vpc-0000000a/,
  ],
] as const) {
  test(`[ENI-4] ${what} is told with the object, the value and the fix`, () => {
    const resolved = resolveEniConfig(record(), view(fill));
    assert.ok(resolved.kind === 'Invalid');
    assert.match(resolved.message, message);
    assert.match(resolved.fix, fix);
  });
}

test('a malformed object keeps the words of its parser', () => {
  const malformed = record({
    kind: 'Malformed',
    message: 'ENIConfig "pods" has no spec.subnet',
    fix: 'set it',
  });
  const resolved = resolveEniConfig(
    malformed,
    view(() => undefined),
  );
  assert.deepEqual(resolved, {
    kind: 'Invalid',
    name: 'pods',
    labels: {},
    message: 'ENIConfig "pods" has no spec.subnet',
    fix: 'set it',
  });
});
