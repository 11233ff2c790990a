// A full instance makes room for pods that wait: the idle ENI of another pool goes, and no other.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { nthAddress } from '../address/cidr.ts';
import type { Ip } from '../address/ip.ts';
import { intentId, type PodKey, podKey, type SecurityGroupId } from '../ids.ts';
import { sameData } from '../same-data.ts';
import type { Action } from './action.ts';
import { emptyStatus, type NodeNetworkSpec } from './node-network.ts';
import type { EniView, NodeView, PodPool } from './node-view.ts';
import { plan } from './plan.ts';
import {
  addresses,
  cidr,
  eniId,
  nodeView,
  OTHER_SUBNET,
  podEni,
  published,
  settings,
  settled,
  unattached,
} from './testing.ts';

const GROUP = 'sg-0000000000000000b' as SecurityGroupId;
const keys = (namespace: string, count: number): readonly PodKey[] =>
  Array.from({ length: count }, (_, n) => podKey(namespace, `p${n + 1}`));

const chosenPool = (count: number): PodPool => ({
  selection: {
    kind: 'EniConfig',
    name: 'pods-b',
    subnetId: OTHER_SUBNET,
    securityGroupIds: [GROUP],
    source: 'Annotation',
    reason: 'test',
  },
  pods: keys('chosen', count),
});

/** A node with an agent and an EC2 that do at once what they are asked, but for a detach, which takes a round. */
interface World {
  readonly enis: readonly EniView[];
  readonly spec?: NodeNetworkSpec;
  readonly used: ReadonlyMap<PodKey, Ip>;
  readonly withdrawn: readonly Ip[];
  readonly made: number;
  readonly freeInOtherSubnet: number;
}

interface Wants {
  readonly own: number;
  readonly chosen: number;
  readonly targets: NodeView['settings']['targets'];
}

function viewOf(world: World, wants: Wants, round: number): NodeView {
  const base = nodeView({
    pods: keys('default', wants.own),
    settings: { ...settings, targets: wants.targets },
    podPools: wants.chosen === 0 ? [] : [chosenPool(wants.chosen)],
    freshIntentId: intentId(`fresh-${round}`),
  });
  const other = base.subnets.get(OTHER_SUBNET);
  assert.ok(other !== undefined);
  return {
    ...base,
    subnets: new Map([
      ...base.subnets,
      [OTHER_SUBNET, { ...other, freeAddressCount: world.freeInOtherSubnet }],
    ]),
    enis: [...base.enis, ...world.enis],
    ...(world.spec === undefined
      ? {}
      : {
          published: {
            spec: world.spec,
            status: {
              ...emptyStatus,
              used: [...world.used].map(([pod, ip]) => ({ pod, ip })),
              withdrawn: world.withdrawn,
            },
          },
        }),
  };
}

/** The agent: pods get what is offered to them, and what nobody holds is let go of. */
function answer(world: World, spec: NodeNetworkSpec, wants: Wants): World {
  const used = new Map(world.used);
  const held = new Set(used.values());
  const withdrawing = new Set(spec.enis.flatMap((eni) => eni.withdrawing));
  const withdrawn = [...withdrawing].filter((ip) => !held.has(ip));
  const give = (pods: readonly PodKey[], forChosen: boolean): void => {
    const offered = spec.enis
      .filter((eni) => !eni.cordoned && (eni.chosenOnly === true) === forChosen)
      .flatMap((eni) => eni.addresses.filter((ip) => !withdrawing.has(ip)));
    for (const pod of pods) {
      const ip = used.has(pod) ? undefined : offered.find((one) => !held.has(one));
      if (ip === undefined) continue;
      used.set(pod, ip);
      held.add(ip);
    }
  };
  give(keys('default', wants.own), false);
  give(keys('chosen', wants.chosen), true);
  return { ...world, spec, used, withdrawn };
}

