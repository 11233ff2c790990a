// How long CNI ADD and DEL take from exec to exit: eniwhere-cni with its agent, against ptp with host-local, in the same run.
// `node bench/cni-add.ts [--peer PLUGIN --peer-conf FILE]`, as root; wants containernetworking-plugins in /usr/lib/cni.
// A peer is any CNI plugin by path; the file is its network configuration.

import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { invocation, PLUGIN } from './support/cni-node.ts';
import { startHelper } from './support/helper-process.ts';
import { inOwnNamespaces, makePodNamespaces, removePodNamespaces } from './support/pod-namespaces.ts';
import { runTimed, type TimedRun } from './support/timed-program.ts';

/** Pods that are there already. */
const EXISTING = [0, 240];
/** One at a time. */
const RUN_COUNT = 100;
const PARALLEL = 10;
/** Of PARALLEL pods each. */
const ROUND_COUNT = 10;
const WARM_UP_COUNT = 5;
const PTP = '/usr/lib/cni/ptp';
/** What is asked of the medians with 240 pods, one at a time: this share of ptp's. */
const SHARE_MAX = 0.5;

const { values } = parseArgs({ options: { peer: { type: 'string' }, 'peer-conf': { type: 'string' } } });

interface Pod {
  readonly id: string;
  readonly netnsPath: string;
}

interface Contender {
  readonly name: string;
  /** `among` so many that are called at once. */
  call(command: 'ADD' | 'DEL', pod: Pod, among: number): Promise<TimedRun>;
  /** Namespaces of the pods that stay, and of those that come and go. */
  readonly existing: readonly string[];
  readonly passing: readonly string[];
}

type Times = Record<'ADD' | 'DEL', number[]>;

async function check(contender: Contender, command: 'ADD' | 'DEL', pod: Pod, among = 1): Promise<number> {
  const run = await contender.call(command, pod, among);
  if (run.exitCode === 0) return run.tookMs;
  throw new Error(`${contender.name} ${command} ended with ${run.exitCode}: ${run.stdout}${run.stderr}`);
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** In turns, so that what else the machine does hits all alike. Times of each contender, in their order. */
async function measure(
  contenders: readonly Contender[],
  atOnce: number,
  rounds: number,
): Promise<readonly Times[]> {
  const times = contenders.map((): Times => ({ ADD: [], DEL: [] }));
  for (let round = -WARM_UP_COUNT; round < rounds; round++) {
    for (const [index, contender] of contenders.entries()) {
      const pods = contender.passing.slice(0, atOnce);
      for (const command of ['ADD', 'DEL'] as const) {
        const took = await Promise.all(
          pods.map((netnsPath, n) =>
            check(contender, command, { id: `passing-${round + WARM_UP_COUNT}-${n}`, netnsPath }, atOnce),
          ),
        );
        if (round >= 0) times[index]?.[command].push(...took);
      }
    }
  }
  return times;
}

/** The same machine does nothing but start a process: what every figure contains, and how noisy the machine is. */
async function startUpMs(directory: string): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < RUN_COUNT; n++) {
    const run = await runTimed({ program: '/bin/true', env: {}, stdin: '', directory, name: 'true' }, 1);
    times.push(run.tookMs);
  }
  return percentile(times, 0.5);
}

/** Ticks of /proc/PID/stat in a second, whatever the kernel's own. */
const TICKS_PER_SECOND = 100;

/** User and system time of the process and its threads: on a busy machine the only time that is its own. */
function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
}

const cell = (value: number): string => value.toFixed(1).padStart(8);

/** Prints a table; answers our medians' shares of the first peer's. */
function report(title: string, contenders: readonly Contender[], times: readonly Times[]): Times {
  console.log(`${title}, n = ${times[0]?.ADD.length}`);
  console.log(
    `  ${''.padEnd(20)} ${['ADD ms', 'p99', 'DEL ms', 'p99'].map((head) => head.padStart(8)).join('')}`,
  );
  const shares: Times = { ADD: [], DEL: [] };
  for (const [index, { name }] of contenders.entries()) {
    const cells = (['ADD', 'DEL'] as const).flatMap((command) => {
      const own = times[index]?.[command] ?? [];
      shares[command].push(percentile(times[0]?.[command] ?? [], 0.5) / percentile(own, 0.5));
      return [percentile(own, 0.5), percentile(own, 0.99)];
    });
    const ratio =
      index === 0
        ? ''
        : `   ours is ${shares.ADD[index]?.toFixed(2)} and ${shares.DEL[index]?.toFixed(2)} of it`;
    console.log(`  ${name.padEnd(20)} ${cells.map(cell).join('')}${ratio}`);
  }
  return shares;
}

