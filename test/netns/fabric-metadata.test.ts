// Instance metadata in the fabric: each node is told about itself, over HTTP at 169.254.169.254.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import type { Fabric } from '../../src/lab/fabric/fabric.ts';
import {
  configure,
  type FabricWorld,
  handMadeVpc,
  instanceId,
  ip,
  linkAppears,
  skip,
  startFabric,
} from './fabric-support.ts';

const run = promisify(execFile);
const METADATA = '169.254.169.254';

/** Prints the status and the body, after `METHOD PATH [HEADER=VALUE]... [from=ADDRESS]`. */
const CLIENT = `
const [method, path, ...rest] = process.argv.slice(1);
const pairs = Object.fromEntries(rest.map((pair) => pair.split('=')));
const { from, ...headers } = pairs;
const request = require('node:http').request(
  { host: '${METADATA}', path, method, headers, localAddress: from, timeout: 1000 },
  (response) => {
    let body = '';
    response.on('data', (data) => { body += data; });
    response.on('end', () => { process.stdout.write(response.statusCode + ' ' + body); });
  },
);
request.on('timeout', () => request.destroy(new Error('silent')));
request.on('error', (error) => { process.stdout.write(error.message); });
request.end();
`;

describe('instance metadata in the fabric', { skip }, () => {
  const vpc = handMadeVpc();
  let world: FabricWorld;
  let fabric: Fabric;
  const ask = async (machine: string, ...request: readonly string[]): Promise<string> => {
    const netns = `--net=${fabric.nodeNetnsPath(instanceId(machine))}`;
    const { stdout } = await run('nsenter', [netns, process.execPath, '-e', CLIENT, ...request]);
    return stdout;
  };
  const get = (machine: string, path: string): Promise<string> =>
    ask(machine, 'GET', `/latest/meta-data/${path}`);

  before(async () => {
    // Metadata needs no security group's leave.
    vpc.putGroup('shut', { ingress: [], egress: [] });
    vpc.launch('a', { subnet: 'node-a', address: '10.1.0.10', groups: ['shut'] });
    vpc.launch('b', { subnet: 'node-b', address: '10.1.1.10', groups: ['shut'] });
    world = await startFabric(vpc);
    ({ fabric } = world);
  });
  after(() => world?.close());

  test('each node reads about itself', async () => {
    assert.equal(await get('a', 'instance-id'), `200 ${instanceId('a')}`);
    assert.equal(await get('b', 'instance-id'), `200 ${instanceId('b')}`);
    assert.equal(await get('b', 'placement/availability-zone'), '200 eu-test-1b');
    assert.equal(await get('b', 'mac'), '200 02:00:00:00:00:02');
    assert.equal(
      await get('b', 'nothing-of-the-kind'),
      '404 /latest/meta-data/nothing-of-the-kind does not exist\n',
    );
  });

  test('an ENI is listed once it is attached; a request from its address is one of its node', async () => {
    vpc.putEni('a-eth1', {
      primaryAddress: ip('10.1.8.4'),
      addresses: [ip('10.1.8.5')],
      mac: '02:00:00:00:0a:01',
    });
    vpc.attach('a-eth1', 'a', 1);
    vpc.change();
    const a = fabric.nodeNetnsPath(instanceId('a'));
    await linkAppears(a, 'eth1');
    assert.equal(await get('a', 'network/interfaces/macs/'), '200 02:00:00:00:00:01/\n02:00:00:00:0a:01/');
    configure(a, 'eth1', ['10.1.8.5']);
    assert.equal(
      await ask('a', 'GET', '/latest/meta-data/instance-id', 'from=10.1.8.5'),
      `200 ${instanceId('a')}`,
    );
  });

  test('a token of version 2 opens its own node only', async () => {
    const made = await ask('a', 'PUT', '/latest/api/token', 'x-aws-ec2-metadata-token-ttl-seconds=60');
    const [status, token] = made.split(' ');
    assert.equal(status, '200');
    const header = `x-aws-ec2-metadata-token=${token}`;
    const path = '/latest/meta-data/local-ipv4';
    assert.equal(await ask('a', 'GET', path, header), '200 10.1.0.10');
    assert.match(await ask('b', 'GET', path, header), /^401 /);
    assert.match(await ask('a', 'GET', path, 'x-aws-ec2-metadata-token=wrong'), /^401 /);
  });

  test('the hosts outside find nothing there', async () => {
    for (const { netnsPath } of [fabric.internetHost, fabric.onPremHost]) {
      assert.equal(await world.probe.visit({ netnsPath }, { address: METADATA, port: 80 }), 'ETIMEDOUT');
    }
  });

  test('nothing of all this was in trouble', () => {
    assert.deepEqual(world.complaints, []);
  });
});
