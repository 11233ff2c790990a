// The simulated EC2 under random lives: its own rules hold, and a seed is a run.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as macrotask } from 'node:timers/promises';
import * as fc from 'fast-check';
import type { Cidr } from '../../domain/address/ip.ts';
import type { AttachmentId, EniId, SubnetId } from '../../domain/ids.ts';
import type { Ec2 } from '../../ports/ec2.ts';
import { randomInt } from '../../ports/random.ts';
import { createKernel } from '../kernel/kernel.ts';
import { calmEc2, type Ec2Profile } from './ec2-profile.ts';
import { createSimEc2, type SimEc2 } from './sim-ec2.ts';
import { createSmallAccount, must, type SmallAccount } from './testing.ts';

const drain = (): Promise<void> => macrotask();

/** Everything goes wrong at once. */
const WILD: Partial<Ec2Profile> = {
  attachSlowOdds: 0.2,
  detachStuckOdds: 0.2,
  detachStuckMs: 60_000,
  throttleOdds: 0.1,
  serverErrorOdds: 0.1,
  lostRequestOdds: 0.1,
  lostAnswerOdds: 0.2,
  staleOdds: 0.5,
  notFoundOdds: 0.3,
  otherSpendersPerSecond: 1,
};

const COMMANDS = [
  'create',
  'attach',
  'assign',
  'unassign',
  'assign-prefixes',
  'unassign-prefixes',
  'detach',
  'delete',
  'describe',
  'launch',
  'terminate',
  'occupy',
  'vacate',
  'fragment',
  'defragment',
  'reserve',
  'foreign',
  'person-detach',
  'person-delete',
] as const;

interface Step {
  readonly command: (typeof COMMANDS)[number];
  readonly waitMs: number;
  /** Chooses which ENI or instance, and how many. */
  readonly which: number;
}

interface World {
  readonly sim: SimEc2;
  readonly ec2: Ec2;
  readonly account: SmallAccount;
}

/** What people do; refusals are as good as anything here. */
function performAsPerson({ sim, account }: World, { command, which }: Step): void {
  const { admin, truth } = sim;
  const eniId = pickFrom(truth.enis(), which)?.eniId;
  const instanceId = pickFrom(truth.instances(), which)?.instanceId ?? account.instanceId;
  const subnetId = subnetOf(account, which);
  if (command === 'launch') {
    admin.launchInstance({ instanceType: 'm5.large', subnetId, securityGroupIds: [] });
  }
  if (command === 'terminate') admin.terminateInstance(instanceId);
  if (command === 'occupy') must(admin.occupyAddresses(subnetId, which % 20));
  if (command === 'fragment') must(admin.fragmentSubnet(subnetId));
  if (command === 'defragment') must(admin.defragmentSubnet(subnetId));
  if (command === 'reserve')
    admin.reserveForPrefixes(account.subnetId, `10.0.1.${16 * (which % 8)}/28` as Cidr);
  if (command === 'vacate') must(admin.vacateAddresses(subnetId, which % 20));
  if (command === 'foreign') admin.createForeignEni({ subnetId, instanceId });
  if (command === 'person-detach' && eniId !== undefined) admin.detachEni(eniId);
  if (command === 'person-delete' && eniId !== undefined) admin.deleteEni(eniId);
}

