// The plugin driven by cnitool, the program of the CNI project itself: libcni's view of every command and version.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { eventually } from './support/eventually.ts';
import { makeNode, type TestNode } from './support/node.ts';
import { addressOf, callPlugin, createPodNamespaces } from './support/plugin.ts';
import { buildTool, whyNoRuntime } from './support/runtime-programs.ts';

const skip = whyNoRuntime() ?? false;

/** libcni remembers attachments by the network's name, for the whole machine. */
const NETWORK = 'eniwhere-cnitool';

const namespaces = createPodNamespaces();
let node: TestNode;
let cnitool: string;

before(async () => {
  if (skip !== false) return;
  cnitool = buildTool('cnitool');
  node = await makeNode({ addressCount: 4, cooldownMs: 100, addWaitMs: 2000 });
  mkdirSync(join(node.directory, 'net.d'));
  for (const name of ['portmap', 'tuning']) {
    symlinkSync(`/usr/lib/cni/${name}`, join(dirname(node.pluginPath), name));
  }
  await node.startAgent().serving;
});
afterEach(() => namespaces.removeAll());
after(async () => {
  if (skip === false) await node.close();
});

interface ToolEnd {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs cnitool on the node for a pod of that name and namespace. */
function tool(command: 'add' | 'check' | 'del' | 'gc' | 'status', pod: string, netns: string): ToolEnd {
  return spawnSync('nsenter', [`--net=${node.host.path}`, cnitool, command, NETWORK, netns], {
    encoding: 'utf8',
    env: {
      ...process.env,
      CNI_PATH: dirname(node.pluginPath),
      NETCONFPATH: join(node.directory, 'net.d'),
      CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=${pod}`,
    },
  });
}

const succeeds = (end: ToolEnd): string => {
  assert.equal(end.status, 0, `${end.stdout}${end.stderr}`);
  return end.stdout;
};

function writeList(cniVersion: string, chained: readonly Readonly<Record<string, unknown>>[]): void {
  const plugins = [{ type: 'eniwhere-cni', agentSocket: node.socketPath }, ...chained];
  const text = JSON.stringify({ cniVersion, name: NETWORK, plugins });
  writeFileSync(join(node.directory, 'net.d/10-eniwhere.conflist'), text);
}

const CHAINED = [
  { type: 'portmap', capabilities: { portMappings: true } },
  { type: 'tuning', sysctl: { 'net.core.somaxconn': '500' } },
];

/** Debian's plugins speak 1.0.0 at most, so the newest version is tried with ours alone. */
const LISTS = [
  { cniVersion: '0.4.0', chained: CHAINED },
  { cniVersion: '1.0.0', chained: CHAINED },
  { cniVersion: '1.1.0', chained: [] },
];

const allocationCount = async (): Promise<number> => (await node.describe()).allocations.length;

for (const { cniVersion, chained } of LISTS) {
  test(`add, check and del, each twice, in version ${cniVersion} [CNI-2] [CNI-5]`, { skip }, async () => {
    writeList(cniVersion, chained);
    const netns = namespaces.make('tool');
    const first = succeeds(tool('add', 'cart', netns));
    const result = JSON.parse(first) as { cniVersion: string; ips: readonly { address: string }[] };
    assert.equal(result.cniVersion, cniVersion);
    assert.equal(result.ips[0]?.address, `${namespaces.addresses('tool').join()}/32`);
    assert.equal(succeeds(tool('add', 'cart', netns)), first);
    assert.equal(await allocationCount(), 1);
    succeeds(tool('check', 'cart', netns));
    succeeds(tool('check', 'cart', netns));
    succeeds(tool('del', 'cart', netns));
    assert.deepEqual(namespaces.addresses('tool'), []);
    succeeds(tool('del', 'cart', netns));
    assert.equal(await allocationCount(), 0);
  });

  test(`check tells what is missing, in version ${cniVersion}`, { skip }, () => {
    writeList(cniVersion, chained);
    const netns = namespaces.make('tool');
    succeeds(tool('add', 'cart', netns));
    spawnSync('nsenter', [`--net=${netns}`, 'ip', 'route', 'del', 'default']);
    const checked = tool('check', 'cart', netns);
    assert.equal(checked.status, 1);
    assert.match(checked.stderr, /default/);
    succeeds(tool('del', 'cart', netns));
  });
}

test('gc without a list deletes the attachments that libcni remembers; the plugin itself guesses nothing [RST-1]', {
  skip,
}, async () => {
  writeList('1.1.0', []);
  const netns = namespaces.make('tool');
  succeeds(tool('add', 'cart', netns));
  // Of an attachment that libcni does not remember, nobody knows whether it is in use.
  const unknown = { pod: 'other', containerId: 'other', netnsPath: namespaces.make('other') };
  const address = addressOf(await callPlugin(node, 'ADD', unknown));
  const collected = tool('gc', 'cart', netns);
  assert.match(collected.stderr, /GC needs the attachments to keep/);
  assert.deepEqual(namespaces.addresses('tool'), []);
  assert.deepEqual(namespaces.addresses('other'), [address]);
  assert.equal((await callPlugin(node, 'DEL', unknown)).exitCode, 0);
});

test('status succeeds while the agent serves, and fails with its reason while it does not', {
  skip,
}, async () => {
  writeList('1.1.0', []);
  const netns = namespaces.make('tool');
  succeeds(tool('status', 'cart', netns));
  await node.agent().kill();
  const down = tool('status', 'cart', netns);
  assert.equal(down.status, 1);
  assert.match(down.stderr, /the eniwhere agent cannot be reached/);
  // A node that has never known an address.
  rmSync(node.journalPath);
  node.unpublish();
  await node.startAgent().listening;
  const starting = tool('status', 'cart', netns);
  assert.equal(starting.status, 1);
  assert.match(starting.stderr, /there is no NodeNetwork n0 yet/);
  node.publish();
  await node.agent().serving;
  succeeds(tool('status', 'cart', netns));
});

test('status succeeds when addresses have run out: the pods that run must not be evicted', {
  skip,
}, async () => {
  writeList('1.1.0', []);
  const pods = node.granted.map((_, n) => ({ pod: `p${n}`, netns: namespaces.make(`p${n}`) }));
  await eventually('all addresses are free', 5000, async () =>
    (await node.describe()).cooling.length === 0 ? true : undefined,
  );
  for (const { pod, netns } of pods) succeeds(tool('add', pod, netns));
  assert.equal(tool('add', 'one-more', namespaces.make('more')).status, 1);
  succeeds(tool('status', 'p0', pods[0]?.netns ?? ''));
  for (const { pod, netns } of pods) succeeds(tool('del', pod, netns));
});
