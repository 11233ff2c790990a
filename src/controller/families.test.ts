// Address families in a running controller: each ENI's /80, what is granted of it, and what becomes of it when families change.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cidrContains } from '../domain/address/cidr.ts';
import { familyOf } from '../domain/address/ip.ts';
import { cidr } from '../domain/address/testing.ts';
import type { NodeName } from '../domain/ids.ts';
import type { SpecEni } from '../domain/ipam/node-network.ts';
import { type ControllerWorld, createControllerWorld } from './testing-controller.ts';

const BOTH = ['IPv4', 'IPv6'];
const POD_BLOCK = cidr('2600:1f14:0:ab10::/64');

async function nodeWith(
  families: readonly string[] | undefined,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly world: ControllerWorld; readonly node: NodeName }> {
  const world = createControllerWorld(env);
  if (families !== undefined) world.applyClass('workers', { addressFamilies: families });
  const node = world.joinNode('n1', 'z-a');
  await world.run(30);
  return { world, node };
}

const onlyEni = (world: ControllerWorld, node: NodeName): SpecEni => {
  const [eni, ...others] = world.podEnis(node);
  assert.ok(eni !== undefined && others.length === 0, `${world.podEnis(node).length} ENIs`);
  return eni;
};
const callsOf = (world: ControllerWorld, action: string): number =>
  world.ec2.calls.recent().filter((call) => call.action === action).length;
const ofFamily = (eni: SpecEni, family: 4 | 6): readonly string[] =>
  eni.addresses.filter((ip) => familyOf(ip) === family);
/** The agent lets go of all that it is asked for. */
const letGo = (world: ControllerWorld, node: NodeName): Promise<void> =>
  world.answer(node, { withdrawn: world.podEnis(node).flatMap((eni) => eni.withdrawing) });
const used = (world: ControllerWorld, node: NodeName, n: number) => {
  const ip = onlyEni(world, node).addresses[n];
  assert.ok(ip !== undefined);
  return { ip, pod: `default/${node}-p1` as never };
};

describe('pods with both families [IP-9]', () => {
  test('an ENI is made with its /80, and granted with the subnet’s IPv6 block', async () => {
    const { world, node } = await nodeWith(BOTH);
    const eni = onlyEni(world, node);
    const [prefix, ...more] = eni.prefixes;
    assert.ok(prefix !== undefined && more.length === 0);
    assert.ok(cidrContains(POD_BLOCK, prefix.split('/')[0] as never));
    assert.equal(eni.subnetIpv6Cidr, POD_BLOCK);
    assert.deepEqual(ofFamily(eni, 6), []);
    assert.ok(ofFamily(eni, 4).length > 0);
    assert.deepEqual(world.spec(node)?.addressFamilies, BOTH);
    assert.equal(callsOf(world, 'AssignIpv6Addresses'), 0);
    assert.deepEqual(world.ec2.truth.eni(eni.eniId)?.ipv6Prefixes, [prefix]);
  });

  test('an ENI that was made before its pods had IPv6 gets its /80 once, and keeps what it has', async () => {
    const { world, node } = await nodeWith(undefined);
    const before = onlyEni(world, node);
    assert.deepEqual([before.prefixes, before.subnetIpv6Cidr], [[], undefined]);
    world.applyClass('workers', { addressFamilies: BOTH });
    await world.run(90);
    const after = onlyEni(world, node);
    assert.deepEqual([after.eniId, after.addresses], [before.eniId, before.addresses]);
    assert.equal(after.prefixes.length, 1);
    assert.equal(callsOf(world, 'AssignIpv6Addresses'), 1);
    world.restartController();
    await world.run(120);
    assert.deepEqual(onlyEni(world, node), after);
    assert.equal(callsOf(world, 'AssignIpv6Addresses'), 1);
  });

  test('a controller that has just started asks for no /80 before it can know what became of a call before its time', async () => {
    const { world, node } = await nodeWith(undefined);
    world.applyClass('workers', { addressFamilies: BOTH });
    world.restartController();
    await world.run(50);
    assert.equal(callsOf(world, 'AssignIpv6Addresses'), 0);
    await world.run(60);
    assert.equal(onlyEni(world, node).prefixes.length, 1);
    assert.equal(callsOf(world, 'AssignIpv6Addresses'), 1);
  });

  test('without the right to assign it, a condition names the right, and pods get it once it is granted', async () => {
    const { world, node } = await nodeWith(undefined);
    world.ec2.admin.denyAction('AssignIpv6Addresses');
    world.applyClass('workers', { addressFamilies: BOTH });
    await world.run(60);
    const told = world.cluster.admin
      .nodeNetwork(node)
      ?.status.conditions.find(({ type }) => type === 'AddressesAvailable');
    assert.equal(told?.reason, 'Unauthorized');
    assert.match(told?.message ?? '', /assign an IPv6 prefix.*allow ec2:AssignIpv6Addresses/);
    world.ec2.admin.allowAction('AssignIpv6Addresses');
    await world.run(150);
    assert.equal(onlyEni(world, node).prefixes.length, 1);
  });

  test('when they are to have IPv4 only again, the /80 stays with the ENI', async () => {
    const { world, node } = await nodeWith(BOTH);
    const before = onlyEni(world, node);
    world.applyClass('workers', { addressFamilies: ['IPv4'] });
    await world.run(60);
    assert.deepEqual(world.spec(node)?.addressFamilies, ['IPv4']);
    assert.deepEqual(onlyEni(world, node), before);
  });
});

