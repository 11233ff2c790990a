// The compiled plugin and the agent over a real kernel, as a container runtime meets them.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CniNode,
  PLUGIN,
  type PluginCall,
  type PluginRun,
  startCniNode,
} from '../../bench/support/cni-node.ts';
import { createNamespaceSockets } from '../../src/adapters/linux/namespace-sockets.ts';
import type { Ip } from '../../src/domain/address/ip.ts';
import { PODS_TABLE } from '../../src/domain/datapath/host-datapath.ts';
import { makeNamespace, skip, type TestNamespace, valueOf } from './linux-support.ts';

const PORT = 8080;
/** The status is written in batches; a change is in it well within this time. */
const STATUS_WITHIN_MS = 5000;
const POLL_MS = 50;

interface CniResultJson {
  readonly cniVersion: string;
  readonly interfaces: readonly { readonly name: string; readonly sandbox?: string }[];
  readonly ips: readonly {
    readonly address: string;
    readonly interface: number;
    readonly version?: string;
  }[];
}

const resultOf = ({ exitCode, stdout, stderr }: PluginRun): CniResultJson => {
  assert.equal(exitCode, 0, `${stdout}${stderr}`);
  return JSON.parse(stdout) as CniResultJson;
};

const errorOf = ({ exitCode, stdout }: PluginRun): { code: number; text: string } => {
  assert.equal(exitCode, 1, stdout);
  const { code, msg, details } = JSON.parse(stdout) as { code: number; msg: string; details: string };
  return { code, text: `${msg}: ${details}` };
};

async function eventually(what: string, holds: () => boolean): Promise<void> {
  for (let waitedMs = 0; waitedMs < STATUS_WITHIN_MS; waitedMs += POLL_MS) {
    if (holds()) return;
    await sleep(POLL_MS);
  }
  assert.fail(`never: ${what}`);
}

