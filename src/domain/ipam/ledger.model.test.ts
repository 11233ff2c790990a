// Random lives of one node against a controller that obeys the handshake, checked against the world's own truth.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Ip } from '../address/ip.ts';
import { nthAddress } from '../address/cidr.ts';
import { cidr } from '../address/testing.ts';
import { allocate } from './allocate.ts';
import { applyRecord, compact, ledgerFrom } from './apply-record.ts';
import { emptyLedger, type JournalRecord, type Ledger } from './ledger.ts';
import type { SpecEni } from './node-network.ts';
import { allocation, rested, sandbox, specEni } from './testing-node.ts';
import { answerWithdrawals, forgettable, judgeSpec } from './withdrawal.ts';

const SEED = 20_260_101;
const RUN_COUNT = 5000;
const COOLDOWN_MS = 30_000;
const ADDRESS_COUNT = 3;
const POD_COUNT = 2;
const ADDRESSES = Array.from({ length: ADDRESS_COUNT }, (_, n) => nthAddress(cidr('10.1.0.0/24'), n + 4));

interface Published {
  readonly uid: string;
  readonly generation: number;
  readonly granted: readonly Ip[];
  readonly withdrawing: readonly Ip[];
}

/** The truth: what EC2 has assigned, which pod lives where, and every spec that was ever published. */
interface World {
  now: number;
  readonly assigned: Set<Ip>;
  readonly live: Map<string, Ip>;
  readonly releasedAt: Map<Ip, number>;
  readonly specs: Published[];
  /** status.withdrawn as the API server has it. */
  statusWithdrawn: readonly Ip[];
}

/** The node under test: its journal, and the ledger that it keeps of it. */
interface Node {
  ledger: Ledger;
  journal: JournalRecord[];
  spec: Published | undefined;
}

const latest = (world: World): Published => world.specs.at(-1) as Published;
const eniOf = (spec: Published): readonly SpecEni[] => [
  specEni({ addresses: spec.granted, withdrawing: spec.withdrawing }),
];

function commit(node: Node, record: JournalRecord): void {
  node.journal.push(record);
  node.ledger = applyRecord(node.ledger, record);
}

/** The controller never grants what the status still lists as let go, unless to say that it asked for it. */
function publish(world: World, change: Partial<Published>): void {
  const next = { ...latest(world), generation: latest(world).generation + 1, ...change };
  const granted = next.granted.filter(
    (ip) => !world.statusWithdrawn.includes(ip) || next.withdrawing.includes(ip),
  );
  world.specs.push({ ...next, granted });
}

type Step = fc.Command<World, Node>;
const step = (name: string, run: (world: World, node: Node) => void): Step => ({
  check: () => true,
  run,
  toString: () => name,
});

const addPod = (pod: number): Step =>
  step(`ADD p${pod}`, (world, node) => {
    if (node.spec === undefined) return;
    const result = allocate({
      ledger: node.ledger,
      enis: eniOf(node.spec),
      families: ['IPv4'],
      routed: new Set(ADDRESSES),
      sandbox: sandbox(`p${pod}`),
    });
    if (!result.ok) return;
    const before = world.live.get(`p${pod}`);
    if (result.value.kind === 'Existing') {
      assert.equal(
        result.value.allocation.addresses[0],
        before,
        'CNI-2: a second ADD answers the first address',
      );
      return;
    }
    const ip = result.value.addresses[0]!;
    assert.equal(before, undefined, 'CNI-2: a pod gets no second address');
    assert.ok(![...world.live.values()].includes(ip), `IP-1: ${ip} is live twice`);
    assert.ok(
      world.now - (world.releasedAt.get(ip) ?? -COOLDOWN_MS) >= COOLDOWN_MS,
      `IP-5: ${ip} still rests`,
    );
    assert.ok(!world.statusWithdrawn.includes(ip), `IP-6: ${ip} is in status.withdrawn`);
    assert.ok(world.assigned.has(ip), `IP-2: ${ip} is not assigned`);
    commit(node, { type: 'Allocated', at: world.now, allocation: allocation(`p${pod}`, ip) });
    world.live.set(`p${pod}`, ip);
  });

const deletePod = (pod: number): Step =>
  step(`DEL p${pod}`, (world, node) => {
    const ip = world.live.get(`p${pod}`);
    if (ip === undefined) return;
    world.live.delete(`p${pod}`);
    world.releasedAt.set(ip, world.now);
    commit(node, {
      type: 'Released',
      at: world.now,
      bootAt: world.now,
      sandbox: sandbox(`p${pod}`),
      addresses: [ip],
    });
  });

const passTime = (ms: number): Step =>
  step(`${ms} ms pass`, (world, node) => {
    world.now += ms;
    const over = [...node.ledger.cooling].filter(([, at]) => world.now - at >= COOLDOWN_MS).map(([ip]) => ip);
    commit(node, rested(over));
  });

/** The agent reads a spec, maybe one of long ago, and answers it. */
const seeSpec = (back: number): Step =>
  step(`agent sees the spec ${back} back`, (world, node) => {
    const spec = world.specs.at(-1 - back) ?? latest(world);
    // Uids have no order: an object that was replaced before the agent ever saw it could not be told from a new one.
    const seen = [...node.ledger.formerUids, node.ledger.spec?.uid, latest(world).uid];
    if (!seen.includes(spec.uid)) return;
    const verdict = judgeSpec(node.ledger, spec);
    if (verdict === 'Stale') return;
    if (verdict === 'Newer') commit(node, { type: 'SpecSeen', at: world.now, spec });
    node.spec = spec;
    for (const ip of forgettable(node.ledger, { enis: eniOf(spec), generation: spec.generation })) {
      commit(node, { type: 'Forgotten', at: world.now, ip });
    }
    for (const ip of answerWithdrawals(node.ledger, eniOf(spec))) {
      commit(node, { type: 'Withdrawn', at: world.now, ip, generation: spec.generation });
    }
  });

