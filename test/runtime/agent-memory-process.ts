// Measures what an agent costs an idle node: memory without and with 230 pods, and processor time. Started by bench/agent-memory.ts.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startHelper } from '../../bench/support/helper-process.ts';
import { NODE_NETWORKS } from '../../src/adapters/kubernetes/testing-api-server.ts';
import type { NodeNetworkSpec } from '../../src/domain/ipam/node-network.ts';
import { specEni } from '../../src/domain/ipam/testing-node.ts';
import { writeNodeNetworkSpec } from '../../src/protocol/crd/node-network.ts';
import { eventually } from './support/eventually.ts';
import { AS_SHIPPED, FROM_SOURCES, prepareExecutable, type Start } from './support/executable.ts';
import { makeNode, type TestNode } from './support/node.ts';
import { nodeSpec } from './support/node-spec.ts';
import { addressOf, callPlugin, createPodNamespaces } from './support/plugin.ts';
import { startSecureApi } from './support/secure-api.ts';
import { TOP } from './support/skip.ts';

/** As many as the test node's subnet has addresses for. */
const POD_COUNT = 230;
/** As on the largest instance types, whose ENIs hold 50, one of them the ENI's own. */
const ADDRESSES_PER_ENI = 49;
const PORTS = [21_689, 21_688] as const;
const START_MS = 60_000;
/** The collector needs a while to give back what the start and the pods took. */
const SETTLE_MS = 20_000;
const IDLE_SECONDS = 60;
/** Ticks of /proc/PID/stat in a second, whatever the kernel's own. */
const TICKS_PER_SECOND = 100;
const MEMORY_TARGET_MB = 110;
const IDLE_TARGET_PERCENT = 0.2;

const residentMb = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

/** User and system time of the process and its threads, seconds. */
function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** The addresses on as many ENIs as they need; the links of those that the test node lacks are made. */
function specOf(node: TestNode): NodeNetworkSpec {
  const spec = nodeSpec([], 1000);
  const enis = Array.from({ length: Math.ceil(POD_COUNT / ADDRESSES_PER_ENI) }, (_, n) =>
    specEni({
      deviceIndex: n + 1,
      addresses: node.granted.slice(n * ADDRESSES_PER_ENI, (n + 1) * ADDRESSES_PER_ENI),
    }),
  );
  for (const { deviceIndex, mac } of enis.slice(1)) {
    node.host.run(
      'ip',
      'link',
      'add',
      `eth${deviceIndex}`,
      'address',
      mac,
      'type',
      'veth',
      'peer',
      'name',
      `far${deviceIndex}`,
    );
  }
  return { ...spec, enis: [...spec.enis.filter((eni) => eni.primary), ...enis] };
}

async function measure(start: Start): Promise<void> {
  const node = await makeNode({
    addressCount: POD_COUNT,
    cooldownMs: 1000,
    addWaitMs: 5000,
    unpublished: true,
  });
  const api = await startSecureApi(node.directory);
  const namespaces = createPodNamespaces();
  const executable = prepareExecutable(node, api, PORTS, start);
  const daemon = executable.start();
  try {
    const spec = writeNodeNetworkSpec(specOf(node));
    if (!spec.ok) throw new Error(spec.error);
    api.api.store.put(NODE_NETWORKS, 'n0', { metadata: { name: 'n0' }, spec: spec.value });
    await eventually('the agent is ready', START_MS, async () => {
      const answer = await fetch(`${executable.introspection}/readyz`).catch(() => undefined);
      return answer?.status === 200 ? true : undefined;
    });
    await sleep(SETTLE_MS);
    const empty = residentMb(daemon.pid);
    const seat = {
      pluginPath: join(executable.pluginDirectory, 'eniwhere-cni'),
      socketPath: node.socketPath,
    };
    for (let n = 0; n < POD_COUNT; n += 1) {
      const pod = { pod: `p${n}`, containerId: `p${n}`, netnsPath: namespaces.make(`p${n}`) };
      addressOf(await callPlugin(seat, 'ADD', pod));
    }
    await sleep(SETTLE_MS);
    const full = residentMb(daemon.pid);
    const before = cpuSeconds(daemon.pid);
    await sleep(IDLE_SECONDS * 1000);
    const idle = ((cpuSeconds(daemon.pid) - before) / IDLE_SECONDS) * 100;
    console.log(
      `  resident ${empty.toFixed(0)} MB without pods, ${full.toFixed(0)} MB with ${POD_COUNT} (aim: under ${MEMORY_TARGET_MB}); idle ${idle.toFixed(2)} % of a core (aim: under ${IDLE_TARGET_PERCENT})`,
    );
  } finally {
    await daemon.kill();
    namespaces.removeAll();
    await api.close();
    await node.close();
  }
}

/** The same measures of the least that the agent's runtime takes. */
async function measureBare(): Promise<void> {
  const bare = await startHelper(process.execPath, [join(import.meta.dirname, 'bare-runtime-process.ts')]);
  await sleep(SETTLE_MS);
  const before = cpuSeconds(bare.pid);
  await sleep(IDLE_SECONDS * 1000);
  const idle = ((cpuSeconds(bare.pid) - before) / IDLE_SECONDS) * 100;
  console.log(`  resident ${residentMb(bare.pid).toFixed(0)} MB; idle ${idle.toFixed(2)} % of a core`);
  await bare.end();
}

console.log('Node.js, FFI and a Worker, without an agent');
await measureBare();
execFileSync(process.execPath, [join(TOP, 'scripts/build-agent.ts')], {
  stdio: ['ignore', 'ignore', 'inherit'],
});
for (const [what, start] of [
  ['as it ships', AS_SHIPPED],
  ['from its sources', FROM_SOURCES],
] as const) {
  console.log(what);
  await measure(start);
}
