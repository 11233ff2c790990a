// The agent's executable on a node: from its first start to its removal, against an API server.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { NODE_NETWORKS, PODS } from '../../src/adapters/kubernetes/testing-api-server.ts';
import { writeNodeNetworkSpec } from '../../src/protocol/crd/node-network.ts';
import { eventually as eventuallyWithin } from './support/eventually.ts';
import { type Daemon, type Executable, prepareExecutable } from './support/executable.ts';
import { makeNode, type TestNode } from './support/node.ts';
import { nodeSpec } from './support/node-spec.ts';
import { addressOf, callPlugin, createPodNamespaces, type PluginSeat } from './support/plugin.ts';
import { buildTool, whyNoRuntime } from './support/runtime-programs.ts';
import { type SecureApi, startSecureApi } from './support/secure-api.ts';

const skip = whyNoRuntime() ?? false;
/** Below the ports that the kernel gives to clients, and not those of an agent that may run on this machine. */
const PORTS = [21_679, 21_678] as const;
const CONFLIST = '10-eniwhere.conflist';

/** Start, install and status take well under a second each. */
const WITHIN_MS = 20_000;

const eventually = (what: string, holds: () => Promise<boolean> | boolean): Promise<true> =>
  eventuallyWithin(what, WITHIN_MS, async () => ((await holds()) ? true : undefined));

