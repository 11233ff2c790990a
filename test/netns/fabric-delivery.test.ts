// The fabric delivers an address to the ENI that holds it and to no other, and lets no ENI send as another.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Fabric } from '../../src/lab/fabric/fabric.ts';
import { netnsPath } from '../../src/lab/fabric/namespace-names.ts';
import {
  cidr,
  configure,
  type FabricWorld,
  fromCidr,
  groupId,
  handMadeVpc,
  hasLink,
  inside,
  instanceId,
  ip,
  linkAppears,
  okOf,
  type Probe,
  skip,
  startFabric,
  subnetId,
} from './fabric-support.ts';

const PORT = 8080;

describe('the fabric', { skip }, () => {
  const vpc = handMadeVpc();
  let world: FabricWorld;
  let fabric: Fabric;
  let probe: Probe;
  let a = '';
  let b = '';
  const visit = (from: string, address: string, source?: string): Promise<string> =>
    probe.visit({ netnsPath: from, ...(source === undefined ? {} : { source }) }, { address, port: PORT });

  before(async () => {
    vpc.putGroup('open', { ingress: [fromCidr('0.0.0.0/0')] });
    vpc.launch('a', { subnet: 'node-a', address: '10.1.0.10', groups: ['open'] });
    vpc.launch('b', { subnet: 'node-b', address: '10.1.1.10', groups: ['open'] });
    vpc.launch('c', { subnet: 'node-a', address: '10.1.0.11', groups: ['open'] });
    world = await startFabric(vpc);
    ({ fabric, probe } = world);
    a = fabric.nodeNetnsPath(instanceId('a'));
    b = fabric.nodeNetnsPath(instanceId('b'));
    const { internetHost, onPremHost } = fabric;
    const c = fabric.nodeNetnsPath(instanceId('c'));
    await probe.serve([a, b, c, internetHost.netnsPath, onPremHost.netnsPath], PORT);
  });
  after(() => world?.close());

  test('a node reaches one in its own subnet, one in another zone, and both see its own address', async () => {
    assert.equal(await visit(a, '10.1.0.11'), '10.1.0.10');
    assert.equal(await visit(a, '10.1.1.10'), '10.1.0.10');
    assert.equal(await visit(b, '10.1.0.10'), '10.1.1.10');
  });

  test('the internet host sees a public address, one for each VPC address, and can be told which it was', async () => {
    const seen = [
      await visit(a, fabric.internetHost.address),
      await visit(b, fabric.internetHost.address),
    ].map(ip);
    assert.deepEqual(seen, ['198.18.0.10', '198.18.1.10']);
    assert.deepEqual(seen.map(fabric.seenFromInternet), ['10.1.0.10', '10.1.1.10']);
    assert.equal(fabric.seenFromInternet(ip('203.0.113.10')), undefined);
  });

  test('the internet host opens no connection into the VPC, by its private or its public address', async () => {
    const { netnsPath } = fabric.internetHost;
    assert.equal(await visit(netnsPath, '10.1.0.10'), 'ETIMEDOUT');
    assert.equal(await visit(netnsPath, '198.18.0.10'), 'ETIMEDOUT');
    assert.equal(await visit(netnsPath, fabric.onPremHost.address), 'ETIMEDOUT');
  });

  test('the on-premises host and the VPC reach each other with their own addresses', async () => {
    assert.equal(await visit(fabric.onPremHost.netnsPath, '10.1.0.10'), fabric.onPremHost.address);
    assert.equal(await visit(a, fabric.onPremHost.address), '10.1.0.10');
    assert.equal(await visit(fabric.onPremHost.netnsPath, fabric.internetHost.address), 'ETIMEDOUT');
  });

  test('an address that nobody holds is silent', async () => {
    assert.equal(await visit(a, '10.1.9.99'), 'ETIMEDOUT');
    assert.equal(await visit(a, '8.8.8.8'), 'ETIMEDOUT');
  });

  test('a secondary ENI shows up as ethN with its MAC and MTU, down and without addresses', async () => {
    vpc.putEni('a-eth1', {
      subnetId: subnetId('pods-a'),
      primaryAddress: ip('10.1.8.4'),
      addresses: [ip('10.1.8.5'), ip('10.1.8.6')],
      mac: '02:00:00:00:0a:01',
      securityGroupIds: [groupId('open')],
    });
    vpc.attach('a-eth1', 'a', 1);
    vpc.change();
    await linkAppears(a, 'eth1');
    const [link] = JSON.parse(inside(a, 'ip', '-j', 'addr', 'show', 'eth1')) as [
      { address: string; mtu: number; flags: string[]; addr_info: unknown[] },
    ];
    assert.equal(link.address, '02:00:00:00:0a:01');
    assert.equal(link.mtu, 9001);
    assert.deepEqual(link.addr_info, []);
    assert.ok(!link.flags.includes('UP'));
  });

  test('its addresses are delivered to it, and leave by it', async () => {
    configure(a, 'eth1', ['10.1.8.4', '10.1.8.5']);
    assert.equal(await visit(b, '10.1.8.5'), '10.1.1.10');
    assert.equal(await visit(a, '10.1.1.10', '10.1.8.5'), '10.1.8.5');
  });

  test('an ENI cannot send as an address of another ENI, not even of the same node', async () => {
    inside(a, 'ip', 'rule', 'del', 'from', '10.1.8.5');
    // Now the packets leave by eth0, which does not hold the address.
    assert.equal(await visit(a, '10.1.1.10', '10.1.8.5'), 'ETIMEDOUT');
    const datagram = (source: string): Promise<string> =>
      probe.spoof({ netnsPath: a, source }, { netnsPath: b, address: '10.1.1.10' });
    assert.equal(await datagram('10.1.0.10'), '10.1.0.10');
    for (const source of ['10.1.8.5', '10.1.0.11', '10.1.0.77', '203.0.113.10']) {
      assert.equal(await datagram(source), 'ETIMEDOUT', source);
    }
    configure(a, 'eth1', ['10.1.8.5']);
  });

  test('two ENIs of one node reach each other through the router', async () => {
    const pod = okOf(await fabric.createPodNetns(instanceId('a'), 'default/own-stack'));
    // An ENI moved into a pod's namespace has no shortcut over the node's own tables.
    inside(a, 'ip', 'link', 'set', 'eth1', 'netns', pod.slice('/run/netns/'.length));
    configure(pod, 'eth1', ['10.1.8.4']);
    assert.equal(await visit(pod, '10.1.0.10', '10.1.8.4'), '10.1.8.4');
    inside(pod, 'ip', 'link', 'set', 'eth1', 'netns', a.slice('/run/netns/'.length));
    configure(a, 'eth1', ['10.1.8.4', '10.1.8.5']);
    okOf(await fabric.deletePodNetns(instanceId('a'), 'default/own-stack'));
    okOf(await fabric.deletePodNetns(instanceId('a'), 'default/own-stack'));
  });

  test('an address that moves to another ENI is delivered to that one', async () => {
    vpc.putEni('c-eth1', {
      subnetId: subnetId('pods-a'),
      primaryAddress: ip('10.1.8.20'),
      securityGroupIds: [groupId('open')],
    });
    vpc.attach('c-eth1', 'c', 1);
    vpc.change();
    const c = fabric.nodeNetnsPath(instanceId('c'));
    await linkAppears(c, 'eth1');
    configure(c, 'eth1', ['10.1.8.20', '10.1.8.5']);
    // `a` serves 10.1.8.5 still, and c's own packets with it go nowhere yet.
    assert.equal(await visit(c, '10.1.1.10', '10.1.8.5'), 'ETIMEDOUT');
    vpc.putEni('a-eth1', { addresses: [ip('10.1.8.6')] });
    vpc.putEni('c-eth1', { addresses: [ip('10.1.8.5')] });
    okOf(await fabric.sync());
    assert.equal(await visit(c, '10.1.1.10', '10.1.8.5'), '10.1.8.5');
    assert.equal(await visit(a, '10.1.1.10', '10.1.8.5'), 'ETIMEDOUT');
    assert.equal(await visit(b, '10.1.8.5'), '10.1.1.10');
  });

  test('a prefix is delivered whole', async () => {
    configure(a, 'eth1', ['10.1.8.32', '10.1.8.47']);
    assert.equal(await visit(b, '10.1.8.47'), 'ETIMEDOUT');
    vpc.putEni('a-eth1', { prefixes: [cidr('10.1.8.32/28')] });
    okOf(await fabric.sync());
    assert.equal(await visit(b, '10.1.8.32'), '10.1.1.10');
    assert.equal(await visit(a, '10.1.1.10', '10.1.8.47'), '10.1.8.47');
  });

  test('a second sync changes nothing', async () => {
    const router = netnsPath(`${world.prefix}-vpc-router`);
    const look = (): string =>
      [
        inside(router, 'ip', 'addr'),
        inside(router, 'ip', 'route'),
        inside(router, 'nft', '-a', 'list', 'ruleset'),
        inside(a, 'ip', '-4', 'addr'),
      ].join('\n');
    const first = look();
    okOf(await fabric.sync());
    okOf(await fabric.sync());
    assert.equal(look(), first);
  });

  test('detaching removes the link and stops the traffic', async () => {
    assert.equal(await visit(b, '10.1.8.4'), '10.1.1.10');
    vpc.detach('a-eth1');
    okOf(await fabric.sync());
    assert.ok(!hasLink(a, 'eth1'));
    assert.equal(await visit(b, '10.1.8.4'), 'ETIMEDOUT');
    assert.equal(await visit(a, '10.1.1.10'), '10.1.0.10');
  });

  test('an ENI that is attached again, to another node, is there with its addresses', async () => {
    vpc.attach('a-eth1', 'b', 1);
    vpc.change();
    await linkAppears(b, 'eth1');
    configure(b, 'eth1', ['10.1.8.6']);
    assert.equal(await visit(a, '10.1.8.6'), '10.1.0.10');
  });

  test('nothing of all this was in trouble', () => {
    assert.deepEqual(world.complaints, []);
  });
});
