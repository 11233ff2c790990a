// How long CNI ADD and DEL take from exec to exit: eniwhere-cni with its agent, against ptp with host-local, in the same run.
// `node bench/cni-add.ts`, as root; wants containernetworking-plugins in /usr/lib/cni.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PLUGIN, type PluginRun, runPlugin } from './support/cni-node.ts';

const RUN_COUNT = 100;
const WARM_UP_COUNT = 10;
const PEER = '/usr/lib/cni/ptp';
/** Set for the child that has a network namespace of its own: that is the node. */
const IN_NAMESPACE = 'ENIWHERE_BENCH_NAMESPACE';
/** What is asked of ADD, milliseconds. */
const ADD_MEDIAN_TARGET_MS = 15;

interface Contender {
  readonly name: string;
  add(n: number, netnsPath: string): Promise<PluginRun>;
  del(n: number, netnsPath: string): Promise<PluginRun>;
  readonly addMs: number[];
  readonly delMs: number[];
}

function check(what: string, run: PluginRun): PluginRun {
  if (run.exitCode === 0) return run;
  throw new Error(`${what} ended with ${run.exitCode}: ${run.stdout}${run.stderr}`);
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** The same machine does nothing but start a process: what every figure contains, and how noisy the machine is. */
function startUpMs(): readonly number[] {
  return Array.from({ length: RUN_COUNT }, () => {
    const startedAt = process.hrtime.bigint();
    execFileSync('/bin/true');
    return Number(process.hrtime.bigint() - startedAt) / 1e6;
  });
}

async function measure(contenders: readonly Contender[], netnsPath: string): Promise<void> {
  for (let n = 0; n < RUN_COUNT + WARM_UP_COUNT; n++) {
    // In turns, so that what else the machine does hits both alike.
    for (const contender of contenders) {
      const added = check(`${contender.name} ADD`, await contender.add(n, netnsPath));
      const deleted = check(`${contender.name} DEL`, await contender.del(n, netnsPath));
      if (n < WARM_UP_COUNT) continue;
      contender.addMs.push(added.tookMs);
      contender.delMs.push(deleted.tookMs);
    }
  }
}

function report(eniwhere: Contender, peer: Contender): void {
  const line = (name: string, values: readonly number[]): string =>
    `${name.padEnd(22)} ${percentile(values, 0.5).toFixed(1).padStart(8)} ${percentile(values, 0.99).toFixed(1).padStart(8)}`;
  console.log(
    `${'ms, exec to exit'.padEnd(22)} ${'median'.padStart(8)} ${'p99'.padStart(8)}   n = ${RUN_COUNT}`,
  );
  for (const { name, addMs, delMs } of [eniwhere, peer]) {
    console.log(line(`${name} ADD`, addMs));
    console.log(line(`${name} DEL`, delMs));
  }
  console.log(line('/bin/true', startUpMs()));
  const ratio = (ours: readonly number[], theirs: readonly number[]): string =>
    (percentile(theirs, 0.5) / percentile(ours, 0.5)).toFixed(2);
  console.log(
    `ptp+host-local / eniwhere, medians: ADD ${ratio(eniwhere.addMs, peer.addMs)}, DEL ${ratio(eniwhere.delMs, peer.delMs)}`,
  );
  const medianMs = percentile(eniwhere.addMs, 0.5);
  const verdict = medianMs < ADD_MEDIAN_TARGET_MS ? 'met' : 'MISSED (is the machine busy? see /bin/true)';
  console.log(`target: ADD median below ${ADD_MEDIAN_TARGET_MS} ms: ${verdict}`);
}

/** A process that says a line when it is ready, and ends when its stdin does. */
async function startHelper(
  program: string,
  values: readonly string[],
): Promise<{ readonly pid: number | undefined; readonly line: string; end(): Promise<void> }> {
  const helper = spawn(program, values, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(helper, 'exit');
  const first = await Promise.race([once(helper.stdout, 'data'), ended.then(() => undefined)]);
  if (first === undefined) throw new Error(`${program} ${values.join(' ')} ended with ${helper.exitCode}`);
  return {
    pid: helper.pid,
    line: String(first[0]).trim(),
    end: async () => {
      helper.stdin.end();
      await ended;
    },
  };
}

function contender(
  name: string,
  call: (command: string, n: number, netnsPath: string) => Promise<PluginRun>,
): Contender {
  return {
    name,
    add: (n, netnsPath) => call('ADD', n, netnsPath),
    del: (n, netnsPath) => call('DEL', n, netnsPath),
    addMs: [],
    delMs: [],
  };
}

async function bench(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'eniwhere-bench-'));
  const pod = await startHelper('unshare', ['--net', 'sh', '-c', 'echo ready; exec cat >/dev/null']);
  const server = join(import.meta.dirname, 'support/cni-node-process.ts');
  const agent = await startHelper(process.execPath, [server, directory]);
  const dataDir = join(directory, 'ipam');
  const ipam = { type: 'host-local', ranges: [[{ subnet: '10.22.0.0/16' }]], dataDir };
  const eniwhere = contender('eniwhere-cni', (command, n, netnsPath) =>
    runPlugin(PLUGIN, agent.line, { command, containerId: `e${n}`, pod: `p${n}`, netnsPath }),
  );
  const conf = { type: 'ptp', ipam };
  const peer = contender('ptp+host-local', (command, n, netnsPath) =>
    runPlugin(PEER, '', { command, containerId: `t${n}`, pod: `p${n}`, netnsPath, conf }),
  );
  try {
    await measure([eniwhere, peer], `/proc/${pod.pid}/ns/net`);
    report(eniwhere, peer);
  } finally {
    await agent.end();
    await pod.end();
    await rm(directory, { recursive: true });
  }
}

function missing(): string | undefined {
  if (!existsSync(PLUGIN)) return `${PLUGIN} is missing: npm run build:cni`;
  if (!existsSync(PEER)) return `${PEER} is missing: apt-get install containernetworking-plugins`;
  return process.getuid?.() === 0 ? undefined : 'network namespaces need root, or unshare -Urnm';
}

const why = missing();
if (why !== undefined) {
  console.error(`bench/cni-add: ${why}`);
  process.exitCode = 2;
} else if (process.env[IN_NAMESPACE] === undefined) {
  const child = spawnSync('unshare', ['--net', process.execPath, import.meta.filename], {
    stdio: 'inherit',
    env: { ...process.env, [IN_NAMESPACE]: '1' },
  });
  process.exitCode = child.status ?? 1;
} else {
  await bench();
}
