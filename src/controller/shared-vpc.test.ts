// Two clusters in one VPC that find their subnets by tags: neither takes what is the other's, nor the nodes' subnet.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeName, SubnetId } from '../domain/ids.ts';
import { OWNER_TAG } from '../domain/ipam/tags.ts';
import type { Ec2Eni } from '../ports/ec2.ts';
import { type ControllerWorld, createControllerWorld } from './testing-controller.ts';

const NODE_SUBNETS: readonly string[] = ['subnet-00000001', 'subnet-00000002'];

const TAG = 'eniwhere.io/pods';

const claim = (world: ControllerWorld, cluster: string): void =>
  world.applyClass(cluster, {
    eniConfigs: { subnetTags: { [TAG]: cluster }, securityGroups: ['sg-0000000b'] },
    fallback: 'None',
  });

/** Two clusters, each with a node in zone z-a and a tag of its own. */
async function createTwoClusters() {
  const a = createControllerWorld({ CLUSTER_NAME: 'a' });
  const b = createControllerWorld({ CLUSTER_NAME: 'b' }, a);
  // The other way round than the names of the ENIConfigs that cluster a has besides, which would be found by zone.
  a.tagSubnet('z-a-2', { [TAG]: 'a' });
  a.tagSubnet('z-a', { [TAG]: 'b' });
  claim(a, 'a');
  claim(b, 'b');
  const nodeA = a.joinNode('node-a', 'z-a');
  const nodeB = b.joinNode('node-b', 'z-a');
  a.startPods(nodeA, 12);
  b.startPods(nodeB, 12);
  await a.run(90);
  return { a, b, nodeA, nodeB };
}

/** Of all ENIs in EC2 that carry the cluster's tag. */
const subnetsOf = ({ ec2 }: ControllerWorld, cluster: string): readonly SubnetId[] => [
  ...new Set(ec2.truth.enis().flatMap((eni) => (eni.tags[OWNER_TAG] === cluster ? [eni.subnetId] : []))),
];

const eniCount = (world: ControllerWorld, node: NodeName): number => world.podEnis(node).length;

const eniConfigs = (world: ControllerWorld): readonly string[] =>
  world.cluster.admin.list('EniConfig').map(({ name }) => name);

test('U51 [SEL-14] each of two clusters in a VPC takes the subnet with its own tag alone, to the last address', async () => {
  const { a, b, nodeA, nodeB } = await createTwoClusters();
  assert.deepEqual(subnetsOf(a, 'a'), [a.subnetOf('z-a-2')]);
  assert.deepEqual(subnetsOf(a, 'b'), [a.subnetOf('z-a')]);
  assert.deepEqual([eniCount(a, nodeA), eniCount(b, nodeB)], [2, 2]);
  assert.deepEqual(eniConfigs(b), ['b.00000010'], "the other cluster's ENIConfigs are not made here");
  assert.deepEqual(eniConfigs(a), ['z-a', 'z-a-2', 'z-b', 'a.00000011'], "and nobody's own is touched");

  a.occupyAllBut(a.subnetOf('z-a-2'), 0);
  const late = a.joinNode('node-a2', 'z-a');
  a.startPods(late, 3);
  await a.run(120);
  assert.deepEqual(a.podEnis(late), [], 'a full subnet sends nobody to the other one');
  assert.deepEqual(subnetsOf(a, 'a'), [a.subnetOf('z-a-2')]);
});

