// The fabric carries IPv6: a prefix is delivered to the ENI that holds it, nothing is translated, groups have their say.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import type { Fabric } from '../../src/lab/fabric/fabric.ts';
import { netnsPath } from '../../src/lab/fabric/namespace-names.ts';
import {
  cidr,
  type FabricWorld,
  fromCidr,
  fromGroup,
  groupId,
  handMadeVpc,
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

const run = promisify(execFile);
const PORT = 8080;
const OTHER_PORT = 8081;

/** What the agent does for an ENI with an IPv6 prefix: addresses of pods, and a table of its own to leave by. */
function configureIpv6(
  netnsPath: string,
  {
    link,
    gateway,
    addresses,
    table,
  }: {
    readonly link: string;
    readonly gateway: string;
    readonly addresses: readonly string[];
    readonly table: string;
  },
): void {
  inside(netnsPath, 'ip', 'link', 'set', link, 'up');
  for (const address of addresses) {
    inside(netnsPath, 'ip', 'addr', 'replace', `${address}/128`, 'dev', link, 'nodad');
    inside(netnsPath, 'ip', '-6', 'rule', 'add', 'from', address, 'lookup', table, 'priority', '1536');
  }
  inside(netnsPath, 'ip', '-6', 'route', 'replace', 'default', ...wayBy(link, gateway), 'table', table);
}

const wayBy = (link: string, gateway: string): readonly string[] => ['via', gateway, 'dev', link, 'onlink'];

describe('the fabric of a VPC with IPv6', { skip }, () => {
  const vpc = handMadeVpc({ ipv6: true });
  const A = ['2600:1f14:0:ab08:a::1', '2600:1f14:0:ab08:a:0:ffff:ffff'] as const;
  const B = ['2600:1f14:0:ab09:b::1'] as const;
  let world: FabricWorld;
  let fabric: Fabric;
  let probe: Probe;
  let a = '';
  let b = '';
  const visit = (from: string, address: string, source: string, port = PORT): Promise<string> =>
    probe.visit({ netnsPath: from, source }, { address, port });
  const secondary = (node: 'a' | 'b', group: string): void =>
    vpc.putEni(`${node}-eth1`, {
      subnetId: subnetId(`pods-${node}`),
      primaryAddress: ip(node === 'a' ? '10.1.8.4' : '10.1.9.4'),
      securityGroupIds: [groupId(group)],
      ipv6Prefixes: [cidr(node === 'a' ? '2600:1f14:0:ab08:a::/80' : '2600:1f14:0:ab09:b::/80')],
    });

  before(async () => {
    vpc.putGroup('open', { ingress: [fromCidr('0.0.0.0/0'), fromCidr('::/0')] });
    vpc.launch('a', { subnet: 'node-a', address: '10.1.0.10', groups: ['open'] });
    vpc.launch('b', { subnet: 'node-b', address: '10.1.1.10', groups: ['open'] });
    for (const node of ['a', 'b'] as const) {
      secondary(node, 'open');
      vpc.attach(`${node}-eth1`, node, 1);
    }
    world = await startFabric(vpc);
    ({ fabric, probe } = world);
    a = fabric.nodeNetnsPath(instanceId('a'));
    b = fabric.nodeNetnsPath(instanceId('b'));
    for (const netnsPath of [a, b]) await linkAppears(netnsPath, 'eth1');
    configureIpv6(a, { link: 'eth1', gateway: '2600:1f14:0:ab08::1', addresses: A, table: '1002' });
    configureIpv6(b, { link: 'eth1', gateway: '2600:1f14:0:ab09::1', addresses: B, table: '1002' });
    await probe.serve([a, b, fabric.internetHost.netnsPath], PORT, OTHER_PORT);
  });
  after(() => world?.close());

  test('addresses of a prefix reach those of another ENI, in another zone, and are seen as they are', async () => {
    assert.equal(await visit(a, B[0], A[0]), A[0]);
    assert.equal(await visit(b, A[1], B[0]), B[0]);
  });

  test('IPv4 goes on beside it', async () => {
    assert.equal(await visit(a, '10.1.1.10', '10.1.0.10'), '10.1.0.10');
  });

  test('the internet host is reached without translation, and opens no connection into the VPC', async () => {
    const { ipv6Address = '', netnsPath } = fabric.internetHost;
    assert.equal(await visit(a, ipv6Address, A[0]), A[0]);
    assert.equal(await visit(netnsPath, A[0], ipv6Address), 'ETIMEDOUT');
  });

  test('what nobody holds is silent: another prefix of the subnet, and the wide world', async () => {
    assert.equal(await visit(a, '2600:1f14:0:ab09:c::1', A[0]), 'ETIMEDOUT');
    assert.equal(await visit(a, '2001:db8::1', A[0]), 'ETIMEDOUT');
  });

  test('an ENI cannot send as an address outside its prefix', async () => {
    const datagram = (source: string): Promise<string> =>
      probe.spoof({ netnsPath: a, source }, { netnsPath: b, address: B[0] });
    // Whatever leaves by eth1 is one of its prefix or is dropped.
    inside(a, 'ip', '-6', 'route', 'replace', 'default', ...wayBy('eth1', '2600:1f14:0:ab08::1'));
    assert.equal(await datagram('2600:1f14:0:ab08:a::99'), '2600:1f14:0:ab08:a::99');
    for (const source of ['2600:1f14:0:ab08:b::1', B[0], '2001:db8::7']) {
      assert.equal(await datagram(source), 'ETIMEDOUT', source);
    }
  });

  test('groups let in by IPv6 block, by group, and nothing by a rule about IPv4', async () => {
    vpc.putGroup('narrow', {
      ingress: [
        fromCidr('0.0.0.0/0'),
        fromCidr('2600:1f14:0:ab08:a::/80', { protocol: 'tcp', ports: { from: PORT, to: PORT } }),
      ],
    });
    secondary('b', 'narrow');
    okOf(await fabric.sync());
    assert.equal(await visit(a, B[0], A[0]), A[0]);
    assert.equal(await visit(a, B[0], A[0], OTHER_PORT), 'ETIMEDOUT');
    vpc.putGroup('narrow', { ingress: [fromGroup('open')] });
    okOf(await fabric.sync());
    assert.equal(await visit(a, B[0], A[0], OTHER_PORT), A[0]);
    vpc.putGroup('narrow', { ingress: [fromGroup('narrow')] });
    okOf(await fabric.sync());
    assert.equal(await visit(a, B[0], A[0]), 'ETIMEDOUT');
    // An answer needs no rule.
    assert.equal(await visit(b, A[0], B[0]), B[0]);
    secondary('b', 'open');
    okOf(await fabric.sync());
  });

  test('instance metadata answers at its IPv6 address, about the node of the prefix', async () => {
    const script = `
require('node:http').get({ host: 'fd00:ec2::254', path: '/latest/meta-data/' + process.argv[1], family: 6,
  localAddress: process.argv[2], timeout: 1000 }, (response) => response.pipe(process.stdout))
  .on('error', (error) => console.log(error.message));`;
    const ask = async (path: string): Promise<string> =>
      (await run('nsenter', [`--net=${a}`, process.execPath, '-e', script, path, A[0]])).stdout;
    assert.equal(await ask('instance-id'), instanceId('a'));
    const [mac] = /[0-9a-f]{2}(:[0-9a-f]{2}){5}/.exec(inside(a, 'ip', '-br', 'link', 'show', 'eth1')) ?? [];
    const folder = `network/interfaces/macs/${mac}`;
    assert.equal(await ask(`${folder}/ipv6-prefix`), '2600:1f14:0:ab08:a::/80');
    assert.equal(await ask(`${folder}/subnet-ipv6-cidr-blocks`), '2600:1f14:0:ab08::/64');
  });

  test('a prefix that is given back is delivered no more', async () => {
    assert.equal(await visit(b, A[0], B[0]), B[0]);
    vpc.putEni('a-eth1', { ipv6Prefixes: [] });
    okOf(await fabric.sync());
    assert.equal(await visit(b, A[0], B[0]), 'ETIMEDOUT');
    vpc.putEni('a-eth1', { ipv6Prefixes: [cidr('2600:1f14:0:ab08:a::/80')] });
    okOf(await fabric.sync());
    assert.equal(await visit(b, A[0], B[0]), B[0]);
  });

  test('a second ENI in the same subnet has the same gateway, and one that goes takes nothing from the other', async () => {
    vpc.putEni('a-eth2', {
      subnetId: subnetId('pods-a'),
      primaryAddress: ip('10.1.8.20'),
      securityGroupIds: [groupId('open')],
      ipv6Prefixes: [cidr('2600:1f14:0:ab08:d::/80')],
    });
    vpc.attach('a-eth2', 'a', 2);
    okOf(await fabric.sync());
    await linkAppears(a, 'eth2');
    okOf(await fabric.sync());
    const second = '2600:1f14:0:ab08:d::1';
    configureIpv6(a, { link: 'eth2', gateway: '2600:1f14:0:ab08::1', addresses: [second], table: '1003' });
    assert.equal(await visit(b, second, B[0]), B[0]);
    assert.equal(await visit(a, B[0], second), second);
    vpc.detach('a-eth2');
    okOf(await fabric.sync());
    inside(a, 'ip', '-6', 'neigh', 'flush', 'all');
    assert.equal(await visit(a, B[0], A[0]), A[0]);
  });

  test('a second sync changes nothing', async () => {
    const router = netnsPath(`${world.prefix}-vpc-router`);
    const look = (): string =>
      ['addr', 'route'].map((what) => inside(router, 'ip', '-6', what)).join('') +
      inside(router, 'nft', '-a', 'list', 'ruleset');
    const first = look();
    okOf(await fabric.sync());
    assert.equal(look(), first);
  });

  test('nothing of all this was in trouble', () => {
    assert.deepEqual(world.complaints, []);
  });
});
