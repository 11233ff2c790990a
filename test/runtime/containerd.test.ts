// Pods of a real container runtime: Debian's containerd and runc, asked through the CRI.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, afterEach, before, test } from 'node:test';
import { type Containerd, makeContainerd } from './support/containerd.ts';
import { eventually } from './support/eventually.ts';
import { makeNode, OUTSIDE_ADDRESS, type TestNode } from './support/node.ts';
import { NODE_ADDRESS } from '../../src/domain/ipam/testing-node.ts';
import { whyNoRuntime } from './support/runtime-programs.ts';

const skip = whyNoRuntime() ?? false;

const COOLDOWN_MS = 1000;

let node: TestNode;
let containerd: Containerd;

before(async () => {
  if (skip !== false) return;
  node = await makeNode({ addressCount: 20, cooldownMs: COOLDOWN_MS, addWaitMs: 2000 });
  await node.startAgent().serving;
  containerd = await makeContainerd(node, {
    cniVersion: '1.0.0',
    chained: [
      { type: 'portmap', capabilities: { portMappings: true }, snat: true },
      { type: 'bandwidth', capabilities: { bandwidth: true } },
      { type: 'tuning', sysctl: { 'net.core.somaxconn': '500' } },
    ],
  });
  await containerd.start();
});
afterEach(async () => {
  if (skip !== false) return;
  // So that one test's failure is not the next one's.
  for (const { id } of await containerd.pods()) await containerd.removePod(id);
});
after(async () => {
  if (skip !== false) return;
  await containerd.powerOff();
  await node.close();
});

const ADDRESS = /^10\.1\.0\.\d+$/;

/** Serves its own name over HTTP. */
const SERVER = ['/bin/sh', '-c', 'hostname > /tmp/index.html; exec httpd -f -p 8080 -h /tmp'];
const IDLE = ['/bin/sleep', '2147483647'];

const allocated = async (): Promise<readonly string[]> =>
  (await node.describe()).allocations.flatMap(({ addresses }) => addresses).sort();

/** An HTTP request by nc alone: the wget of a static busybox crashes on some machines. */
const fetchLine = (address: string, port: number): string =>
  `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | busybox nc -w 3 ${address} ${port}`;
const bodyOf = (answer: string): string | undefined => answer.split('\r\n\r\n')[1]?.trim();

/** What a host outside gets from there; undefined where nobody answers. */
function fetchOutside(address: string, port = 8080): string | undefined {
  const asked = spawnSync('nsenter', [`--net=${node.outside.path}`, 'sh', '-c', fetchLine(address, port)], {
    encoding: 'utf8',
  });
  return bodyOf(asked.stdout);
}

const served = (address: string, port = 8080): Promise<string> =>
  eventually(`${address} answers on port ${port}`, 5000, () => fetchOutside(address, port));

const isFree = (address: string): Promise<true> =>
  eventually(`${address} is free again`, 5000, async () => {
    const { allocations, cooling } = await node.describe();
    const taken: readonly string[] = [...allocations.flatMap((one) => one.addresses), ...cooling];
    return taken.includes(address) ? undefined : true;
  });

test('a pod has the address that the agent granted, inside and in the CRI', { skip }, async () => {
  const pod = await containerd.runPod('granted');
  const container = await containerd.runContainer(pod, 'granted', IDLE);
  const address = await containerd.addressOf(pod);
  assert.match(address, ADDRESS);
  assert.deepEqual(await allocated(), [address]);
  assert.match(
    await containerd.exec(container, 'ip', 'addr', 'show', 'eth0'),
    new RegExp(`inet ${address}/32 `),
  );
  await containerd.removePod(pod);
  assert.deepEqual(await allocated(), []);
  assert.deepEqual(podLinks(), []);
});

const podLinks = (): readonly string[] =>
  node.host.ip('link').flatMap((link) => {
    const name = String(link['ifname']);
    return name.startsWith('eni') ? [name] : [];
  });

test('pods reach each other, and the host outside reaches them and is reached', { skip }, async () => {
  const [server, client] = [await containerd.runPod('server'), await containerd.runPod('client')];
  await containerd.runContainer(server, 'server', SERVER);
  const container = await containerd.runContainer(client, 'client', IDLE);
  const address = await containerd.addressOf(server);
  assert.equal(await served(address), 'server');
  const answer = await containerd.exec(container, 'sh', '-c', fetchLine(address, 8080));
  assert.equal(bodyOf(answer), 'server');
  const pinged = await containerd.exec(container, 'ping', '-c', '1', '-W', '2', OUTSIDE_ADDRESS);
  assert.match(pinged, / 0% packet loss/);
});

test('a host port leads to its pod (portmap), and no more once the pod is removed', { skip }, async () => {
  const pod = await containerd.runPod('port', { hostPorts: { 18080: 8080 } });
  await containerd.runContainer(pod, 'port', SERVER);
  assert.equal(await served(NODE_ADDRESS, 18_080), 'port');
  await containerd.removePod(pod);
  assert.equal(fetchOutside(NODE_ADDRESS, 18_080), undefined);
});

