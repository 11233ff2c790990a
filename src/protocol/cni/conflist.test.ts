// The network configuration: which versions it offers, and what the runtime reads.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DEFAULT_AGENT_SOCKET } from '../agent-socket/cni-message.ts';
import { commonVersions, renderConflist } from './conflist.ts';

const OLD = ['0.3.0', '0.3.1', '0.4.0', '1.0.0'];
const NEW = [...OLD, '1.1.0'];
const socketPath = DEFAULT_AGENT_SOCKET;
const capabilities = { 'io.kubernetes.cri.pod-annotations': true };

interface Conflist {
  readonly cniVersion: string;
  readonly cniVersions: readonly string[];
  readonly plugins: readonly Readonly<Record<string, unknown>>[];
}

const read = (text: string): Conflist => JSON.parse(text) as Conflist;

describe('the versions of a chain', () => {
  for (const { title, supported, expected } of [
    { title: 'alone, all from 0.4.0 on', supported: [], expected: ['0.4.0', '1.0.0', '1.1.0'] },
    { title: 'with new plugins, the same', supported: [NEW, NEW], expected: ['0.4.0', '1.0.0', '1.1.0'] },
    { title: 'with one old plugin, what it speaks', supported: [NEW, OLD], expected: ['0.4.0', '1.0.0'] },
    { title: 'with a plugin of long ago, none', supported: [['0.1.0', '0.2.0']], expected: [] },
  ]) {
    test(`${title} [CNI-5]`, () => assert.deepEqual(commonVersions(supported), expected));
  }
});

describe('the network configuration', () => {
  test('names a version that old runtimes read, and all of them for new ones [CNI-5]', () => {
    const list = read(renderConflist({ versions: ['0.4.0', '1.0.0', '1.1.0'], socketPath, chained: [] }));
    assert.equal(list.cniVersion, '1.0.0');
    assert.deepEqual(list.cniVersions, ['0.4.0', '1.0.0', '1.1.0']);
    assert.equal(read(renderConflist({ versions: ['0.4.0'], socketPath, chained: [] })).cniVersion, '0.4.0');
  });

  test('has our plugin first, and the chained ones with what the runtime hands them', () => {
    const sysctls = new Map([['net.core.somaxconn', '1024']]);
    const { plugins } = read(
      renderConflist({
        versions: ['1.0.0'],
        socketPath,
        chained: [{ type: 'portmap' }, { type: 'bandwidth' }, { type: 'tuning', sysctls }],
      }),
    );
    assert.deepEqual(plugins, [
      { type: 'eniwhere-cni', capabilities },
      { type: 'portmap', capabilities: { portMappings: true }, snat: true },
      { type: 'bandwidth', capabilities: { bandwidth: true } },
      { type: 'tuning', sysctl: { 'net.core.somaxconn': '1024' } },
    ]);
  });

  test('names the socket only where it is not the usual one', () => {
    const list = read(renderConflist({ versions: ['1.0.0'], socketPath: '/run/other.sock', chained: [] }));
    assert.deepEqual(list.plugins, [{ type: 'eniwhere-cni', capabilities, agentSocket: '/run/other.sock' }]);
  });
});