describe('the plugin on a node', { skip }, () => {
  let host: TestNamespace;
  let pod: TestNamespace;
  let other: TestNamespace;
  let node: CniNode;
  let directory: string;

  before(async () => {
    execFileSync(process.execPath, [join(import.meta.dirname, '../../scripts/build-cni.ts')], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    directory = await mkdtemp(join(tmpdir(), 'eniwhere-cni-'));
    [host, pod, other] = await Promise.all([makeNamespace(), makeNamespace(), makeNamespace()]);
    node = await startCniNode({
      netnsPath: host.path,
      run: (program, ...values) => host.run(program, ...values),
      directory,
      addresses: ['10.1.0.4', '10.1.0.5'],
      cooldownMs: 1000,
      addWaitMs: 3000,
    });
  });

  after(async () => {
    await node?.close();
    await Promise.all([host, pod, other].map((namespace) => namespace?.remove()));
    await rm(directory, { recursive: true, force: true });
  });

  const call = (command: string, change: Partial<PluginCall> = {}): Promise<PluginRun> =>
    node.call({ command, containerId: 'c1', pod: 'cart-0', netnsPath: pod.path, ...change });
  const podRoutes = (): readonly string[] =>
    host.ip('route', 'show', 'table', String(PODS_TABLE)).map(({ dst }) => String(dst));
  const podLinks = (): readonly string[] =>
    host
      .ip('link')
      .map(({ ifname }) => String(ifname))
      .filter((name) => name.startsWith('eni'));

  test('ADD gives the pod an address that packets reach; CHECK agrees; DEL takes all of it away [CNI-1]', async () => {
    const result = resultOf(await call('ADD'));
    assert.deepEqual(
      result.ips.map(({ address }) => address),
      ['10.1.0.4/32'],
    );
    assert.equal(result.interfaces[1]?.sandbox, pod.path);
    assert.deepEqual(podRoutes(), ['10.1.0.4']);
    assert.deepEqual(podLinks(), [result.interfaces[0]?.name]);
    const [eth0] = pod.ip('address', 'show', 'dev', 'eth0') as readonly {
      mtu: number;
      addr_info: object[];
    }[];
    assert.equal(eth0?.mtu, 9001);

    const sockets = createNamespaceSockets();
    const server = valueOf(await sockets.serve({ netnsPath: pod.path, port: PORT }));
    const connection = valueOf(
      await sockets.connect({ netnsPath: host.path, address: '10.1.0.4' as Ip, port: PORT, timeoutMs: 3000 }),
    );
    assert.equal(connection.seenAs, '10.0.0.10');
    await connection.close();
    await server.close();
    await sockets.close();

    assert.deepEqual((await call('CHECK', { conf: { prevResult: result } })).exitCode, 0);
    const deleted = await call('DEL', { conf: { prevResult: result } });
    assert.deepEqual([deleted.exitCode, deleted.stdout], [0, '']);
    assert.deepEqual([podRoutes(), podLinks()], [[], []]);
    assert.equal((await call('DEL', { conf: { prevResult: result } })).exitCode, 0, 'again [CNI-2]');
  });

  test('ADD again answers the same, in each version of the specification [CNI-2]', async () => {
    const first = resultOf(await call('ADD'));
    for (const cniVersion of ['0.3.1', '0.4.0', '1.0.0', '1.1.0']) {
      const again = resultOf(await call('ADD', { conf: { cniVersion } }));
      assert.equal(again.cniVersion, cniVersion);
      assert.equal(again.ips[0]?.address, first.ips[0]?.address);
    }
    assert.equal((await call('DEL')).exitCode, 0);
  });

  test('CHECK names what somebody took away', async () => {
    const result = resultOf(await call('ADD'));
    host.run('ip', 'route', 'flush', 'table', String(PODS_TABLE));
    const { code, text } = errorOf(await call('CHECK', { conf: { prevResult: result } }));
    assert.equal(code, 100);
    assert.match(text, /10\.1\.0\.\d/);
    assert.equal((await call('DEL')).exitCode, 0);
  });

  test('a namespace that is not there fails ADD, names it, and leaves nothing [CNI-1]', async () => {
    const { code, text } = errorOf(await call('ADD', { netnsPath: '/run/netns/nowhere' }));
    assert.equal(code, 999);
    assert.match(text, /\/run\/netns\/nowhere/);
    assert.deepEqual([podRoutes(), podLinks()], [[], []]);
  });

  test('two pods have two addresses; a third is told to try again later, and where addresses come from', async () => {
    const first = resultOf(await call('ADD'));
    const second = resultOf(await call('ADD', { containerId: 'c2', pod: 'cart-1', netnsPath: other.path }));
    assert.notEqual(first.ips[0]?.address, second.ips[0]?.address);
    const third = await makeNamespace();
    const { code, text } = errorOf(
      await call('ADD', { containerId: 'c3', pod: 'cart-2', netnsPath: third.path }),
    );
    await third.remove();
    assert.equal(code, 11);
    assert.match(text, /2 used by pods; new ones come from ENIConfig "blue"/);
    await eventually('the status tells of two pods', () => node.status()?.used.length === 2);
    const gc = await call('GC', {
      conf: { cniVersion: '1.1.0', 'cni.dev/valid-attachments': [{ containerID: 'c2', ifname: 'eth0' }] },
    });
    assert.equal(gc.exitCode, 0, gc.stdout);
    assert.deepEqual(podRoutes(), [second.ips[0]?.address.split('/')[0]]);
    assert.equal((await call('DEL', { containerId: 'c2', pod: 'cart-1' })).exitCode, 0);
  });

  test('pods outlive the agent; down, it is told by its socket; up again, it knows them [U28] [U32]', async () => {
    const result = resultOf(await call('ADD'));
    await node.stopAgent();
    for (const command of ['ADD', 'DEL'] as const) {
      const { code, text } = errorOf(await call(command));
      assert.equal(code, 11);
      assert.ok(text.includes(node.socketPath), text);
    }
    const status = await call('STATUS', { conf: { cniVersion: '1.1.0' } });
    assert.equal(errorOf(status).code, 50);
    assert.equal((await call('VERSION')).exitCode, 0);
    assert.deepEqual(podRoutes(), [result.ips[0]?.address.split('/')[0]]);
    await node.startAgent();
    assert.deepEqual(resultOf(await call('ADD')).ips, result.ips);
    assert.equal((await call('STATUS', { conf: { cniVersion: '1.1.0' } })).exitCode, 0);
    assert.equal((await call('DEL')).exitCode, 0);
  });

  test('a pod whose namespace is gone is deleted all the same [CNI-2]', async () => {
    const brief = await makeNamespace();
    resultOf(await call('ADD', { netnsPath: brief.path }));
    await brief.remove();
    assert.equal((await call('DEL', { netnsPath: brief.path })).exitCode, 0);
    assert.deepEqual([podRoutes(), podLinks()], [[], []]);
  });

  for (const [what, change, code, says] of [
    ['a configuration that is not JSON', { conf: '{"cniVersion":' }, 6, /line 1, column 15/],
    ['an empty stdin', { conf: '' }, 6, /the text ends/],
    ['a version of the future', { conf: { cniVersion: '2.0.0' } }, 1, /"2\.0\.0"/],
    ['no container id', { containerId: '' }, 4, /CNI_CONTAINERID is not set/],
    ['a link name that is too long', { env: { CNI_IFNAME: 'averylonglinkname' } }, 4, /1 to 15 bytes/],
    ['no namespace', { netnsPath: '' }, 4, /CNI_NETNS is not set/],
    ['no pod', { env: { CNI_ARGS: '' } }, 4, /K8S_POD_NAMESPACE/],
    ['an unknown command', { command: 'UPDATE' }, 4, /CNI_COMMAND is "UPDATE"/],
  ] as const satisfies readonly (readonly [string, Partial<PluginCall>, number, RegExp])[]) {
    test(`${what} is refused by the executable itself`, async () => {
      const error = errorOf(await call('ADD', change));
      assert.equal(error.code, code);
      assert.match(error.text, says);
    });
  }

  test('neither .env nor bunfig.toml of the directory in which it is called has any effect', async () => {
    await writeFile(join(directory, '.env'), 'CNI_COMMAND=STATUS\n');
    await writeFile(join(directory, 'bunfig.toml'), 'preload = ["./hostile.ts"]\n');
    const printed = execFileSync(PLUGIN, {
      cwd: directory,
      env: { CNI_COMMAND: 'VERSION' },
      input: '{}',
      encoding: 'utf8',
    });
    assert.match(printed, /supportedVersions/);
  });
});
