// What a person does with the agent on a node.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ip } from '../domain/address/testing.ts';
import { createMemoryCniHost, type MemoryCniHost } from '../agent/testing-cni-host.ts';
import type { AwsCniReport } from '../ports/aws-cni.ts';
import type { PodLinkView } from '../ports/network-stack.ts';
import { done, failed } from '../ports/outcome.ts';
import { runAgentCli } from './agent-program.ts';
import type { AgentNode, BundleFile, BundlePart } from './agent-node.ts';
import { type Ran, runCommand } from './testing.ts';

interface Machine {
  readonly cni: MemoryCniHost;
  readonly links: readonly PodLinkView[];
  readonly isRunning: boolean;
  readonly awsCni: AwsCniReport;
  readonly parts: readonly BundlePart[];
  readonly bundles: Map<string, readonly BundleFile[]>;
}

function machine(over: Partial<Machine> = {}): Machine {
  const cni = createMemoryCniHost();
  cni.configs.set('10-eniwhere.conflist', '{}');
  cni.plugins.set('eniwhere-cni', []);
  const awsCni = { leftovers: [], livePods: [], notes: [] };
  return { cni, links: [], isRunning: false, awsCni, parts: [], bundles: new Map(), ...over };
}

function nodeOf({ cni, links, isRunning, awsCni, parts, bundles }: Machine): AgentNode {
  const refused = async () => failed({ step: 'find', message: 'not asked for' });
  return {
    cni,
    awsCni: { findAwsCniLeftovers: refused, removeAwsCniLeftovers: async () => done(awsCni) },
    awsCniVethPrefix: 'eni',
    stack: { listPodLinks: async () => done(links) },
    isAgentRunning: async () => isRunning,
    bundleParts: parts,
    writeBundle: async (path, files) => {
      bundles.set(path, files);
      return { ok: true, value: undefined };
    },
    close: async () => {},
  };
}

const agentOf = (one: Machine) => async () => ({
  run: async () => 0,
  openNode: async () => ({ ok: true as const, value: nodeOf(one) }),
});

const run = (one: Machine, ...args: string[]): Promise<Ran> =>
  runCommand(['agent', ...args], { agent: agentOf(one) });

const alive: PodLinkView = { hostLink: 'eni00000000001', addresses: [ip('10.1.0.4')] };
/** Of another CNI: none of our routes leads to it. */
const foreign: PodLinkView = { hostLink: 'eni00000000002', addresses: [] };
/** A route whose link is gone. */
const orphan: PodLinkView = { hostLink: '', addresses: [ip('10.1.0.9')] };

describe('eniwhere agent --uninstall', () => {
  test('removes the configuration and then the plugin', async () => {
    const one = machine({ links: [foreign, orphan] });
    const { exitCode, out } = await run(one, '--uninstall');
    assert.equal(exitCode, 0);
    assert.match(out, /^removed 10-eniwhere\.conflist\nremoved eniwhere-cni\n/);
    assert.deepEqual([...one.cni.configs.keys()], []);
    assert.ok(!one.cni.plugins.has('eniwhere-cni') && one.cni.plugins.has('portmap'));
  });

  test('again, finds nothing to remove, and succeeds', async () => {
    const one = machine();
    await run(one, '--uninstall');
    const { exitCode, out } = await run(one, '--uninstall');
    assert.equal(exitCode, 0);
    assert.match(out, /10-eniwhere\.conflist was not there\neniwhere-cni was not there/);
  });

  for (const { title, over, says } of [
    {
      title: 'an agent runs',
      over: { isRunning: true },
      says: /the agent runs on this node .* delete its DaemonSet/,
    },
    {
      title: 'pods live',
      over: { links: [alive] },
      says: /1 pods of Eniwhere live .*\(10\.1\.0\.4\).* drain the node, or give --force/,
    },
  ]) {
    test(`changes nothing while ${title}, and says what to do`, async () => {
      const one = machine(over);
      const { exitCode, err } = await run(one, '--uninstall');
      assert.equal(exitCode, 1);
      assert.match(err, says);
      assert.ok(one.cni.configs.has('10-eniwhere.conflist') && one.cni.plugins.has('eniwhere-cni'));
    });
  }

  test('with --force leaves living pods their network', async () => {
    const one = machine({ links: [alive] });
    const { exitCode, out } = await run(one, '--uninstall', '--force');
    assert.equal(exitCode, 0);
    assert.match(out, /^1 pods live on; they keep their network\nremoved/);
  });

  test('tells what cannot be removed', async () => {
    const one = machine();
    one.cni.refusal = { message: 'EROFS: read-only file system' };
    const { exitCode, err } = await run(one, '--uninstall');
    assert.equal(exitCode, 1);
    assert.match(err, /10-eniwhere\.conflist is not removed: EROFS/);
  });
});

