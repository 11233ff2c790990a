// How long a pod's wiring takes: through the Worker, and by spawned ip programs, in the same run. `node bench/wire-pod.ts`, as root.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createLinuxStacks } from '../src/adapters/linux/linux-stacks.ts';
import type { Ip } from '../src/domain/address/ip.ts';
import { PODS_TABLE, ROUTE_PROTOCOL } from '../src/domain/datapath/host-datapath.ts';
import type { PodDatapath } from '../src/domain/datapath/pod-datapath.ts';
import type { StackOutcome } from '../src/ports/network-stack.ts';

const RUNS = 100;
const WARM_UP_RUNS = 10;

interface HeldNamespace {
  readonly pid: string;
  readonly path: string;
  remove(): Promise<void>;
}

/** A namespace held by a process that waits for the end of its input, and so ends with ours. */
async function holdNamespace(): Promise<HeldNamespace> {
  const holder = spawn('unshare', ['--net', 'sh', '-c', 'echo ready; exec cat >/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(holder, 'exit');
  await Promise.race([once(holder.stdout, 'data'), ended]);
  if (holder.exitCode !== null) {
    throw new Error('no network namespace can be made here: run as root, or under unshare -Urnm');
  }
  return {
    pid: String(holder.pid),
    path: `/proc/${holder.pid}/ns/net`,
    remove: async () => {
      holder.stdin.end();
      await ended;
    },
  };
}

function valueOf<T>(outcome: StackOutcome<T>): T {
  if (outcome.kind === 'ok') return outcome.value;
  throw new Error(JSON.stringify(outcome));
}

function podOf(netnsPath: string): PodDatapath {
  return {
    hostLink: 'eni00000000001',
    hostMac: '02:00:00:00:00:01',
    podMac: '02:00:00:00:00:02',
    netnsPath,
    podLink: 'eth0',
    addresses: ['10.1.0.5' as Ip],
    mtu: 9001,
  };
}

/** The same pod by two `ip -batch` processes, sysctls left out in its favour. */
function wireWithIp(host: HeldNamespace, pod: HeldNamespace, desired: PodDatapath): void {
  const [ip] = desired.addresses;
  const { hostLink, hostMac, podLink, podMac, mtu } = desired;
  const batches = [
    {
      namespace: host,
      lines: [
        `link add ${hostLink} address ${hostMac} mtu ${mtu} type veth ` +
          `peer name ${podLink} address ${podMac} mtu ${mtu} netns ${pod.pid}`,
        `link set ${hostLink} up`,
        `route replace ${ip} dev ${hostLink} scope link table ${PODS_TABLE} proto ${ROUTE_PROTOCOL}`,
      ],
    },
    {
      namespace: pod,
      lines: [
        'link set lo up',
        `link set ${podLink} up`,
        `addr add ${ip}/32 dev ${podLink}`,
        `neigh replace 169.254.1.1 lladdr ${hostMac} dev ${podLink} nud permanent`,
        `route replace 169.254.1.1 dev ${podLink} scope link`,
        `route replace default via 169.254.1.1 dev ${podLink}`,
      ],
    },
  ];
  for (const { namespace, lines } of batches) {
    const ran = spawnSync('nsenter', [`--net=${namespace.path}`, 'ip', '-batch', '-'], {
      input: `${lines.join('\n')}\n`,
      encoding: 'utf8',
    });
    if (ran.status !== 0) throw new Error(ran.stderr);
  }
}

async function measure(wire: () => unknown, unwire: () => Promise<unknown>): Promise<readonly number[]> {
  const times: number[] = [];
  for (let run = 0; run < WARM_UP_RUNS + RUNS; run++) {
    const start = performance.now();
    await wire();
    if (run >= WARM_UP_RUNS) times.push(performance.now() - start);
    await unwire();
  }
  return times.sort((a, b) => a - b);
}

const at = (sorted: readonly number[], part: number): string =>
  (sorted[Math.floor((sorted.length - 1) * part)] ?? Number.NaN).toFixed(2).padStart(7);

const [host, pod] = [await holdNamespace(), await holdNamespace()];
const stacks = createLinuxStacks();
const stack = stacks.open({ netnsPath: host.path });
const desired = podOf(pod.path);
const unwire = async (): Promise<void> => valueOf(await stack.unwirePod(desired));

console.log(`wiring one pod, ${RUNS} runs, milliseconds   median     p95`);
const worker = await measure(async () => valueOf(await stack.wirePod(desired)), unwire);
console.log(`  netlink, through the Worker              ${at(worker, 0.5)} ${at(worker, 0.95)}`);
const spawned = await measure(() => {
  wireWithIp(host, pod, desired);
}, unwire);
console.log(`  two spawned ip -batch                    ${at(spawned, 0.5)} ${at(spawned, 0.95)}`);
const removal: number[] = [];
for (let run = 0; run < WARM_UP_RUNS; run++) {
  valueOf(await stack.wirePod(desired));
  const start = performance.now();
  await unwire();
  removal.push(performance.now() - start);
}
removal.sort((a, b) => a - b);
console.log(
  `unwiring it, ${WARM_UP_RUNS} runs                        ${at(removal, 0.5)} ${at(removal, 0.95)}`,
);

await stacks.close();
await Promise.all([host.remove(), pod.remove()]);
