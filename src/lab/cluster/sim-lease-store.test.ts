// The simulated lease obeys the port's contract.

import { setImmediate as macrotask } from 'node:timers/promises';
import { leaseStoreContract } from '../../ports/leadership.contract.ts';
import type { LeaseStore } from '../../ports/leadership.ts';
import { createKernel } from '../kernel/kernel.ts';
import { createSimCluster } from './sim-cluster.ts';

const MINUTE_MS = 60_000;

/** Each call with as much virtual time as it takes. */
function createStore(): LeaseStore {
  const kernel = createKernel({ seed: 1 });
  const clock = kernel.clock('world');
  const { lease } = createSimCluster({ clock, random: kernel.random.fork('cluster') });
  const store = lease.store(clock);
  const settled = async <T>(call: Promise<T>): Promise<T> => {
    await kernel.run({ untilMs: kernel.now() + MINUTE_MS, drain: () => macrotask() });
    return call;
  };
  return {
    read: () => settled(store.read()),
    write: (value, over) => settled(store.write(value, over)),
  };
}

leaseStoreContract('the lease of the simulated cluster', () => Promise.resolve(createStore()));