describe('eniwhere agent --clean-aws-cni', () => {
  test('prints what it removed, the configuration among it', async () => {
    const leftovers = ['rule 512 to 10.1.0.9', 'chain AWS-SNAT-CHAIN-0'];
    const one = machine({ awsCni: { leftovers, livePods: [], notes: [] } });
    one.cni.configs.set('10-aws.conflist', '{}');
    const { exitCode, out } = await run(one, '--clean-aws-cni');
    assert.equal(exitCode, 0);
    assert.equal(
      out,
      'removed: rule 512 to 10.1.0.9\nremoved: chain AWS-SNAT-CHAIN-0\nremoved: the network configuration 10-aws.conflist\n',
    );
    assert.deepEqual([...one.cni.configs.keys()], ['10-eniwhere.conflist']);
  });

  test('keeps what living pods of the AWS CNI need, its configuration too', async () => {
    const livePods = [{ address: ip('10.1.0.9'), hostLink: 'eni1' }];
    const one = machine({ awsCni: { leftovers: [], livePods, notes: ['the firewall rules stay'] } });
    one.cni.configs.set('10-aws.conflist', '{}');
    const { exitCode, out } = await run(one, '--clean-aws-cni');
    assert.equal(exitCode, 1);
    assert.match(
      out,
      /^kept: the firewall rules stay\nstill runs: pod 10\.1\.0\.9 at eni1\n1 pods .* drain the node/,
    );
    assert.ok(one.cni.configs.has('10-aws.conflist'));
  });

  test('on a clean node says so', async () => {
    assert.equal(
      (await run(machine(), '--clean-aws-cni')).out,
      'nothing of the AWS CNI is left on this node\n',
    );
  });
});

describe('eniwhere agent support-bundle', () => {
  test('writes every part, without secrets, and the reason where one is missing', async () => {
    const parts = [
      { name: 'settings.txt', read: async () => 'AWS_SECRET_ACCESS_KEY=abc\nMY_NODE_NAME=n0\n' },
      { name: 'metrics.txt', read: () => Promise.reject(new Error('connect ECONNREFUSED 127.0.0.1:61678')) },
    ];
    const one = machine({ parts });
    const { exitCode, out, err } = await run(one, 'support-bundle', '--out', '/tmp/x.tar.gz');
    assert.equal(exitCode, 0);
    assert.match(out, /^\/tmp\/x\.tar\.gz: settings\.txt, metrics\.txt\n/);
    assert.match(err, /^metrics\.txt is missing: connect ECONNREFUSED/);
    assert.deepEqual(one.bundles.get('/tmp/x.tar.gz'), [
      { name: 'settings.txt', text: 'AWS_SECRET_ACCESS_KEY=[redacted]\nMY_NODE_NAME=n0\n' },
      { name: 'metrics.txt', text: 'could not be read: connect ECONNREFUSED 127.0.0.1:61678\n' },
    ]);
  });
});

describe('the command line', () => {
  test('runs the daemon without an option', async () => {
    const agent = async () => ({ ...(await agentOf(machine())()), run: async () => 7 });
    assert.equal((await runCommand(['agent'], { agent })).exitCode, 7);
  });

  test('refuses two commands at once', async () => {
    const { exitCode, err } = await run(machine(), '--uninstall', '--clean-aws-cni');
    assert.equal(exitCode, 2);
    assert.match(err, /give one of them/);
  });

  test('tells every mistake of the settings', async () => {
    const openNode = async () => ({ ok: false as const, error: ['A is wrong', 'B is wrong'] });
    const agent = async () => ({ run: async () => 0, openNode });
    const { exitCode, err } = await runCommand(['agent', '--uninstall'], { agent });
    assert.equal(exitCode, 2);
    assert.equal(err, 'A is wrong\nB is wrong\n');
  });

  test('is the same in the agent’s own executable', async () => {
    const one = machine();
    let out = '';
    const write = (text: string): void => {
      out += text;
    };
    const context = { version: '1.2.3', write, complain: write, agent: agentOf(one) };
    assert.equal(await runAgentCli(['--uninstall'], context), 0);
    assert.match(out, /^removed 10-eniwhere\.conflist/);
    assert.equal(await runAgentCli(['--version'], context), 0);
    assert.equal(await runAgentCli(['--nonsense'], context), 2);
  });
});
