// A thread that runs the plans which it is sent, one at a time, and sends the results back.

import { parentPort as port } from 'node:worker_threads';
import { createMacrotaskTurns } from '../adapters/system/macrotask-turns.ts';
import { type RunPlan, simulate } from '../lab/scenario/simulation/simulate.ts';

const drain = createMacrotaskTurns();

port?.on('message', (plan: RunPlan) => {
  // A rejection is a mistake of the simulation itself: unhandled, it ends the thread, and the command with it.
  void simulate({ ...plan, drain }).then((result) => port?.postMessage(result));
});
