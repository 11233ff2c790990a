import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as macrotask } from 'node:timers/promises';
import type { NodeName } from '../../domain/ids.ts';
import { createKernel } from '../kernel/kernel.ts';
import { createSimCluster } from './sim-cluster.ts';

const drain = (): Promise<void> => macrotask();

test('a watch gives the list first and then the changes', async () => {
  const kernel = createKernel({ seed: 1 });
  const cluster = createSimCluster({ clock: kernel.clock('cluster'), random: kernel.random.fork('cluster') });
  cluster.admin.applyNode({ name: 'n1' as NodeName });
  const seen: string[] = [];
  cluster.client().watch({ kind: 'Node', onEvent: (event) => seen.push(event.type) });
  kernel
    .clock('person')
    .timer(5000, 'label', () => cluster.admin.setLabel({ kind: 'Node', name: 'n1' }, 'a', 'b'));
  kernel.clock('person').timer(6000, 'delete', () => cluster.admin.deleteNode('n1' as NodeName));
  await kernel.run({ untilMs: kernel.now() + 10_000, drain });
  assert.deepEqual(seen, ['Snapshot', 'Applied', 'Deleted']);
});
