// What every LeaseStore must do: one writer wins each version.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Lease } from '../domain/leadership/lease.ts';
import type { ClusterOutcome } from './cluster.ts';
import type { LeaseStore } from './leadership.ts';

const NOW = Date.UTC(2026, 10, 30);
const lease: Lease = { holder: 'a', durationMs: 45_000, acquiredAt: NOW, renewedAt: NOW, transitions: 0 };

function value<T>(outcome: ClusterOutcome<T>): T {
  assert.ok(outcome.kind === 'ok', JSON.stringify(outcome));
  return outcome.value;
}

function failsWith(outcome: ClusterOutcome<unknown>, kind: string): void {
  assert.ok(outcome.kind === 'failed', JSON.stringify(outcome));
  assert.equal(outcome.failure.kind, kind);
}

/** Registers the suite. `createStore` makes a store without a lease for each test. */
export function leaseStoreContract(name: string, createStore: () => Promise<LeaseStore>): void {
  describe(`[LEAD-1] ${name}`, () => {
    test('a lease that nobody has made is read as undefined, with certainty', async () => {
      const store = await createStore();
      assert.deepEqual(await store.read(), { kind: 'ok', value: undefined });
    });

    test('a lease is read as it was written', async () => {
      const store = await createStore();
      const made = value(await store.write(lease, undefined));
      assert.deepEqual(made.lease, lease);
      assert.deepEqual(value(await store.read()), made);
    });

    test('it is made once', async () => {
      const store = await createStore();
      value(await store.write(lease, undefined));
      failsWith(await store.write({ ...lease, holder: 'b' }, undefined), 'already-exists');
    });

    test('of two that write over one version one wins', async () => {
      const store = await createStore();
      const { version } = value(await store.write(lease, undefined));
      const taken = { ...lease, holder: 'b', transitions: 1, renewedAt: NOW + 1000 };
      const won = value(await store.write(taken, version));
      failsWith(await store.write({ ...taken, holder: 'c' }, version), 'conflict');
      assert.notEqual(won.version, version);
      assert.deepEqual(value(await store.read())?.lease, taken);
    });

    test('one that was given up has no holder', async () => {
      const store = await createStore();
      const { version } = value(await store.write(lease, undefined));
      value(await store.write({ ...lease, holder: '' }, version));
      assert.equal(value(await store.read())?.lease.holder, '');
    });
  });
}