/** Starts the call and does not wait for its answer, so that calls overlap. */
function call({ sim, ec2, account }: World, { command, which }: Step): void {
  const eni = pickFrom(sim.truth.enis(), which);
  const eniId = eni?.eniId ?? ('eni-0123456789abcdef0' as EniId);
  const instanceId = pickFrom(sim.truth.instances(), which)?.instanceId ?? account.instanceId;
  if (command === 'create') {
    void ec2.createNetworkInterface({
      clientToken: `token-${which % 5}`,
      subnetId: subnetOf(account, which),
      securityGroupIds: [account.securityGroupId],
      secondaryAddressCount: which % 3 === 0 ? 0 : which % 11,
      prefixCount: which % 3 === 0 ? which % 4 : 0,
      ipv6PrefixCount: which % 7 === 0 ? 1 : 0,
      description: '',
      tags: {},
    });
  }
  if (command === 'attach') {
    void ec2.attachNetworkInterface({ eniId, instanceId, deviceIndex: which % 4, networkCardIndex: 0 });
  }
  if (command === 'assign') void ec2.assignPrivateIpAddresses({ eniId, count: which % 4 });
  if (command === 'unassign') {
    void ec2.unassignPrivateIpAddresses({ eniId, addresses: eni?.addresses.slice(0, which % 3) ?? [] });
  }
  if (command === 'assign-prefixes') {
    void ec2.assignPrefixes({ eniId, family: which % 5 === 0 ? 6 : 4, count: which % 4 });
  }
  if (command === 'unassign-prefixes') {
    const prefixes = (which % 5 === 0 ? eni?.ipv6Prefixes : eni?.prefixes) ?? [];
    void ec2.unassignPrefixes({ eniId, prefixes: prefixes.slice(0, which % 3) });
  }
  if (command === 'detach') {
    const attachmentId = eni?.attachment?.attachmentId ?? ('eni-attach-0123456789abcdef0' as AttachmentId);
    void ec2.detachNetworkInterface({ attachmentId });
  }
  if (command === 'delete') void ec2.deleteNetworkInterface({ eniId });
  if (command === 'describe') void ec2.describeNetworkInterfaces({ instanceIds: [instanceId] });
}

const pickFrom = <T>(items: readonly T[], which: number): T | undefined => items[which % items.length];

const subnetOf = (account: SmallAccount, which: number): SubnetId =>
  pickFrom([account.subnetId, account.smallSubnetId, account.otherZoneSubnetId], which) ?? account.subnetId;

/** Runs the steps; answers the trace hash and the first broken rule. */
async function live(
  steps: readonly Step[],
  seed: number,
): Promise<{ hash: string; broken: string | undefined }> {
  const kernel = createKernel({ seed, randomTies: true });
  const sim = createSimEc2({
    clock: kernel.clock('ec2'),
    random: kernel.random.fork('ec2'),
    profile: () => ({ ...calmEc2, ...WILD }),
  });
  const world = { sim, ec2: sim.client(), account: createSmallAccount(sim) };
  const person = kernel.clock('person');
  let at = 0;
  for (const step of steps) {
    at += step.waitMs;
    person.timer(at, step.command, () => {
      call(world, step);
      performAsPerson(world, step);
    });
  }
  const end = await kernel.run({
    untilMs: kernel.now() + at + 300_000,
    drain,
    check: () => sim.truth.brokenRules()[0],
  });
  return { hash: kernel.traceHash(), broken: end.kind === 'Broken' ? end.rule : undefined };
}

describe('[IP-3] [IP-4] [ENI-1] [ENI-4] the simulated EC2 keeps its own rules', () => {
  test('under any calls, overlapping and lost, and whatever people do', async () => {
    const step = fc.record({
      command: fc.constantFrom(...COMMANDS),
      waitMs: fc.nat({ max: 2000 }),
      which: fc.nat({ max: 1000 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 120 }), fc.nat(), async (steps, seed) => {
        assert.equal((await live(steps, seed)).broken, undefined);
      }),
      { seed: 4711, numRuns: 60 },
    );
  });

  test('and does the same twice from the same seed', async () => {
    const random = createKernel({ seed: 99 }).random.fork('steps');
    const steps = Array.from({ length: 300 }, (): Step => {
      const command = COMMANDS[randomInt(random, COMMANDS.length)] as Step['command'];
      return { command, waitMs: randomInt(random, 1000), which: randomInt(random, 1000) };
    });
    const first = await live(steps, 7);
    assert.deepEqual(await live(steps, 7), first);
    assert.notEqual((await live(steps, 8)).hash, first.hash);
  });
});