/** The write carries a resourceVersion, so it lands only on the spec that it answers. */
const writeStatus: Step = step('agent writes its status', (world, node) => {
  if (node.spec === latest(world)) world.statusWithdrawn = [...node.ledger.withdrawn.keys()];
});

const crash: Step = step('agent restarts', (_world, node) => {
  node.ledger = ledgerFrom(node.journal);
  node.spec = undefined;
});

const compactJournal: Step = step('agent compacts its journal', (world, node) => {
  node.journal = [...compact(node.ledger, world.now)];
});

const ask = (n: number): Step =>
  step(`controller asks for address ${n}`, (world) => {
    const ip = ADDRESSES[n] as Ip;
    const { granted, withdrawing } = latest(world);
    if (granted.includes(ip) && !withdrawing.includes(ip))
      publish(world, { withdrawing: [...withdrawing, ip] });
  });

/** Only before the answer is in the object: afterwards the controller's write conflicts, and it sees the answer. */
const takeBack = (n: number): Step =>
  step(`controller takes the wish for ${n} back`, (world) => {
    const ip = ADDRESSES[n] as Ip;
    const { withdrawing } = latest(world);
    if (!withdrawing.includes(ip) || world.statusWithdrawn.includes(ip)) return;
    publish(world, { withdrawing: withdrawing.filter((one) => one !== ip) });
  });

const unassign: Step = step('controller unassigns what was let go', (world) => {
  const { granted, withdrawing } = latest(world);
  const going = withdrawing.filter((ip) => world.statusWithdrawn.includes(ip));
  if (going.length === 0) return;
  for (const ip of going) {
    assert.ok(![...world.live.values()].includes(ip), `IP-2: ${ip} is taken from a live pod`);
    world.assigned.delete(ip);
  }
  publish(world, {
    granted: granted.filter((ip) => !going.includes(ip)),
    withdrawing: withdrawing.filter((ip) => !going.includes(ip)),
  });
});

const grow = (n: number): Step =>
  step(`controller grants address ${n}`, (world) => {
    const ip = ADDRESSES[n] as Ip;
    world.assigned.add(ip);
    const { granted } = latest(world);
    if (!granted.includes(ip) && !world.statusWithdrawn.includes(ip))
      publish(world, { granted: [...granted, ip] });
  });

/** Somebody deletes the object; the controller makes it anew from what EC2 has, with an empty status. */
const remake: Step = step('the NodeNetwork is made anew', (world) => {
  const uid = `uid-${world.specs.length}`;
  const granted = [...world.assigned];
  world.specs.push({ uid, generation: 1, granted, withdrawing: [] });
  world.statusWithdrawn = [];
});

/** Several steps as one, so that short lives reach the far end of the handshake. */
const inOrder = (name: string, steps: readonly Step[]): Step =>
  step(name, (world, node) => {
    for (const one of steps) one.run(world, node);
  });

const askAndAnswer = (n: number): Step =>
  inOrder(`address ${n} is asked for and answered`, [ask(n), seeSpec(0), writeStatus]);

const close: Step = inOrder('the withdrawal is closed', [unassign, seeSpec(0), writeStatus]);

const regrant = (n: number): Step => inOrder(`address ${n} is granted and seen`, [grow(n), seeSpec(0)]);

test('whatever happens in whatever order, no address is shared, reused too early, or used after it was let go [IP-1] [IP-2] [IP-5] [IP-6] [CNI-2]', () => {
  const pod = fc.integer({ min: 0, max: POD_COUNT - 1 });
  const address = fc.integer({ min: 0, max: ADDRESS_COUNT - 1 });
  const steps = fc.commands(
    [
      pod.map(addPod),
      pod.map(deletePod),
      fc.constantFrom(1_000, 29_999, 30_000).map(passTime),
      fc.nat({ max: 3 }).map((back) => seeSpec(back)),
      fc.constant(seeSpec(0)),
      fc.constant(writeStatus),
      fc.constant(crash),
      fc.constant(compactJournal),
      address.map(ask),
      address.map(askAndAnswer),
      fc.constant(close),
      address.map(regrant),
      address.map(takeBack),
      fc.constant(unassign),
      address.map(grow),
      fc.constant(remake),
    ],
    { maxCommands: 60, size: 'max' },
  );
  let withdrawnCount = 0;
  fc.assert(
    fc.property(steps, (commands) => {
      const world: World = {
        now: 1_000_000,
        assigned: new Set(ADDRESSES),
        live: new Map(),
        releasedAt: new Map(),
        specs: [{ uid: 'uid-0', generation: 1, granted: ADDRESSES, withdrawing: [] }],
        statusWithdrawn: [],
      };
      const node: Node = { ledger: emptyLedger, journal: [], spec: undefined };
      fc.modelRun(() => ({ model: world, real: node }), commands);
      withdrawnCount += node.ledger.withdrawn.size;
      const held = [...node.ledger.allocations.values()];
      assert.deepEqual(
        new Map(held.map((one) => [one.sandbox.containerId, one.addresses[0]])),
        world.live,
        'the ledger holds exactly the live pods',
      );
    }),
    { seed: SEED, numRuns: RUN_COUNT },
  );
  assert.ok(withdrawnCount > 0, 'the runs were interesting: addresses were let go');
});
