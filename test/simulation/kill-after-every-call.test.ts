// The controller killed after each single call that it makes to EC2 or to the API server, and started anew: whatever it
// was at, nothing is leaked, nothing is allocated twice, and the story ends as if nothing had happened.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as macrotask } from 'node:timers/promises';
import type { NodeName, PodKey } from '../../src/domain/ids.ts';
import { INTENT_TAG, OWNER_TAG } from '../../src/domain/ipam/tags.ts';
import { podAddresses } from '../../src/lab/ec2/pod-addresses.ts';
import type { Ec2Change } from '../../src/lab/ec2/region.ts';
import type { Ec2Eni } from '../../src/ports/ec2.ts';
import {
  createFleet,
  type Fleet,
  NODES_GROUP,
  OTHER_ENI_CONFIG,
  POD_SUBNET,
  PODS_GROUP,
} from '../../src/lab/scenario/simulation/fleet.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
/** A killed controller is started again after so long. */
const RESTART_MS = 2_000;
const ENV = { IP_COOLDOWN_PERIOD: '5', ENIWHERE_EXCESS_HOLD_SECONDS: '5' };
/** More calls than the story takes: past it something goes in circles. */
const CALLS_MAX = 200;

/** `Unheard`: the call takes effect, and its answer comes to nobody. `Heard`: the answer is heard, and then nothing more. */
type Death = 'Unheard' | 'Heard';

const EC2_WRITES = [
  'createNetworkInterface',
  'attachNetworkInterface',
  'setDeleteOnTermination',
  'setSecurityGroups',
  'assignPrivateIpAddresses',
  'unassignPrivateIpAddresses',
  'detachNetworkInterface',
  'deleteNetworkInterface',
] as const;
const API_WRITES = [
  'createNodeNetwork',
  'updateNodeNetworkSpec',
  'updateNodeNetworkStatus',
  'deleteNodeNetwork',
  'updateEniConfigStatus',
] as const;

type Call = (...request: never[]) => Promise<unknown>;

interface Killer {
  /** Names of the calls so far, in their order, of all lives. */
  readonly calls: readonly string[];
  readonly killedAfter: string | undefined;
}

/** Starts a controller that dies after its call number `killAt`, once; the next life lives on. */
function startMortal(fleet: Fleet, killAt: number, death: Death): Killer {
  const calls: string[] = [];
  const killer = { calls, killedAfter: undefined as string | undefined };
  const world = fleet.kernel.clock('world');
  const die = (): void => {
    fleet.killController();
    world.timer(RESTART_MS, 'controller restart', start);
  };
  /** `beyond` makes the same call by a clock that outlives the controller. */
  const cut = <Names extends string, Port extends Record<Names, Call>>(
    port: Port,
    beyond: Port,
    names: readonly Names[],
  ): Port => {
    const wrapped = names.map((name) => {
      const call = async (...request: never[]): Promise<unknown> => {
        calls.push(name);
        if (calls.length !== killAt) return port[name](...request);
        killer.killedAfter = name;
        const outcome = await (death === 'Unheard' ? beyond : port)[name](...request);
        if (death === 'Heard') {
          world.timer(0, 'controller dies', die);
          return outcome;
        }
        die();
        return new Promise(() => undefined);
      };
      return [name, call] as const;
    });
    return { ...port, ...Object.fromEntries(wrapped) };
  };
  const start = (): void =>
    fleet.startController(ENV, {
      ec2: (ec2) => cut(ec2, fleet.ec2.client({ name: 'controller' }), EC2_WRITES),
      cluster: (cluster) => cut(cluster, fleet.cluster.client(), API_WRITES),
    });
  start();
  return killer;
}

const ownEnis = ({ ec2 }: Fleet): readonly Ec2Eni[] =>
  ec2.truth.enis().filter((eni) => OWNER_TAG in eni.tags);

/** Watches every change of EC2 for what must never happen; answers what did. */
function watchForHarm({ ec2, cluster }: Fleet): readonly string[] {
  const harm: string[] = [];
  const madeFor = new Map<string, string>(); // intent -> its ENI
  const heldBy = (addresses: readonly string[]): readonly string[] =>
    cluster.admin.list('NodeNetwork').flatMap(({ status }) => {
      const held = [...status.used.map(({ ip }) => ip), ...status.cooling];
      return held.filter((ip) => addresses.includes(ip));
    });
  const look = (change: Ec2Change): void => {
    if (!change.actor.startsWith('controller')) return;
    if (change.kind === 'EniCreated') {
      const intent = change.eni.tags[INTENT_TAG] ?? '';
      if (madeFor.has(intent)) harm.push(`[ENI-6] intent ${intent} made ${change.eni.eniId} too`);
      madeFor.set(intent, change.eni.eniId);
    }
    const isLeaving = change.kind === 'AttachmentChanged' && change.status === 'detaching';
    const taken =
      change.kind === 'AddressesChanged' ? change.unassigned : isLeaving ? podAddresses(change.eni) : [];
    for (const ip of heldBy(taken)) harm.push(`[ENI-3] ${ip} was taken from under a pod: ${change.kind}`);
  };
  ec2.onChange(look);
  return harm;
}

/** Every address in use once, on an ENI that is attached to the pod's node. */
function checkAllocations({ ec2, cluster }: Fleet, pods: readonly PodKey[]): void {
  const used = cluster.admin
    .list('NodeNetwork')
    .flatMap(({ spec, status }) =>
      status.used.map(({ ip, pod }) => ({ ip, pod, instanceId: spec.instance.instanceId })),
    );
  assert.equal(new Set(used.map(({ ip }) => ip)).size, used.length, '[IP-1] no address serves two pods');
  assert.deepEqual(new Set(used.map(({ pod }) => pod)), new Set(pods), '[LV-1] every pod is served');
  for (const { ip, instanceId } of used) {
    const holder = ec2.truth.enisOf(instanceId).find((eni) => eni.addresses.includes(ip));
    assert.equal(holder?.status, 'in-use', `[IP-2] ${ip} is on an ENI of its node`);
  }
}

