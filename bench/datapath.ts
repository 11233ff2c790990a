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
  readonly title: string;
  readonly once: (layout: Layout) => Promise<number>;
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

/** Packets per millisecond that came out of the node's other side. */
async function sendDatagrams(layout: Layout): Promise<number> {
  const before = receivedPackets(layout);
  const sender = [process.execPath, SENDER, VPC_HOST, String(UDP_PAYLOAD_BYTES), String(SECONDS * 1000)];
  const elapsedMs = Number(runInPod(layout, sender));
  return (receivedPackets(layout) - before) / elapsedMs;
}

/** Gbit/s as the receiver saw them. The server ends after one client. */
async function streamTcp(layout: Layout): Promise<number> {
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
    return end.sum_received.bits_per_second / 1e9;
  } finally {
    server.kill();
    await ended;
  }
}

const measures: Measure[] = [{ title: 'UDP, 64 bytes, thousand packets/s', once: sendDatagrams }];
if (spawnSync('sh', ['-c', 'command -v iperf3']).status === 0) {
  measures.push({ title: `TCP, segments of ${TCP_SEGMENT_BYTES} bytes, Gbit/s`, once: streamTcp });
} else {
  console.log('TCP is not measured: iperf3 is missing (apt-get install --no-install-recommends iperf3)');
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

const layouts = [await thisLayout(), await noRules(), await twoRulesPerPod()];
try {
  console.log(
    `a node with ${POD_COUNT} pods, medians of ${ROUNDS} interleaved rounds of ${SECONDS} s, all with connection tracking`,
  );
  for (const measure of measures) {
    const results = new Map<Layout, number[]>(layouts.map((layout) => [layout, []]));
    for (let round = 0; round < ROUNDS; round++) {
      for (const layout of layouts) results.get(layout)?.push(await measure.once(layout));
    }
    const medians = layouts.map((layout) => median(results.get(layout) ?? []));
    const [ours = Number.NaN, none = Number.NaN, perPod = Number.NaN] = medians;
    console.log(`  ${measure.title}`);
    for (const [index, { title }] of layouts.entries()) {
      console.log(`    ${title.padEnd(20)} ${(medians[index] ?? Number.NaN).toFixed(1).padStart(8)}`);
    }
    console.log(
      `    this layout is ${(ours / none).toFixed(2)} of no policy rules, ${(ours / perPod).toFixed(2)} times two rules per pod`,
    );
  }
} finally {
  await Promise.all(layouts.map((layout) => layout.remove()));
}
