// The service account's files, read as kubelet renews them.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test, type TestContext } from 'node:test';
import { inClusterConnection } from './in-cluster-connection.ts';
import type { KubernetesConnection } from './connection.ts';

interface Pod {
  readonly connection: KubernetesConnection;
  readonly writeToken: (token: string) => void;
  readonly pass: (ms: number) => void;
}

function startPod(context: TestContext): Pod {
  const directory = mkdtempSync(join(tmpdir(), 'eniwhere-token-'));
  context.after(() => rmSync(directory, { recursive: true }));
  let now = 0;
  const never = (): never => assert.fail('no timer is needed');
  const connection = inClusterConnection({
    host: 'fd00::1',
    port: '443',
    directory,
    clock: { now: () => now, bootNow: () => now, timer: never, sleep: never },
  });
  writeFileSync(join(directory, 'ca.crt'), 'PEM');
  return {
    connection,
    writeToken: (token) => writeFileSync(join(directory, 'token'), token),
    pass: (ms) => {
      now += ms;
    },
  };
}

suite('the connection of a pod', () => {
  test('is to the service address, in brackets when that is IPv6, with the token and the authorities', async (t) => {
    const { connection, writeToken } = startPod(t);
    writeToken('first\n');
    assert.equal(connection.server, 'https://[fd00::1]:443');
    assert.deepEqual(await connection.credentials(), { authorization: 'Bearer first', ca: 'PEM' });
  });

  test('takes up a renewed token within a minute, and at once after a refusal', async (t) => {
    const { connection, writeToken, pass } = startPod(t);
    const token = async (): Promise<string | undefined> => (await connection.credentials()).authorization;
    writeToken('first');
    assert.equal(await token(), 'Bearer first');
    writeToken('second');
    pass(60_000);
    assert.equal(await token(), 'Bearer second');
    writeToken('third');
    assert.equal(await token(), 'Bearer second');
    connection.refused();
    assert.equal(await token(), 'Bearer third');
  });

  test('says which file is missing', async (t) => {
    const { connection } = startPod(t);
    await assert.rejects(connection.credentials(), /ENOENT.*token/);
  });
});