/** Nothing of ours but what the node has published, and nothing under way. */
function checkNoLeaks(fleet: Fleet, node: NodeName): void {
  const record = fleet.cluster.admin.nodeNetwork(node);
  assert.deepEqual(record?.spec.intents, [], '[LV-3] no intent is open');
  const published = record.spec.enis.filter((eni) => !eni.primary).map((eni) => eni.eniId);
  assert.deepEqual(
    new Set(ownEnis(fleet).map((eni) => eni.eniId)),
    new Set(published),
    '[ENI-5] every own ENI is the node’s',
  );
  for (const eni of ownEnis(fleet)) {
    assert.equal(eni.attachment?.deleteOnTermination, true, `${eni.eniId} goes with its instance`);
    const granted: readonly string[] | undefined = record.spec.enis.find(
      (one) => one.eniId === eni.eniId,
    )?.addresses;
    assert.deepEqual(new Set(granted), new Set(eni.addresses), 'every address is granted');
  }
}

/** Node joins, pods come and go, groups and subnet change, node goes. */
async function play(fleet: Fleet, node: ReturnType<Fleet['launch']>): Promise<void> {
  const { admin } = fleet.cluster;
  const pods: PodKey[] = [];
  const start = (count: number): void => {
    for (let n = 0; n < count; n += 1) pods.push(fleet.startPod(`p${pods.length + 1}`, node.name));
  };
  const settle = async (ms: number): Promise<void> => {
    await fleet.run(ms);
    const living = pods.filter((pod) => admin.get('Pod', pod) !== undefined);
    checkAllocations(fleet, living);
    checkNoLeaks(fleet, node.name);
  };
  fleet.join(node);
  start(6);
  await settle(4 * MINUTE_MS);
  // A second ENI.
  start(8);
  await settle(4 * MINUTE_MS);
  assert.equal(ownEnis(fleet).length, 2);
  // Withdrawn and unassigned, or a whole ENI given back: it depends on where the last two pods live.
  for (const pod of pods.slice(0, 12)) fleet.deletePod(pod);
  await settle(6 * MINUTE_MS);
  const held = ownEnis(fleet).reduce((sum, eni) => sum + eni.addresses.length, 0);
  assert.equal(held, 3, 'two pods and one warm');
  const eniConfig = {
    name: 'z-a',
    labels: {},
    subnetId: POD_SUBNET,
    securityGroupIds: [PODS_GROUP, NODES_GROUP],
  };
  admin.applyEniConfig({ name: 'z-a', spec: { kind: 'Parsed', eniConfig } });
  await settle(3 * MINUTE_MS);
  assert.deepEqual(ownEnis(fleet)[0]?.securityGroupIds, eniConfig.securityGroupIds);
  // Another subnet: a new ENI, and the old one is given back once its last pod is gone.
  admin.setAnnotation({ kind: 'Node', name: node.name }, 'k8s.amazonaws.com/eniConfig', OTHER_ENI_CONFIG);
  await fleet.run(MINUTE_MS);
  start(1);
  await settle(4 * MINUTE_MS);
  for (const pod of pods.slice(12, 14)) fleet.deletePod(pod);
  await settle(6 * MINUTE_MS);
  assert.equal(ownEnis(fleet).length, 1);
  // The instance ends in the midst of things; what does not go with it is collected.
  start(12);
  await fleet.run(SECOND_MS);
  fleet.ec2.admin.terminateInstance(node.instanceId);
  admin.deleteNode(node.name);
  for (const pod of pods) fleet.deletePod(pod);
  await fleet.run(10 * MINUTE_MS);
  assert.deepEqual(
    ownEnis(fleet).map((eni) => eni.eniId),
    [],
    '[ENI-5] nothing is left',
  );
  assert.deepEqual(fleet.ec2.truth.brokenRules(), []);
}

async function playWithDeath(killAt: number, death: Death): Promise<Killer> {
  // The same seed for all: up to its death, each run is the one before, so no call is left out.
  const fleet = createFleet(() => macrotask());
  const harm = watchForHarm(fleet);
  const node = fleet.launch('n1');
  const killer = startMortal(fleet, killAt, death);
  try {
    await play(fleet, node);
    assert.deepEqual(harm, []);
  } catch (error) {
    throw new Error(`killed after call ${killAt}, ${killer.killedAfter}, ${death}`, { cause: error });
  }
  return killer;
}

suite('[ENI-3] [ENI-5] [ENI-6] [IP-1] [IP-2] [LV-1] [LV-3] the controller is killed', () => {
  for (const death of ['Unheard', 'Heard'] as const) {
    const when = death === 'Unheard' ? 'before it hears the answer' : 'when it has heard the answer';
    test(`after each of its calls, ${when}`, async (context) => {
      const killedAfter = new Set<string>();
      let killAt = 0;
      for (let isOver = false; !isOver; ) {
        killAt += 1;
        assert.ok(killAt < CALLS_MAX, 'the story comes to an end');
        const killer = await playWithDeath(killAt, death);
        if (killer.killedAfter === undefined) isOver = true;
        else killedAfter.add(killer.killedAfter);
      }
      context.diagnostic(`${killAt - 1} deaths`);
      const kinds = [...EC2_WRITES, 'createNodeNetwork', 'updateNodeNetworkSpec', 'updateNodeNetworkStatus'];
      assert.deepEqual(
        kinds.filter((name) => !killedAfter.has(name)),
        [],
        'every kind of call was one of them',
      );
    });
  }
});