function perform(world: World, action: Action): World {
  const changed = (id: EniView['eniId'], change: (eni: EniView) => EniView): World => ({
    ...world,
    enis: world.enis.map((eni) => (eni.eniId === id ? change(eni) : eni)),
  });
  const drawn = (count: number): readonly Ip[] => addresses(1000 + 20 * world.made, count);
  switch (action.do) {
    case 'CreateEni': {
      const { intent } = action;
      const made = podEni(20 + world.made, {
        eniConfig: intent.eniConfig,
        subnetId: intent.subnetId,
        securityGroupIds: intent.securityGroupIds,
        intentId: intent.id,
        addresses: drawn(intent.addressCount),
      });
      return { ...world, made: world.made + 1, enis: [...world.enis, unattached(made)] };
    }
    case 'AttachEni':
      return changed(action.eniId, (eni) => ({ ...podEni(action.deviceIndex), ...eni }));
    case 'AssignAddresses': {
      const after = changed(action.eniId, (eni) => ({
        ...eni,
        addresses: [...eni.addresses, ...drawn(action.count)],
      }));
      return { ...after, made: world.made + 1 };
    }
    case 'UnassignAddresses':
      return changed(action.eniId, (eni) => ({
        ...eni,
        addresses: eni.addresses.filter((ip) => !action.addresses.includes(ip)),
      }));
    case 'DetachEni':
      return changed(action.eniId, (eni) =>
        eni.attachment === undefined
          ? eni
          : { ...eni, attachment: { ...eni.attachment, state: 'detaching' } },
      );
    case 'DeleteEni':
      return { ...world, enis: world.enis.filter((eni) => eni.eniId !== action.eniId) };
    default:
      return world;
  }
}

const arrived = (world: World): World => ({
  ...world,
  enis: world.enis.map((eni) => (eni.attachment?.state === 'detaching' ? unattached(eni) : eni)),
});

interface Settled {
  readonly world: World;
  readonly actions: readonly Action[];
  readonly reasons: ReadonlySet<string>;
}

/** Far above what a node with three ENIs needs. */
const ROUNDS_MAX = 200;

/** Runs until nothing changes any more; fails when that does not come. */
function settle(start: World, wants: Wants): Settled {
  let world = start.spec === undefined ? start : answer(start, start.spec, wants);
  const actions: Action[] = [];
  const reasons = new Set<string>();
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const view = viewOf(world, wants, round);
    const next = plan(view);
    assert.ok(next !== undefined);
    for (const { status, reason } of next.conditions) if (status === 'False') reasons.add(reason);
    const [action] = next.actions;
    const held = new Set(world.used.values());
    if (action?.do === 'DetachEni') {
      const eni = world.enis.find((one) => one.eniId === action.eniId);
      assert.ok(!(eni?.addresses ?? []).some((ip) => held.has(ip)), '[ENI-3] a live address is detached');
    }
    if (!sameData(next.spec, world.spec)) world = answer(world, next.spec, wants);
    else if (action !== undefined) {
      actions.push(action);
      world = perform(world, action);
      assert.ok(world.enis.filter((eni) => eni.attachment !== undefined).length <= 2, '[ENI-1]');
    } else if (world.enis.some((eni) => eni.attachment?.state === 'detaching')) world = arrived(world);
    else return { world, actions, reasons };
  }
  assert.fail(
    `not at rest: ${actions
      .slice(-8)
      .map((one) => `${one.do} ${one.because}`)
      .join()}`,
  );
}

const NOTHING: World = { enis: [], used: new Map(), withdrawn: [], made: 0, freeInOtherSubnet: 1000 };
const oneSpareEni = { warmEni: 1 };

const servedOf = ({ world }: Settled, namespace: string): number =>
  [...world.used.keys()].filter((pod) => pod.startsWith(`${namespace}/`)).length;

