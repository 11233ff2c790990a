// The table of faults, the profiles drawn from it, and what people do by it.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as macrotask } from 'node:timers/promises';
import type { Cidr } from '../../domain/address/ip.ts';
import { createSimEc2 } from '../ec2/sim-ec2.ts';
import { createKernel } from '../kernel/kernel.ts';
import { seededRandom } from '../kernel/seeded-random.ts';
import { calm, createFaultDial, demo, type FaultProfile } from './fault-profile.ts';
import { describeFaults, drawProfile, parseFaults, withoutFault } from './fault-rows.ts';
import { FAULT_ROWS, faultName } from './fault-table.ts';
import { startMischief } from './mischief.ts';

const drain = (): Promise<void> => macrotask();
const profiles = (count: number): FaultProfile[] =>
  Array.from({ length: count }, (_, seed) => drawProfile(seededRandom(seed)));

describe('fault profiles', () => {
  test('calm has no fault; demo has none either', () => {
    assert.deepEqual(describeFaults(calm), []);
    assert.deepEqual(
      describeFaults(demo).filter((fault) => fault.includes('Odds') || fault.includes('PerHour')),
      [],
    );
  });

  test('the same seed draws the same profile, another seed another', () => {
    assert.deepEqual(drawProfile(seededRandom(3)), drawProfile(seededRandom(3)));
    assert.notDeepEqual(drawProfile(seededRandom(3)), drawProfile(seededRandom(4)));
  });

  test('over many runs every row is on in some and, unless it is a mere size, off in some', () => {
    const runs = profiles(200).map((profile) => describeFaults(profile).map((text) => text.split('=')[0]));
    for (const row of FAULT_ROWS) {
      const onCount = runs.filter((names) => names.includes(faultName(row))).length;
      assert.ok(onCount > 0, `${faultName(row)} is never on`);
      if (row.runOdds < 1) assert.ok(onCount < runs.length, `${faultName(row)} is always on`);
    }
  });

  test('rows are named once, and their odds are odds', () => {
    const names = FAULT_ROWS.map(faultName);
    assert.equal(new Set(names).size, names.length);
    for (const row of FAULT_ROWS) {
      assert.ok(row.draws.length > 0 && row.runOdds > 0 && row.runOdds <= 1, faultName(row));
      if (row.unit === 'odds') for (const odds of row.draws) assert.ok(Number(odds) > 0 && Number(odds) <= 1);
    }
  });

  test('switching every fault off one by one ends in calm', () => {
    const profile = drawProfile(seededRandom(11));
    assert.notDeepEqual(profile, calm);
    assert.deepEqual(FAULT_ROWS.map(faultName).reduce(withoutFault, profile), calm);
  });

  test('a profile survives being written down and read; what is no fault, or has no value, is refused', () => {
    const profile = drawProfile(seededRandom(11));
    assert.deepEqual(parseFaults(describeFaults(profile)), { ok: true, value: profile });
    assert.deepEqual(parseFaults([]), { ok: true, value: calm });
    for (const text of ['ec2.typoOdds=1', 'ec2.staleOdds', 'ec2.staleOdds=often', 'ec2.stalePerObject=1']) {
      assert.equal(parseFaults([text]).ok, false, text);
    }
  });

  test('the dial changes what the worlds read', () => {
    const dial = createFaultDial(drawProfile(seededRandom(11)));
    dial.set(calm);
    assert.equal(dial.ec2(), calm.ec2);
    assert.equal(dial.cluster(), calm.cluster);
  });
});

test('mischief fills subnets, takes permissions and plugs foreign ENIs, and a calm hour later nothing of it is left', async () => {
  const kernel = createKernel({ seed: 5 });
  const ec2 = createSimEc2({
    clock: kernel.clock('ec2'),
    random: kernel.random.fork('ec2'),
    profile: () => calm.ec2,
  });
  const vpc = ec2.admin.createVpc({ cidrs: ['10.0.0.0/16' as Cidr] });
  assert.ok(vpc.ok);
  const subnet = ec2.admin.createSubnet({ vpcId: vpc.value.vpcId, zone: 'a', cidr: '10.0.0.0/24' as Cidr });
  assert.ok(subnet.ok);
  ec2.admin.setInstanceLimits([
    {
      instanceType: 'm5.large',
      eniMax: 3,
      ipv4PerEniMax: 10,
      ipv6PerEniMax: 10,
      networkCardCount: 1,
      hypervisor: 'nitro',
      vcpuCount: 2,
    },
  ]);
  assert.ok(
    ec2.admin.launchInstance({
      instanceType: 'm5.large',
      subnetId: subnet.value.subnetId,
      securityGroupIds: [],
    }).ok,
  );
  let person = { ...calm.person, subnetFillingsPerHour: 30, foreignEnisPerHour: 30 };
  startMischief({
    clock: kernel.clock('person'),
    random: kernel.random.fork('person'),
    ec2,
    profile: () => person,
  });
  const kinds = new Set<string>();
  ec2.onChange((change) => kinds.add(change.kind));
  const start = kernel.now();
  const check = (): string | undefined => ec2.truth.brokenRules()[0];
  await kernel.run({ untilMs: start + 3_600_000, drain, check });
  assert.ok(kinds.has('SubnetChanged') && kinds.has('AttachmentChanged'), [...kinds].join());
  person = calm.person;
  assert.equal((await kernel.run({ untilMs: start + 7_200_000, drain, check })).kind, 'TimeUp');
  assert.equal(ec2.truth.subnets()[0]?.freeAddressCount, 250);
  assert.equal(ec2.truth.enis().length, 1);
});
