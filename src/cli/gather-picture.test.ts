// What a picture has of subnet CIDR reservations, and what it does without the rights to read them.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { SubnetReservations } from '../domain/address/subnet-reservations.ts';
import { cidr } from '../domain/address/testing.ts';
import type { EniConfig } from '../domain/eniconfig/eni-config.ts';
import type { Ec2Picture } from '../domain/explain/picture.ts';
import { createSimCluster } from '../lab/cluster/sim-cluster.ts';
import { createEc2World, must } from '../lab/ec2/testing.ts';
import type { Ec2Failure, Ec2Reader } from '../ports/ec2.ts';
import { done, failed } from '../ports/outcome.ts';
import { type GatheredPicture, gatherPicture, type ReservationReader } from './gather-picture.ts';

const HALF: SubnetReservations = { prefix: [cidr('10.0.1.128/25')], explicit: [] };
const DENIED: Ec2Failure = { kind: 'unauthorized', code: 'UnauthorizedOperation', message: 'not you' };

interface Rights {
  readonly reservations?: ReservationReader;
  /** Whether ENIs may be listed. */
  readonly enis?: boolean;
}

/** Of a cluster with one ENIConfig, whose subnet holds a prefix; EC2 answers what the person may read. */
async function gather({
  reservations,
  enis = true,
}: Rights): Promise<GatheredPicture & { readonly told: Ec2Picture }> {
  const { kernel, sim, ec2, subnetId, securityGroupId, run } = createEc2World({ randomAddresses: false });
  must(sim.admin.createForeignEni({ subnetId, prefixCount: 1 }));
  const cluster = createSimCluster({ clock: kernel.clock('cluster'), random: kernel.random });
  const eniConfig: EniConfig = { name: 'a', labels: {}, subnetId, securityGroupIds: [securityGroupId] };
  cluster.admin.applyEniConfig({ name: 'a', spec: { kind: 'Parsed', eniConfig } });
  const reader: Ec2Reader = enis
    ? ec2
    : { ...ec2, describeNetworkInterfaces: () => Promise.resolve(failed(DENIED)) };
  const picture = await run(() =>
    gatherPicture({
      cluster: cluster.client(),
      trouble: () => undefined,
      ec2: { reader, region: 'lab', ...(reservations === undefined ? {} : { reservations }) },
      clock: kernel.clock('tools'),
      settings: {},
    }),
  );
  assert.ok(picture.ok, JSON.stringify(picture));
  assert.ok(typeof picture.value.ec2 !== 'string');
  return { ...picture.value, told: picture.value.ec2 };
}

const reserved = (kept: SubnetReservations): ReservationReader => ({
  describeReservations: (ids) => Promise.resolve(done(new Map(ids.map((id) => [id, kept])))),
});

suite('reservations of subnets', () => {
  test('are not asked for where they do not matter', async () => {
    const { told, unread } = await gather({});
    assert.deepEqual([told.reservations, told.used, unread], [undefined, undefined, []]);
  });

  test('are in the picture, with what all ENIs hold of a subnet that has some for prefixes', async () => {
    const { told, unread } = await gather({ reservations: reserved(HALF) });
    assert.deepEqual([...(told.reservations?.values() ?? [])], [HALF]);
    const [used = []] = [...(told.used?.values() ?? [])];
    assert.equal(used.filter((one) => one.endsWith('/28')).length, 1);
    assert.deepEqual(unread, []);
  });

  test('for named addresses alone need no look at ENIs', async () => {
    const explicit = { prefix: [], explicit: HALF.prefix };
    const { told, unread } = await gather({ reservations: reserved(explicit), enis: false });
    assert.deepEqual([told.used, unread], [undefined, []]);
  });

  test('that may not be read are told of, and the rest is there', async () => {
    const denied = { describeReservations: () => Promise.resolve(failed(DENIED)) };
    const { told, unread } = await gather({ reservations: denied });
    assert.equal(told.subnets.size, 1);
    assert.match(
      unread.join(),
      /^reservations of subnets cannot be read: EC2 refuses: UnauthorizedOperation: not you/,
    );
  });

  test('are there without the right to list ENIs, and what others hold is not', async () => {
    const { told, unread } = await gather({ reservations: reserved(HALF), enis: false });
    assert.deepEqual([told.reservations?.size, told.used], [1, undefined]);
    assert.match(unread.join(), /^network interfaces cannot be read: EC2 refuses: UnauthorizedOperation/);
  });
});