describe('[POD-7] an idle ENI makes room for pods that wait', () => {
  it('a pod chooses on a node whose ENIs all serve everybody: the idle one goes, and the pod runs', () => {
    const before = settle(NOTHING, { own: 3, chosen: 0, targets: oneSpareEni });
    assert.equal(before.world.enis.length, 2, 'the pool holds an ENI of its own and a spare one');
    const after = settle(before.world, { own: 3, chosen: 1, targets: oneSpareEni });
    assert.equal(servedOf(after, 'chosen'), 1);
    assert.equal(servedOf(after, 'default'), 3);
    assert.deepEqual(
      after.actions.map((one) => one.do),
      ['DetachEni', 'DeleteEni', 'CreateEni', 'AttachEni'],
    );
    assert.equal(
      after.actions[0]?.because,
      `no pod holds an address of ${eniId(21)} and pods of another ENIConfig wait for its place on the instance`,
    );
    assert.deepEqual([...after.reasons], [], 'while room is being made nothing is called full');
  });

  it('the warm pool comes back once the last of them is gone', () => {
    const chosen = settle(NOTHING, { own: 3, chosen: 1, targets: oneSpareEni });
    const used = new Map([...chosen.world.used].filter(([pod]) => pod.startsWith('default/')));
    const after = settle({ ...chosen.world, used }, { own: 3, chosen: 0, targets: oneSpareEni });
    assert.deepEqual(
      after.world.enis.map((eni) => eni.eniConfig),
      ['pods-a', 'pods-a'],
    );
  });

  it('none is given up when pods hold addresses of each, and that is said', () => {
    const before = settle(NOTHING, { own: 11, chosen: 0, targets: { warmEni: 0, warmIp: 1 } });
    const after = settle(before.world, { own: 11, chosen: 1, targets: { warmEni: 0, warmIp: 1 } });
    assert.deepEqual(after.actions, []);
    assert.deepEqual([...after.reasons], ['InstanceFull']);
  });

  it('none is given up for pods whose subnet is full: it would come and go for ever', () => {
    const before = settle(NOTHING, { own: 3, chosen: 0, targets: oneSpareEni });
    const after = settle(
      { ...before.world, freeInOtherSubnet: 1 },
      { own: 3, chosen: 1, targets: oneSpareEni },
    );
    assert.deepEqual(after.actions, []);
    assert.deepEqual([...after.reasons], ['InstanceFull']);
  });

  it('none is given up that pods of its own pool are about to need', () => {
    const before = settle(NOTHING, { own: 9, chosen: 0, targets: oneSpareEni });
    assert.equal(before.world.enis.length, 2);
    const bound = viewOf(before.world, { own: 12, chosen: 1, targets: oneSpareEni }, ROUNDS_MAX);
    assert.deepEqual(
      plan(bound)?.spec.enis.map((eni) => eni.cordoned),
      [false, false, false],
    );
  });

  it('an ENI with a prefix is given up with all of it', () => {
    const [first, second] = [cidr('10.1.3.0/28'), cidr('10.1.3.16/28')];
    const base = nodeView({
      podEnis: [podEni(1, { prefixes: [first] }), podEni(2, { prefixes: [second] })],
      settings: { ...settings, mode: 'Prefix', targets: { warmEni: 0, warmPrefix: 1 } },
      pods: keys('default', 1),
    });
    const used = { pod: podKey('default', 'p1'), ip: nthAddress(first, 3) };
    const before = published(settled(published(base, { used: [used] })), { used: [used] });
    const next = plan({ ...before, podPools: [chosenPool(1)] });
    assert.deepEqual(
      next?.spec.enis.map((eni) => [eni.cordoned, eni.withdrawing.length]),
      [
        [false, 0],
        [false, 0],
        [true, 16],
      ],
    );
    assert.equal(next?.isMakingRoom, true);
  });

  it('comes to rest whatever pods come and go, and no live address is ever detached', () => {
    const count = fc.nat(14);
    const targets = fc.constantFrom<Wants['targets']>(
      oneSpareEni,
      { warmEni: 0 },
      { warmEni: 1, warmIp: 4 },
      { warmEni: 0, minimumIp: 12, warmIp: 2 },
      { warmEni: 2, maxEni: 2 },
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(count, count), { minLength: 1, maxLength: 5 }),
        targets,
        (steps, wanted) => {
          let world = NOTHING;
          for (const [own, chosen] of steps) {
            const kept = new Set([...keys('default', own), ...keys('chosen', chosen)]);
            const used = new Map([...world.used].filter(([pod]) => kept.has(pod)));
            const next = settle({ ...world, used }, { own, chosen, targets: wanted });
            world = next.world;
            const idle = world.enis.filter(
              (eni) => !eni.addresses.some((ip) => [...used.values(), ...world.used.values()].includes(ip)),
            );
            const isWaiting = servedOf(next, 'chosen') < chosen || servedOf(next, 'default') < own;
            assert.ok(
              !isWaiting || idle.length === 0,
              `pods wait beside idle ${idle.map(({ eniId: id }) => id).join()}`,
            );
          }
        },
      ),
      { seed: 20_263, numRuns: 300 },
    );
  });
});
