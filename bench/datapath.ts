// What 250 pods on a node cost a packet: this layout beside no policy rules and two rules per pod, in the same run. `node bench/datapath.ts`, as root.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  type Layout,
  noRules,
  POD_COUNT,
  thisLayout,
  twoRulesPerPod,
  VPC_HOST,
} from './support/datapath-layouts.ts';

const ROUNDS = 5;
/** iperf3 counts in whole seconds. */
const SECONDS = 1;
/** Of 64 bytes, IPv4 and UDP headers are 28. */
const UDP_PAYLOAD_BYTES = 36;
/** Small segments make the number of packets count, as with UDP. */
const TCP_SEGMENT_BYTES = 500;
const PORT = '5201';
const SERVER_TRY_MAX = 100;
const SENDER = fileURLToPath(new URL('support/send-datagrams-process.ts', import.meta.url));

interface Measure {
  readonly titles: readonly string[];
  /** One value for each title; more is better. */
  readonly once: (layout: Layout) => Promise<readonly number[]>;
}

/** Runs a program in the pod. A measurement that hangs ends the benchmark. */
function runInPod({ pod }: Layout, command: readonly string[]): string {
  const ran = spawnSync('nsenter', [`--net=${pod.path}`, ...command], {
    encoding: 'utf8',
    timeout: SECONDS * 10_000,
  });
  if (ran.status !== 0) throw new Error(`${command.join(' ')}: ${ran.stdout}${ran.stderr}`);
  return ran.stdout;
}

function receivedPackets({ vpc }: Layout): number {
  const [link] = JSON.parse(vpc.sh('ip -j -s link show r1')) as readonly [
    { readonly stats64: { readonly rx: { readonly packets: number } } },
  ];
  return link.stats64.rx.packets;
}

/**
 * Packets per millisecond that came out of the node's other side, and packets per millisecond of processor time. The
 * kernel forwards a veth's packets on the sender's own time, all the way to the receiver: so the second says the same on a
 * busy machine.
 */
async function sendDatagrams(layout: Layout): Promise<readonly number[]> {
  const before = receivedPackets(layout);
  const sender = [process.execPath, SENDER, VPC_HOST, String(UDP_PAYLOAD_BYTES), String(SECONDS * 1000)];
  const [sentCount = 0, cpuUs = 0, elapsedMs = 0] = runInPod(layout, sender).split(' ').map(Number);
  return [(receivedPackets(layout) - before) / elapsedMs, (sentCount / cpuUs) * 1000];
}

/** Gbit/s as the receiver saw them. The server ends after one client. */
async function streamTcp(layout: Layout): Promise<readonly number[]> {
  const { vpc } = layout;
  const serve = ['iperf3', '-s', '-1', '-B', VPC_HOST, '-p', PORT];
  const server = spawn('nsenter', [`--net=${vpc.path}`, ...serve], { stdio: 'ignore' });
  const ended = once(server, 'exit');
  try {
    for (let tries = 0; tries < SERVER_TRY_MAX; tries++) {
      if (vpc.sh(`ss -Hltn sport = :${PORT}`) !== '') break;
      await sleep(5);
    }
    const options = ['-p', PORT, '-t', String(SECONDS), '-M', String(TCP_SEGMENT_BYTES), '-J'];
    const { end } = JSON.parse(runInPod(layout, ['iperf3', '-c', VPC_HOST, ...options])) as {
      readonly end: { readonly sum_received: { readonly bits_per_second: number } };
    };
    return [end.sum_received.bits_per_second / 1e9];
  } finally {
    server.kill();
    await ended;
  }
}

const UDP = 'UDP, 64 bytes, thousand packets';
const measures: Measure[] = [
  { titles: [`${UDP}/s`, `${UDP} per second of processor time`], once: sendDatagrams },
];
if (spawnSync('sh', ['-c', 'command -v iperf3']).status === 0) {
  measures.push({ titles: [`TCP, segments of ${TCP_SEGMENT_BYTES} bytes, Gbit/s`], once: streamTcp });
} else {
  console.log('TCP is not measured: iperf3 is missing (apt-get install --no-install-recommends iperf3)');
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

function report(layouts: readonly Layout[], title: string, medians: readonly number[]): void {
  const [ours = Number.NaN, none = Number.NaN, perPod = Number.NaN, ofOnePod = Number.NaN] = medians;
  console.log(`  ${title}`);
  for (const [index, layout] of layouts.entries()) {
    console.log(`    ${layout.title.padEnd(20)} ${(medians[index] ?? Number.NaN).toFixed(1).padStart(8)}`);
  }
  console.log(
    `    this layout is ${(ours / none).toFixed(2)} of no policy rules, ${(ours / perPod).toFixed(2)} times two rules per pod, ${(ours / ofOnePod).toFixed(2)} of itself with one pod`,
  );
}

const layouts = [await thisLayout(), await noRules(), await twoRulesPerPod(), await thisLayout(1)];
try {
  console.log(
    `a node with ${POD_COUNT} pods, medians of ${ROUNDS} interleaved rounds of ${SECONDS} s, all with connection tracking`,
  );
  for (const { titles, once: measure } of measures) {
    const results = new Map<Layout, (readonly number[])[]>(layouts.map((layout) => [layout, []]));
    for (let round = 0; round < ROUNDS; round++) {
      for (const layout of layouts) results.get(layout)?.push(await measure(layout));
    }
    for (const [index, title] of titles.entries()) {
      const medians = layouts.map((layout) =>
        median((results.get(layout) ?? []).map((values) => values[index] ?? Number.NaN)),
      );
      report(layouts, title, medians);
    }
  }
} finally {
  await Promise.all(layouts.map((layout) => layout.remove()));
}
