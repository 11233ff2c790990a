// What an agent cannot be smaller than: Node.js, FFI, and a Worker that has it, too. Ends when its stdin does.

import { isMainThread, Worker } from 'node:worker_threads';
import koffi from 'koffi';

koffi.load(null);
if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url), { execArgv: [] });
  await new Promise((resolve) => worker.once('online', resolve));
  process.stdout.write('ready\n');
  process.stdin.resume();
  process.stdin.once('end', () => process.exit(0));
} else {
  // Keeps the Worker alive.
  setInterval(() => {}, 2 ** 30);
}
