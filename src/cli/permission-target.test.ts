// What permissions are tried on: the cluster's own ENI and an ENIConfig that works, or as much of it as is known.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ip } from '../domain/address/testing.ts';
import {
  eniConfig,
  instance,
  picture,
  type PictureOptions,
  POD_SUBNET,
  VPC,
} from '../domain/explain/testing.ts';
import type { AttachmentId, EniId, InstanceId, SubnetId } from '../domain/ids.ts';
import { OWNER_TAG } from '../domain/ipam/tags.ts';
import type { Ec2Eni } from '../ports/ec2.ts';
import { permissionTarget, untriedNotes } from './permission-target.ts';

const eniOf = (clusterName: string | undefined, instanceId: InstanceId | undefined): Ec2Eni => ({
  eniId: `eni-of-${clusterName ?? 'nobody'}` as EniId,
  mac: '02:00:00:00:00:01',
  subnetId: POD_SUBNET,
  vpcId: VPC,
  zone: 'eu-west-1a',
  status: instanceId === undefined ? 'available' : 'in-use',
  description: '',
  securityGroupIds: [],
  primaryAddress: ip('100.64.0.9'),
  addresses: [],
  prefixes: [],
  ipv6Prefixes: [],
  tags: clusterName === undefined ? {} : { [OWNER_TAG]: clusterName },
  ...(instanceId === undefined
    ? {}
    : {
        attachment: {
          attachmentId: 'eni-attach-1' as AttachmentId,
          instanceId,
          deviceIndex: 1,
          networkCardIndex: 0,
          deleteOnTermination: true,
          status: 'attached',
        },
      }),
});

const mine = instance.instanceId;
const elsewhere = 'i-00000009' as InstanceId;

interface Case {
  readonly title: string;
  readonly enis: readonly Ec2Eni[];
  readonly given?: string;
  readonly clusterName: string | undefined;
  readonly eniId: string | undefined;
}

const cases: readonly Case[] = [
  { title: 'nothing is known yet', enis: [], clusterName: undefined, eniId: undefined },
  { title: 'a person says the name', enis: [], given: 'prod', clusterName: 'prod', eniId: undefined },
  {
    title: 'the tag of an ENI on a node tells the name',
    enis: [eniOf(undefined, mine), eniOf('prod', mine)],
    clusterName: 'prod',
    eniId: 'eni-of-prod',
  },
  {
    title: "[ENI-2] ENIs on other clusters' nodes, and on none, are nobody's here",
    enis: [eniOf('other', elsewhere), eniOf('prod', undefined)],
    clusterName: undefined,
    eniId: undefined,
  },
  {
    title: '[ENI-2] of a cluster with another name than the one given nothing is tried',
    enis: [eniOf('other', mine)],
    given: 'prod',
    clusterName: 'prod',
    eniId: undefined,
  },
];

suite('what permissions are tried on', () => {
  for (const { title, enis, given, clusterName, eniId } of cases)
    test(title, () => {
      const target = permissionTarget(picture(), enis, given);
      assert.deepEqual([target.clusterName, target.ownEni?.eniId], [clusterName, eniId]);
      assert.deepEqual([target.subnetId, target.instanceId], [POD_SUBNET, mine]);
    });

  test('an ENIConfig that works goes before one that does not; when EC2 tells nothing, the first', () => {
    const gone = 'subnet-0000000f' as SubnetId;
    const both: PictureOptions = { eniConfigs: [eniConfig({ name: 'a', subnetId: gone }), eniConfig()] };
    assert.equal(permissionTarget(picture(both), [], undefined).subnetId, POD_SUBNET);
    const untold = { ...picture(both), index: { ...picture(both).index, views: new Map() } };
    assert.equal(permissionTarget(untold, [], undefined).subnetId, gone);
  });

  test('what had no answer is told once per reason', () => {
    const unknown = (action: string, message: string) => ({ action, verdict: 'Unknown', message }) as const;
    assert.deepEqual(
      untriedNotes([
        unknown('A', 'one'),
        { action: 'B', verdict: 'Denied', message: 'no' },
        unknown('C', 'two'),
        unknown('D', 'one'),
      ]),
      ['no answer for ec2:A, ec2:D: one', 'no answer for ec2:C: two'],
    );
  });
});