describe('pods without IPv4 [IP-9]', () => {
  test('get one ENI with a /80 and no secondary IPv4 address, whose first 256 addresses are granted', async () => {
    const { world, node } = await nodeWith(['IPv6']);
    const eni = onlyEni(world, node);
    assert.equal(eni.prefixes.length, 1);
    assert.equal(ofFamily(eni, 6).length, 256);
    assert.deepEqual(ofFamily(eni, 4), []);
    assert.deepEqual(world.ec2.truth.eni(eni.eniId)?.addresses, []);
    assert.match(eni.addresses[0] ?? '', /::1$/);
    world.startPods(node, 30);
    await world.run(60);
    assert.equal(world.podEnis(node).length, 1);
    assert.equal(world.ec2.calls.writeCount(), 3, 'create, attach, delete-on-termination');
  });

  test('a node that gives up IPv4 keeps its ENI: free addresses go, used ones stay as long as their pods', async () => {
    const { world, node } = await nodeWith(undefined, { WARM_IP_TARGET: '3' });
    await world.answer(node, { used: [used(world, node, 0)] });
    const before = onlyEni(world, node);
    assert.ok(before.addresses.length > 1);
    world.applyClass('workers', { addressFamilies: ['IPv6'] });
    await world.run(60);
    const during = onlyEni(world, node);
    assert.equal(during.eniId, before.eniId);
    assert.equal(ofFamily(during, 6).length, 256);
    assert.deepEqual(during.withdrawing, before.addresses.slice(1), 'not what a pod holds');
    await letGo(world, node);
    await world.run(60);
    const after = onlyEni(world, node);
    assert.deepEqual(ofFamily(after, 4), before.addresses.slice(0, 1));
    assert.deepEqual(world.ec2.truth.eni(after.eniId)?.addresses, before.addresses.slice(0, 1));
  });

  test('a node that gets IPv4 again asks back what it has granted of the /80, and unassigns nothing for it', async () => {
    const { world, node } = await nodeWith(['IPv6']);
    await world.answer(node, { used: [used(world, node, 4)] });
    const [, , , , held] = onlyEni(world, node).addresses;
    world.applyClass('workers', { addressFamilies: BOTH });
    await world.run(60);
    const during = onlyEni(world, node);
    assert.equal(during.withdrawing.length, 255);
    assert.ok(ofFamily(during, 4).length > 0);
    await letGo(world, node);
    await world.run(60);
    const after = onlyEni(world, node);
    assert.deepEqual(ofFamily(after, 6), [held]);
    assert.equal(after.prefixes.length, 1);
    assert.equal(callsOf(world, 'UnassignIpv6Addresses'), 0);
  });

  test('what pods have of a /80 is granted again by a NodeNetwork that is made anew after they got IPv4 [ENI-3]', async () => {
    const { world, node } = await nodeWith(['IPv6']);
    const holding = [used(world, node, 4)];
    await world.answer(node, { used: holding });
    const { eniId, addresses } = onlyEni(world, node);
    world.applyClass('workers', { addressFamilies: BOTH, warm: { ipTarget: 0 } });
    const record = world.cluster.admin.nodeNetwork(node);
    assert.ok(record !== undefined);
    void world.cluster.client().deleteNodeNetwork(record);
    await world.run(120);
    assert.ok(world.ec2.truth.eni(eniId) !== undefined, 'the agent has not said yet what pods have');
    await world.answer(node, { used: holding });
    await world.run(60);
    assert.deepEqual(ofFamily(onlyEni(world, node), 6), [addresses[4]]);
    assert.equal(onlyEni(world, node).eniId, eniId);
  });

  test('an ENI of theirs is given back whole, and only once the agent has let go of every address [IP-6]', async () => {
    const { world, node } = await nodeWith(['IPv6']);
    await world.answer(node, { used: [used(world, node, 7)] });
    const before = onlyEni(world, node);
    world.applyClass('workers', { addressFamilies: ['IPv6'], eniConfigs: { names: ['z-b', 'z-a-2'] } });
    applyTwin(world, 'z-a-2', before);
    await world.run(60);
    const cordoned = world.podEnis(node).find(({ eniId }) => eniId === before.eniId);
    assert.deepEqual([cordoned?.cordoned, cordoned?.withdrawing.length], [true, 255]);
    await letGo(world, node);
    await world.run(60);
    assert.ok(
      world.podEnis(node).some(({ eniId }) => eniId === before.eniId),
      'a pod lives there',
    );
    await world.answer(node, { used: [] });
    await world.run(10);
    await letGo(world, node);
    await world.run(60);
    assert.equal(world.ec2.truth.eni(before.eniId), undefined, 'detached and deleted');
    assert.equal(world.podEnis(node).length, 1);
  });

  test('an ENI of theirs that is chosen again while a pod lives on it has all of its /80 in service again [LV-2]', async () => {
    const { world, node } = await nodeWith(['IPv6']);
    await world.answer(node, { used: [used(world, node, 7)] });
    const before = onlyEni(world, node);
    const choose = (name: string | undefined): void =>
      world.cluster.admin.setAnnotation({ kind: 'Node', name: node }, 'k8s.amazonaws.com/eniConfig', name);
    choose('missing');
    await world.run(60);
    assert.equal(onlyEni(world, node).cordoned, true);
    applyTwin(world, 'z-a-2', before);
    choose('z-a-2');
    await world.run(60);
    const old = (): SpecEni | undefined => world.podEnis(node).find(({ eniId }) => eniId === before.eniId);
    assert.equal(old()?.withdrawing.length, 255);
    await world.answer(node, { withdrawn: old()?.withdrawing.slice(0, 100) ?? [] });
    choose(undefined);
    await world.run(60);
    assert.deepEqual(old()?.withdrawing, []);
    assert.equal(old()?.addresses.length, 156, 'what was let go comes back once the agent has forgotten it');
    await world.answer(node, { withdrawn: [] });
    await world.run(60);
    assert.deepEqual(old()?.addresses, before.addresses);
  });
});