test('U51 [ENI-2] [SEL-14] a cluster that takes its tag away with it breaks no other, and its own running pods keep theirs', async () => {
  const { a, b, nodeA, nodeB } = await createTwoClusters();
  const foreign = a.ec2.admin.createForeignEni({ subnetId: 'subnet-00000011' as SubnetId });
  assert.ok(foreign.ok);
  const before = [a, b].map((world, n) => world.podEnis(n === 0 ? nodeA : nodeB));
  a.tagSubnet('z-a-2', {});
  const writes = a.ec2.calls.writeCount();
  await a.run(300);
  assert.deepEqual([a.podEnis(nodeA), b.podEnis(nodeB)], before);
  assert.equal(a.ec2.calls.writeCount(), writes, 'nothing is made, moved or given back');
  assert.deepEqual(a.ec2.truth.eni(foreign.value.eniId), foreign.value);
  const [own, other] = [a, b].map(
    (world, n) => world.cluster.admin.get('NodeNetworkClass', 'ab'[n] ?? '')?.status,
  );
  assert.deepEqual([own?.ready, other?.ready], [false, true]);
  assert.match(own?.message ?? '', /no subnet carries its tags/);

  const late = a.joinNode('node-a2', 'z-a');
  a.startPods(late, 3);
  await a.run(60);
  assert.deepEqual(
    subnetsOf(a, 'a'),
    [a.subnetOf('z-a-2')],
    'the last set that was known holds for new nodes, too',
  );
});

/** ENIs that somebody made in the subnets of the nodes: all but those that instances come with. */
const enisInNodeSubnets = ({ ec2 }: ControllerWorld): readonly Ec2Eni[] =>
  ec2.truth.enis().filter((eni) => NODE_SUBNETS.includes(eni.subnetId) && eni.attachment?.deviceIndex !== 0);

const untrueConditions = (world: ControllerWorld, node: NodeName): string =>
  (world.cluster.admin.nodeNetwork(node)?.status.conditions ?? [])
    .filter(({ status }) => status !== 'True')
    .map(({ type, message }) => `${type}: ${message}`)
    .join('; ');

interface Refusal {
  readonly title: string;
  readonly refuse: (world: ControllerWorld) => Promise<void>;
  /** ENIs of a node that was there before, and of one that joins meanwhile. */
  readonly eniCounts: readonly [number, number];
  readonly says: RegExp;
}

const REFUSALS: readonly Refusal[] = [
  {
    title: 'from the start',
    refuse: async (world) => {
      world.ec2.admin.denyAction('DescribeSubnets');
      world.restartController();
      await world.run(30);
    },
    eniCounts: [0, 0],
    says: /^$/,
  },
  {
    title: 'while it runs, and what was known of the subnets still holds',
    refuse: async (world) => {
      await world.run(30);
      world.ec2.admin.denyAction('DescribeSubnets');
    },
    eniCounts: [2, 2],
    says: /^$/,
  },
  {
    title: 'while it runs, and the subnets for pods are full',
    refuse: async (world) => {
      await world.run(30);
      for (const name of ['z-a', 'z-a-2']) world.occupyAllBut(world.subnetOf(name), 0);
      world.ec2.admin.denyAction('DescribeSubnets');
    },
    eniCounts: [1, 0],
    says: /^AddressesAvailable: subnet subnet-00000010 of ENIConfig "z-a" .* is full/,
  },
];

for (const { title, refuse, eniCounts, says } of REFUSALS)
  test(`U52 [SEL-5] DescribeSubnets is refused ${title}: no ENI is made in the nodes' subnet, and pods run once it is allowed`, async () => {
    const world = createControllerWorld();
    const early = world.joinNode('n1', 'z-a');
    await refuse(world);
    const late = world.joinNode('n2', 'z-a');
    for (const node of [early, late]) world.startPods(node, 12);
    await world.run(180);
    assert.deepEqual(enisInNodeSubnets(world), []);
    assert.deepEqual([eniCount(world, early), eniCount(world, late)], eniCounts);
    for (const node of [early, late]) assert.match(untrueConditions(world, node), says);

    for (const name of ['z-a', 'z-a-2']) vacate(world, world.subnetOf(name));
    world.ec2.admin.allowAction('DescribeSubnets');
    await world.run(180);
    assert.deepEqual([eniCount(world, early), eniCount(world, late)], [2, 2]);
    assert.deepEqual(enisInNodeSubnets(world), []);
  });

function vacate({ ec2 }: ControllerWorld, subnetId: SubnetId | undefined): void {
  assert.ok(subnetId !== undefined);
  assert.ok(ec2.admin.vacateAddresses(subnetId, ec2.truth.subnet(subnetId)?.occupiedCount ?? 0).ok);
}
