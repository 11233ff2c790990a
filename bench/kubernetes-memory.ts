// What the cluster costs the controller in memory: nodes and pods listed, watched and listed anew, as records against whole objects.
// `node bench/kubernetes-memory.ts [PODS [NODES]]`; 150,000 and 5,000 unless given. Needs no root.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const SUPPORT = join(import.meta.dirname, 'support');
const [podCount = 150_000, nodeCount = 5_000] = process.argv.slice(2).map(Number);
/** What the controller may take, bytes of resident memory. */
const TARGET_MIB = 1024;
const MIB = 1024 * 1024;

interface Figures {
  readonly listSeconds: number;
  readonly listedMib: number;
  readonly eventCount: number;
  readonly watchedMib: number;
  readonly peakMib: number;
}

function start(file: string, nodeOptions: readonly string[], values: readonly string[]): ChildProcess {
  return spawn(process.execPath, [...nodeOptions, join(SUPPORT, file), ...values], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the child has no standard output');
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return line;
}

async function measure(url: string, what: 'records' | 'objects'): Promise<Figures | undefined> {
  const client = start('watch-cluster-process.ts', ['--max-old-space-size=8192'], [what, url]);
  const ended = once(client, 'exit');
  const line = await Promise.race([firstLine(client), ended.then(() => undefined)]);
  await ended;
  if (line === undefined) return undefined;
  const read = JSON.parse(line) as Record<keyof Figures, number>;
  return {
    listSeconds: read.listSeconds,
    listedMib: read.listedMib / MIB,
    eventCount: read.eventCount,
    watchedMib: read.watchedMib / MIB,
    peakMib: read.peakMib / MIB,
  };
}

const server = start('serve-cluster-process.ts', [], [String(podCount), String(nodeCount)]);
try {
  const url = await firstLine(server);
  console.log(`${podCount} pods and ${nodeCount} nodes over plain HTTP from another process; resident MiB`);
  console.log('kept          list s   after list   events   after watch   peak');
  for (const what of ['records', 'objects'] as const) {
    const figures = await measure(url, what);
    if (figures === undefined) {
      console.log(`${what.padEnd(12)}  it ended before it had listed all`);
      continue;
    }
    const { listSeconds, listedMib, eventCount, watchedMib, peakMib } = figures;
    const cells = [
      what.padEnd(12),
      listSeconds.toFixed(1).padStart(7),
      listedMib.toFixed(0).padStart(12),
      String(eventCount).padStart(8),
      watchedMib.toFixed(0).padStart(13),
      peakMib.toFixed(0).padStart(6),
    ];
    console.log(cells.join(' '));
    if (what === 'records') {
      const verdict = peakMib < TARGET_MIB ? 'under' : 'OVER';
      console.log(`              ${verdict} the ${TARGET_MIB} MiB that the controller may take`);
    }
  }
} finally {
  server.kill('SIGKILL');
}