function contendersIn(directory: string, agentSocket: string): readonly Contender[] {
  const most = Math.max(...EXISTING);
  const contender = (name: string, program: string, conf: Readonly<Record<string, unknown>>): Contender => ({
    name,
    call: (command, { id, netnsPath }, among) =>
      runTimed(
        {
          ...invocation(agentSocket, { command, containerId: id, pod: id, netnsPath, conf }),
          program,
          directory,
          name: `${name}-${id}`,
        },
        among,
      ),
    existing: makePodNamespaces(directory, `${name}-existing`, most),
    passing: makePodNamespaces(directory, `${name}-passing`, PARALLEL),
  });
  const dataDir = join(directory, 'ipam');
  const ipam = { type: 'host-local', ranges: [[{ subnet: '10.22.0.0/16' }]], dataDir };
  const { peer, 'peer-conf': conf } = values;
  return [
    contender('eniwhere-cni', PLUGIN, {}),
    contender('ptp+host-local', PTP, { type: 'ptp', ipam }),
    ...(peer === undefined
      ? []
      : [contender(basename(peer), peer, conf === undefined ? {} : JSON.parse(readFileSync(conf, 'utf8')))]),
  ];
}

async function bench(): Promise<void> {
  // Each program that runs has a thread that waits for it.
  process.env['UV_THREADPOOL_SIZE'] = String(PARALLEL);
  const directory = await mkdtemp(join(tmpdir(), 'eniwhere-bench-'));
  const server = join(import.meta.dirname, 'support/cni-node-process.ts');
  const agent = await startHelper(process.execPath, [server, directory]);
  const contenders = contendersIn(directory, agent.line);
  const ours: Times[] = [];
  try {
    let existing = 0;
    for (const count of EXISTING) {
      for (const contender of contenders) {
        for (let n = existing; n < count; n++) {
          await check(contender, 'ADD', { id: `existing-${n}`, netnsPath: contender.existing[n] ?? '' });
        }
      }
      existing = count;
      const before = processorMs(agent.pid);
      const single = await measure(contenders, 1, RUN_COUNT);
      const perPair = (processorMs(agent.pid) - before) / (RUN_COUNT + WARM_UP_COUNT);
      const shares = report(`${count} pods, one at a time`, contenders, single);
      ours.push(single[0] ?? { ADD: [], DEL: [] });
      console.log(
        `  the agent's processor time for an ADD, its DEL and what follows: ${perPair.toFixed(1)} ms`,
      );
      const many = await measure(contenders, PARALLEL, ROUND_COUNT);
      report(`${count} pods, ${PARALLEL} at once`, contenders, many);
      if (count > 0) judge(shares, ours);
    }
    const startUp = await startUpMs(directory);
    console.log(`/bin/true takes ${startUp.toFixed(1)} ms: more than 1 means a busy machine`);
  } finally {
    await agent.end();
    removePodNamespaces(contenders.flatMap(({ existing, passing }) => [...existing, ...passing]));
    await rm(directory, { recursive: true });
  }
}

/** Growth also between the quickest tenths, which is less of what else the machine does. */
function judge({ ADD, DEL }: Times, ours: readonly Times[]): void {
  const verdict = (share = Number.NaN): string =>
    `${share.toFixed(2)} ${share <= SHARE_MAX ? 'met' : 'MISSED'}`;
  const growth = (share: number): string =>
    (percentile(ours.at(-1)?.ADD ?? [], share) / percentile(ours[0]?.ADD ?? [], share)).toFixed(2);
  console.log(`aim: at most ${SHARE_MAX} of ptp: ADD ${verdict(ADD[1])}, DEL ${verdict(DEL[1])}`);
  console.log(
    `aim: no growth: ADD with ${EXISTING.at(-1)} pods takes ${growth(0.5)} of what it takes with none, the quickest tenth ${growth(0.1)}`,
  );
}

function missing(): string | undefined {
  if (!existsSync(PLUGIN)) return `${PLUGIN} is missing: npm run build:cni`;
  if (!existsSync(PTP)) return `${PTP} is missing: apt-get install containernetworking-plugins`;
  return process.getuid?.() === 0 ? undefined : 'network namespaces need root, or unshare -Urnm';
}

const why = missing();
if (why === undefined) {
  await inOwnNamespaces(import.meta.filename, bench);
} else {
  console.error(`bench/cni-add: ${why}`);
  process.exitCode = 2;
}