/** Another ENIConfig of the same subnet and groups. */
function applyTwin(world: ControllerWorld, name: string, { subnetId, securityGroupIds }: SpecEni): void {
  const eniConfig = { name, labels: {}, subnetId, securityGroupIds };
  world.cluster.admin.applyEniConfig({ name, spec: { kind: 'Parsed', eniConfig } });
}

describe('a subnet without an IPv6 block [SEL-16]', () => {
  test('fails closed: a condition and an Event name ENIConfig, subnet and fix, and nothing is made', async () => {
    const world = createControllerWorld();
    world.applyClass('workers', { addressFamilies: BOTH, eniConfigs: { names: ['z-a-2'] } });
    const node = world.joinNode('n1', 'z-a');
    world.startPods(node, 1);
    await world.run(30);
    assert.deepEqual(world.podEnis(node), []);
    const selection = world.spec(node)?.selection;
    assert.ok(selection?.kind === 'None' && selection.problem === 'EniConfigInvalid');
    const told = `${selection.message}; ${selection.fix}`;
    assert.match(told, /ENIConfig "z-a-2": its subnet subnet-00000011 has no IPv6 block/);
    assert.match(told, /aws ec2 associate-subnet-cidr-block --subnet-id subnet-00000011/);
    const events = world.cluster.admin.events().map(({ message }) => message);
    assert.ok(
      events.some((message) => message.includes('associate-subnet-cidr-block')),
      events.join('\n'),
    );
  });

  test('is passed over by a class that has another, and serves nodes whose pods have IPv4 only', async () => {
    const world = createControllerWorld();
    world.applyClass('workers', { addressFamilies: BOTH, eniConfigs: { names: ['z-a-2', 'z-a'] } });
    const node = world.joinNode('n1', 'z-a');
    await world.run(30);
    assert.equal(world.selectionText(node), 'z-a by Class');
    world.applyClass('workers', { eniConfigs: { names: ['z-a-2', 'z-a'] } });
    await world.run(60);
    assert.equal(world.selectionText(node), 'z-a-2 by Class');
  });

  test('of the node itself fails closed where pods get that one', async () => {
    const { world, node } = await nodeWith(undefined, {
      AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG: 'false',
      ENABLE_IPv6: 'true',
    });
    const selection = world.spec(node)?.selection;
    assert.ok(selection?.kind === 'None' && selection.problem === 'SubnetWithoutIpv6');
    assert.match(selection.message, /the node's own subnet subnet-00000001/);
  });
});

test('the cluster’s families are ENABLE_IPv4 and ENABLE_IPv6; a class goes before them', async () => {
  const { world, node } = await nodeWith(undefined, { ENABLE_IPv4: 'false', ENABLE_IPv6: 'true' });
  assert.deepEqual(world.spec(node)?.addressFamilies, ['IPv6']);
  world.applyClass('workers', { addressFamilies: ['IPv4'] });
  await world.run(60);
  assert.deepEqual(world.spec(node)?.addressFamilies, ['IPv4']);
});
