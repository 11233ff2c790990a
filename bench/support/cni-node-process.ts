// The node's agent as a process of its own, as on a real node: `cni-node-process.ts DIRECTORY`. Serves until its stdin ends.

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { startCniNode } from './cni-node.ts';

const ADDRESS_COUNT = 280;

const node = await startCniNode({
  netnsPath: '/proc/self/ns/net',
  run: (program, ...values) => execFileSync(program, values, { encoding: 'utf8' }),
  directory: process.argv[2] ?? '.',
  addresses: Array.from(
    { length: ADDRESS_COUNT },
    (_, n) => `10.1.${1 + Math.floor(n / 200)}.${1 + (n % 200)}`,
  ),
  cooldownMs: 0,
  addWaitMs: 1000,
});
process.stdout.write(`${node.socketPath}\n`);
process.stdin.resume();
await once(process.stdin, 'end');
await node.close();
