// Runs seeds here, or in threads beside this one.

import { availableParallelism } from 'node:os';
import { performance } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import { createMacrotaskTurns } from '../adapters/system/macrotask-turns.ts';
import type { SimulationMachine } from '../cli/context.ts';
import { type RunPlan, type SimulationResult, simulate } from '../lab/scenario/simulation/simulate.ts';

/** A run makes much that is soon forgotten: room for it spares half of the collector's work. */
const YOUNG_GENERATION_MIB = 64;
const WORKER = new URL('simulation-worker.ts', import.meta.url);

export const simulationMachine: SimulationMachine = {
  nowMs: () => performance.now(),
  coreCount: availableParallelism(),
  runOne: (plan, onLog) =>
    simulate({ ...plan, drain: createMacrotaskTurns(), ...(onLog === undefined ? {} : { onLog }) }),
  runMany: async (plans, { workerCount, onResult }) => {
    const waiting = plans.toReversed();
    const count = Math.min(workerCount, plans.length);
    await Promise.all(Array.from({ length: count }, () => work(waiting, onResult)));
  },
};

/** One thread, which runs plan after plan until none waits. */
function work(waiting: RunPlan[], onResult: (result: SimulationResult) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(WORKER, { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB } });
    const next = (): void => {
      const plan = waiting.pop();
      if (plan === undefined) void worker.terminate().then(() => resolve());
      else worker.postMessage(plan, []);
    };
    worker.on('message', (result: SimulationResult) => {
      onResult(result);
      next();
    });
    worker.once('error', reject);
    next();
  });
}
