// What an agent cannot be smaller than: Node.js, FFI, and two Workers that have it, too. Ends when its stdin does.

import { isMainThread, Worker } from 'node:worker_threads';
import koffi from 'koffi';

koffi.load(null);
if (isMainThread) {
  const workers = [0, 1].map(() => new Worker(new URL(import.meta.url), { execArgv: [] }));
  await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('online', resolve))));
  process.stdout.write('ready\n');
  process.stdin.resume();
  process.stdin.once('end', () => process.exit(0));
} else {
  // Keeps the Worker alive.
  setInterval(() => {}, 2 ** 30);
}
