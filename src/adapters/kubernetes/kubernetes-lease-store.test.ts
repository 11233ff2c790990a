// The Lease over HTTP, held to the contract of its port, and its troubles.

import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { leaseStoreContract } from '../../ports/leadership.contract.ts';
import { type ClosableLeaseStore, createKubernetesLeaseStore } from './kubernetes-lease-store.ts';
import { type Fault, startTestApiServer, type TestApiServer } from './testing-api-server.ts';
import { fastClock, openConnection, testRandom } from './testing-world.ts';

const ends: (() => Promise<void>)[] = [];
after(async () => {
  for (const end of ends) await end();
});

async function createStore(): Promise<{ readonly api: TestApiServer; readonly store: ClosableLeaseStore }> {
  const api = await startTestApiServer();
  const store = createKubernetesLeaseStore({
    connection: openConnection(api.url),
    clock: fastClock(1),
    random: testRandom(),
    namespace: 'kube-system',
    name: 'eniwhere-controller',
    fieldManager: 'eniwhere-controller',
    version: '0.0.0',
  });
  ends.push(async () => {
    store.close();
    await api.close();
  });
  return { api, store };
}

leaseStoreContract('kubernetes lease store', async () => (await createStore()).store);

suite('[LEAD-1] a write of the lease', () => {
  const lease = { holder: 'a', durationMs: 45_000, acquiredAt: 0, renewedAt: 0, transitions: 0 };
  const faults: readonly [string, Fault, string][] = [
    ['whose answer is lost is unknown', { kind: 'LostAnswer' }, 'unknown'],
    ['that the server breaks off is unknown', { kind: 'Status', code: 500 }, 'unknown'],
    ['that meets a busy server has failed at once', { kind: 'Status', code: 429, retryAfter: 60 }, 'failed'],
    ['that is not let in has failed', { kind: 'Status', code: 403 }, 'failed'],
  ];
  for (const [title, fault, kind] of faults)
    test(title, async () => {
      const { api, store } = await createStore();
      api.fault = () => fault;
      assert.equal((await store.write(lease, undefined)).kind, kind);
    });
});
