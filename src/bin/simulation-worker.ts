// A thread that runs the plans which it is sent, one at a time, and sends the results back.

import { setImmediate } from 'node:timers/promises';
import { parentPort as port } from 'node:worker_threads';
import { type RunPlan, simulate } from '../lab/scenario/simulation/simulate.ts';

port?.on('message', (plan: RunPlan) => {
  // A rejection is a mistake of the simulation itself: unhandled, it ends the thread, and the command with it.
  void simulate({ ...plan, drain: () => setImmediate() }).then((result) => port?.postMessage(result));
});
