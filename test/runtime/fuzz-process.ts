// Fuzzes with a million inputs: one in ten to the agent's socket, one in a hundred to the compiled plugin, the rest to its source. Started by bench/fuzz.ts.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FuzzFault, type FuzzReport, fuzzPlugin } from './support/fuzz-plugin.ts';
import { fuzzExecutable } from './support/fuzz-executable.ts';
import { fuzzSocket } from './support/fuzz-socket.ts';

const INPUT_COUNT = 1_000_000;
const SOCKET_PART = 0.1;
const EXECUTABLE_PART = 0.01;
/** Inputs between two lines of progress. */
const ROUND_COUNT = 50_000;
const SHOWN_FAULT_COUNT_MAX = 10;
/** Characters: enough to see what went wrong; the seed makes the input again. */
const SHOWN_LENGTH_MAX = 1000;

type Fuzz = (first: number, count: number) => Promise<FuzzReport>;

/** Runs the inputs in rounds; answers the faults. */
async function run(name: string, fuzz: Fuzz, first: number, count: number): Promise<readonly FuzzFault[]> {
  const faults: FuzzFault[] = [];
  const ends = new Map<string, number>();
  const begun = performance.now();
  for (let done = 0; done < count; done += ROUND_COUNT) {
    const report = await fuzz(first + done, Math.min(ROUND_COUNT, count - done));
    faults.push(...report.faults);
    for (const [end, times] of Object.entries(report.ends)) ends.set(end, (ends.get(end) ?? 0) + times);
    console.log(`  ${name}: ${Math.min(done + ROUND_COUNT, count)} inputs, ${faults.length} faults`);
  }
  const perInput = (((performance.now() - begun) * 1000) / count).toFixed(0);
  console.log(`  ${name}: ${perInput} microseconds an input; ends:`);
  for (const [end, times] of [...ends].sort(([, a], [, b]) => b - a)) console.log(`    ${times}\t${end}`);
  return faults;
}

const count = Number(process.argv[2] ?? INPUT_COUNT);
const first = Number(process.argv[3] ?? 1);
const socketCount = Math.round(count * SOCKET_PART);
const executableCount = Math.round(count * EXECUTABLE_PART);
console.log(`fuzzing with ${count} inputs, seeds from ${first}`);
const directory = mkdtempSync(join(tmpdir(), 'eniwhere-fuzz-'));
const faults = [
  ...(await run('plugin', fuzzPlugin, first, count - socketCount - executableCount)),
  ...(await run('executable', (from, n) => fuzzExecutable(directory, from, n), first, executableCount)),
  ...(await run('socket', (from, n) => fuzzSocket(directory, from, n), first, socketCount)),
];
rmSync(directory, { recursive: true });
for (const { seed, what } of faults.slice(0, SHOWN_FAULT_COUNT_MAX)) {
  console.error(`seed ${seed}: ${what.slice(0, SHOWN_LENGTH_MAX)}`);
}
process.exitCode = faults.length === 0 ? 0 : 1;