test('the plugins behind ours do their part: tuning sets a sysctl, bandwidth shapes the host link', {
  skip,
}, async () => {
  const pod = await containerd.runPod('tuned', { annotations: { 'kubernetes.io/ingress-bandwidth': '10M' } });
  const container = await containerd.runContainer(pod, 'tuned', IDLE);
  assert.equal(await containerd.exec(container, 'cat', '/proc/sys/net/core/somaxconn'), '500');
  const [link = ''] = podLinks();
  assert.match(node.host.run('tc', 'qdisc', 'show', 'dev', link), /tbf .*rate 10Mbit/);
  await containerd.removePod(pod);
  assert.deepEqual(podLinks(), []);
});

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`pods outlive a restart of containerd by ${signal}, and can be removed after it`, {
    skip,
  }, async () => {
    const pod = await containerd.runPod('outlives');
    await containerd.runContainer(pod, 'outlives', SERVER);
    const address = await containerd.addressOf(pod);
    assert.equal(await served(address), 'outlives');
    await containerd.stop(signal);
    assert.equal(fetchOutside(address), 'outlives');
    await containerd.start();
    assert.equal(fetchOutside(address), 'outlives');
    await containerd.removePod(pod);
    assert.deepEqual(await allocated(), []);
    assert.deepEqual(podLinks(), []);
  });
}

test('a pod cannot start while the agent is down; it says why, leaves nothing, and starts later', {
  skip,
}, async () => {
  await node.agent().kill();
  await assert.rejects(containerd.runPod('too-early'), /the eniwhere agent cannot be reached/);
  await node.startAgent().serving;
  assert.deepEqual(podLinks(), []);
  const pod = await containerd.runPod('too-early', { attempt: 1 });
  assert.match(await containerd.addressOf(pod), ADDRESS);
  await containerd.removePod(pod);
});

test('a pod that is removed while the agent is down is removed once it is back [CNI-2]', {
  skip,
}, async () => {
  const pod = await containerd.runPod('late');
  const address = await containerd.addressOf(pod);
  await node.agent().kill();
  await assert.rejects(containerd.removePod(pod), /the eniwhere agent cannot be reached/);
  await node.startAgent().serving;
  assert.deepEqual(await allocated(), [address], 'the address is held until then');
  await containerd.removePod(pod);
  await isFree(address);
});

test('after a reboot pods come back, no two with one address, and the old ones give theirs back', {
  skip,
}, async () => {
  const names = ['r0', 'r1', 'r2'];
  const before = new Map<string, string>();
  for (const name of names) {
    const pod = await containerd.runPod(name, { hostPorts: { [18_081 + before.size]: 8080 } });
    before.set(pod, await containerd.addressOf(pod));
  }
  await node.agent().kill();
  await containerd.powerOff();
  await eventually("the pods' links are gone", 5000, () => (podLinks().length === 0 ? true : undefined));
  forgetNetwork();

  await node.startAgent().serving;
  await containerd.start();
  // kubelet finds the old sandboxes dead, makes new ones, and removes the old.
  const states = new Map((await containerd.pods()).map(({ id, state }) => [id, state]));
  assert.deepEqual(
    [...before.keys()].map((id) => states.get(id)),
    names.map(() => 'SANDBOX_NOTREADY'),
  );
  const after = new Map<string, string>();
  for (const name of names) {
    const pod = await containerd.runPod(name, { attempt: 1, hostPorts: { [18_081 + after.size]: 8080 } });
    after.set(pod, await containerd.addressOf(pod));
    await containerd.runContainer(pod, name, SERVER);
  }
  assert.equal(new Set(after.values()).size, names.length);
  for (const pod of before.keys()) await containerd.removePod(pod);
  assert.deepEqual(
    await allocated(),
    [...after.values()].sort(),
    'removing the old took nothing from the new',
  );
  for (const [n, address] of [...after.values()].entries()) {
    assert.equal(await served(address), names[n]);
    assert.equal(await served(NODE_ADDRESS, 18_081 + n), names[n]);
  }
  for (const pod of after.keys()) await containerd.removePod(pod);
  for (const address of [...before.values(), ...after.values()]) await isFree(address);
  assert.deepEqual(podLinks(), []);
});

/** What a boot leaves of the node's network: its ENIs, as DHCP sets them up. The pods' links went with the pods. */
function forgetNetwork(): void {
  for (const priority of ['512', '1536', '1536']) node.host.run('ip', 'rule', 'del', 'priority', priority);
  for (const table of ['1000', '1001', '1002']) node.host.run('ip', 'route', 'flush', 'table', table);
  node.host.run('ip', 'addr', 'flush', 'dev', 'eth1');
  node.host.nft('flush ruleset');
}