describe("the agent's executable", { skip }, () => {
  const namespaces = createPodNamespaces();
  let node: TestNode;
  let api: SecureApi;
  let executable: Executable;
  let daemon: Daemon | undefined;
  let seat: PluginSeat;
  let cnitool: string;

  const get = async (path: string): Promise<{ readonly status: number; readonly body: string }> => {
    const answer = await fetch(`${executable.introspection}${path}`);
    return { status: answer.status, body: await answer.text() };
  };
  const status = async (path: string): Promise<number | undefined> =>
    get(path).then(
      (answer) => answer.status,
      () => undefined,
    );
  const conflist = (): string => join(executable.configDirectory, CONFLIST);
  const start = (): void => {
    daemon = executable.start();
  };
  const ready = (): Promise<unknown> =>
    eventually('the agent is ready', async () => (await status('/readyz')) === 200);

  before(async () => {
    cnitool = buildTool('cnitool');
    node = await makeNode({ addressCount: 3, cooldownMs: 500, addWaitMs: 1000, unpublished: true });
    api = await startSecureApi(node.directory);
    executable = prepareExecutable(node, api, PORTS);
    seat = { pluginPath: join(executable.pluginDirectory, 'eniwhere-cni'), socketPath: node.socketPath };
  });
  after(async () => {
    await daemon?.kill();
    namespaces.removeAll();
    await api.close();
    await node.close();
  });

  test('[CNI-4] installs its plugin at once, and no configuration as long as it knows no NodeNetwork', async () => {
    start();
    await eventually('the plugin is there', () => existsSync(seat.pluginPath));
    await eventually('it answers', async () => (await status('/healthz')) === 200);
    const { status: code, body } = await get('/readyz');
    assert.equal(code, 503);
    assert.match(body, /there is no NodeNetwork n0 yet/);
    assert.ok(!existsSync(conflist()));
  });

  test('[CNI-4] writes the configuration once the controller has published what it may use', async () => {
    const spec = writeNodeNetworkSpec(nodeSpec(node.granted, 500));
    assert.ok(spec.ok, JSON.stringify(spec));
    api.api.store.put(NODE_NETWORKS, 'n0', { metadata: { name: 'n0' }, spec: spec.value });
    await ready();
    const { cniVersions, plugins } = JSON.parse(readFileSync(conflist(), 'utf8')) as Record<string, unknown>;
    assert.deepEqual(cniVersions, ['0.4.0', '1.0.0'], "Debian's portmap speaks no 1.1.0");
    assert.deepEqual(plugins, [
      {
        type: 'eniwhere-cni',
        capabilities: { 'io.kubernetes.cri.pod-annotations': true },
        agentSocket: node.socketPath,
      },
      { type: 'portmap', capabilities: { portMappings: true }, snat: true },
    ]);
  });

  test('a pod is wired by the installed plugin, and shown to scripts and to Prometheus', async () => {
    api.api.store.put(PODS, 'shop/web', {
      metadata: { name: 'web', namespace: 'shop' },
      spec: { nodeName: 'n0' },
    });
    const pod = { pod: 'web', containerId: 'web', netnsPath: namespaces.make('web') };
    const address = addressOf(await callPlugin(seat, 'ADD', pod));
    const enis = JSON.parse((await get('/v1/enis')).body) as Record<string, { AssignedIPs: number }>;
    assert.equal(enis['0']?.AssignedIPs, 1);
    assert.match((await get('/v1/pods')).body, new RegExp(`"web"[^]*"${address}"`));
    const metrics = await (await fetch(executable.metrics)).text();
    assert.match(metrics, /^awscni_assigned_ip_addresses 1$/m);
    assert.match(metrics, /^eniwhere_cni_requests_total\{command="ADD",code="0"\} 1$/m);
    await eventually('the status has it', () => {
      const written = api.api.store.get(NODE_NETWORKS, 'n0')?.status;
      return JSON.stringify(written ?? {}).includes(address);
    });
  });

  test('[CNI-5] libcni reads the configuration, and drives the whole chain by it', () => {
    const netns = namespaces.make('libcni');
    const run = (command: string): { readonly status: number | null; readonly text: string } => {
      const env = {
        ...process.env,
        CNI_PATH: executable.pluginDirectory,
        NETCONFPATH: executable.configDirectory,
        CNI_ARGS: 'IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=libcni',
      };
      const values = [`--net=${node.host.path}`, cnitool, command, 'eniwhere', netns];
      const { status: code, stdout, stderr } = spawnSync('nsenter', values, { encoding: 'utf8', env });
      return { status: code, text: `${stdout}${stderr}` };
    };
    const added = run('add');
    assert.equal(added.status, 0, added.text);
    assert.equal((JSON.parse(added.text) as { cniVersion: string }).cniVersion, '1.0.0');
    for (const command of ['check', 'del']) {
      const { status: code, text } = run(command);
      assert.equal(code, 0, text);
    }
  });

  test('a caller who is not root is refused, whatever the mode of the socket', () => {
    execFileSync('chmod', ['-R', 'o+rwx', join(node.directory, 'run')]);
    execFileSync('chmod', ['o+x', node.directory]);
    const script = `require('net').connect(${JSON.stringify(node.socketPath)}).on('data', (text) => process.stdout.write(text)).on('error', (error) => console.log(error.code)).end('POST /cni HTTP/1.0\\r\\ncontent-length: 20\\r\\n\\r\\n{"command":"STATUS"}')`;
    const out = execFileSync('setpriv', [
      '--reuid=65534',
      '--regid=65534',
      '--clear-groups',
      process.execPath,
      '-e',
      script,
    ]);
    assert.doesNotMatch(out.toString(), / 200 |"kind"/);
    assert.match(executable.log(), /"uid":65534,"msg":"a caller who is not root is refused"/);
  });

  test('a second agent on the node does not start', async () => {
    const { exitCode, out } = await executable.run();
    assert.equal(exitCode, 1);
    assert.match(out, /the agent cannot start: another agent answers on /);
  });

  test('a support bundle has the state of the node, and no secret', async () => {
    const path = join(node.directory, 'bundle.tar.gz');
    const log = join(node.directory, 'other.log');
    writeFileSync(log, 'authorization: Bearer abcdefghijklmnop\nthe end\n');
    const { exitCode, out } = await executable.run('support-bundle', '--out', path, '--log', log);
    assert.equal(exitCode, 0, out);
    const read = (name: string): string => execFileSync('tar', ['-xOzf', path, name], { encoding: 'utf8' });
    assert.match(read('network.txt'), /prio 512 lookup 1000 proto 225[^]*table inet eniwhere/);
    assert.match(read('journal.txt'), /allocations: 1\n {2}shop\/web 10\.1\.0\.\d+/);
    assert.match(read('agent-v1-enis.txt'), /^200\n[^]*AvailableIPv4Cidrs/);
    assert.match(read('logs.txt'), /Bearer \[redacted\]\nthe end/);
    const whole = execFileSync('tar', ['-xOzf', path], { encoding: 'utf8' });
    assert.doesNotMatch(whole, /the-token|abcdefghijklmnop|PRIVATE KEY/);
  });

  test('[CNI-4] stopped, it leaves plugin, configuration and pods as they are, and takes them over again', async () => {
    assert.equal(await daemon?.stop(), 0);
    assert.ok(existsSync(conflist()) && existsSync(seat.pluginPath));
    assert.equal(namespaces.addresses('web').length, 1);
    start();
    await ready();
    assert.match((await get('/v1/pods')).body, /"web"/);
  });

  test('--uninstall is refused while the agent runs, and while pods live', async () => {
    assert.match((await executable.run('--uninstall')).out, /the agent runs on this node/);
    await daemon?.stop();
    const { exitCode, out } = await executable.run('--uninstall');
    assert.equal(exitCode, 1);
    assert.match(out, /1 pods of Eniwhere live on this node \(10\.1\.0\.\d+\)/);
    assert.ok(existsSync(conflist()));
  });

  test('after the last pod --uninstall removes configuration and plugin', async () => {
    start();
    await ready();
    const pod = { pod: 'web', containerId: 'web', netnsPath: '/run/netns/gone' };
    assert.equal((await callPlugin(seat, 'DEL', pod)).exitCode, 0);
    await daemon?.stop();
    const { exitCode, out } = await executable.run('--uninstall');
    assert.equal(exitCode, 0, out);
    assert.ok(!existsSync(conflist()) && !existsSync(seat.pluginPath));
  });

  test('--clean-aws-cni removes a leftover of the AWS CNI, and leaves our own rules', async () => {
    const { host } = node;
    host.run('ip', 'rule', 'add', 'from', '10.9.0.9', 'priority', '1536', 'table', '3');
    host.run('ip', 'rule', 'add', 'to', '10.9.0.9', 'priority', '512', 'table', 'main');
    writeFileSync(join(executable.configDirectory, '10-aws.conflist'), '{}');
    const { exitCode, out } = await executable.run('--clean-aws-cni');
    assert.equal(exitCode, 0, out);
    assert.equal(out.match(/^removed: /gm)?.length, 3, out);
    const rules = host.run('ip', 'rule');
    assert.doesNotMatch(rules, /10\.9\.0\.9/);
    assert.match(rules, /512:\s+from all lookup 1000/);
  });

  test('wrong settings are told all at once', async () => {
    const wrong = executable.start({ DISABLE_METRICS: 'maybe', HOST_CNI_BIN_PATH: 'relative' });
    await eventually('it has ended', () => /HOST_CNI_BIN_PATH="relative"/.test(executable.log()));
    assert.match(executable.log(), /DISABLE_METRICS="maybe": expected true or false/);
    await wrong.kill();
  });
});
