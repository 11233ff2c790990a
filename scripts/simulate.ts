// Runs seeds of the simulation by hand: node scripts/simulate.ts --seed 442 --log, or --from 1 --count 1000.

import { parseArgs } from 'node:util';
import { simulate } from '../src/lab/scenario/simulation/simulate.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    count: { type: 'string', default: '100' },
    minutes: { type: 'string', default: '6' },
    log: { type: 'boolean', default: false },
  },
});
const from = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.count) : 1;
const drain = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const startedAt = process.hrtime.bigint();
let eventCount = 0;
let brokenCount = 0;
for (let seed = from; seed < from + count; seed += 1) {
  const onLog = values.log ? { onLog: (line: string) => console.log(line) } : {};
  const result = await simulate({ seed, drain, faultyMinutes: Number(values.minutes), ...onLog });
  eventCount += result.eventCount;
  if (result.broken === undefined) continue;
  brokenCount += 1;
  console.log(`seed ${seed} breaks ${result.broken.rule}: ${result.broken.what}`);
  if (values.log) console.log(result.recentEvents.join('\n'));
}
const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9;
console.log(`${count} seeds, ${brokenCount} broken, ${eventCount} events in ${seconds.toFixed(1)} s`);
process.exitCode = brokenCount === 0 ? 0 : 1;
