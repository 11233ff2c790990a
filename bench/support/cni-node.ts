// A node for the compiled plugin: the agent over a real kernel namespace, with a hand-made NodeNetwork and nothing of AWS.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createLinuxStacks } from '../../src/adapters/linux/linux-stacks.ts';
import { serveAgentSocket } from '../../src/adapters/system/agent-socket.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { createFileJournal } from '../../src/adapters/system/file-journal.ts';
import { createLog } from '../../src/adapters/system/log.ts';
import { systemRandom } from '../../src/adapters/system/random.ts';
import { type Agent, startAgent } from '../../src/agent/start-agent.ts';
import type { Cidr, Ip } from '../../src/domain/address/ip.ts';
import type { EniId, InstanceId, NodeName, SubnetId, VpcId } from '../../src/domain/ids.ts';
import type { NodeNetworkSpec, NodeNetworkStatus, SpecEni } from '../../src/domain/ipam/node-network.ts';
import { createSimCluster } from '../../src/lab/cluster/sim-cluster.ts';

/** The compiled plugin. */
export const PLUGIN: string = join(import.meta.dirname, '../../build/eniwhere-cni');
const NODE = 'node-1' as NodeName;

const MACS = ['02:00:00:00:01:00', '02:00:00:00:01:01'] as const;

export interface CniNodeOptions {
  /** The node's own network namespace. */
  readonly netnsPath: string;
  /** Runs a program inside it. */
  readonly run: (program: string, ...values: readonly string[]) => string;
  /** Takes the socket and the journal. */
  readonly directory: string;
  readonly addresses: readonly string[];
  readonly cooldownMs: number;
  /** How long ADD waits for an address, milliseconds. */
  readonly addWaitMs: number;
}

export interface PluginCall {
  readonly command: string;
  readonly containerId: string;
  readonly pod: string;
  readonly netnsPath?: string;
  /** The network configuration beside version, name, type and socket; or the whole of stdin, as text. */
  readonly conf?: Readonly<Record<string, unknown>> | string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface PluginRun {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CniNode {
  readonly socketPath: string;
  agent(): Agent;
  status(): NodeNetworkStatus | undefined;
  call(call: PluginCall): Promise<PluginRun>;
  /** Stops the agent; pods live on. */
  stopAgent(): Promise<void>;
  startAgent(): Promise<void>;
  close(): Promise<void>;
}

export async function startCniNode(options: CniNodeOptions): Promise<CniNode> {
  if (!existsSync(PLUGIN)) throw new Error(`${PLUGIN} is missing; build it with: npm run build:cni`);
  plugEnis(options.run);
  const socketPath = join(options.directory, 'agent.sock');
  const cluster = createSimCluster({ clock: systemClock, random: systemRandom });
  const node = cluster.admin.applyNode({ name: NODE });
  const created = await cluster.client().createNodeNetwork(NODE, node, specOf(options));
  if (created.kind !== 'ok') throw new Error(JSON.stringify(created));
  const stacks = createLinuxStacks();
  let life: { readonly agent: Agent; stop(): Promise<void> } | undefined;

  const start = async (): Promise<void> => {
    const stack = stacks.open({ netnsPath: options.netnsPath });
    const agent = await startAgent({
      nodeName: NODE,
      cluster: cluster.client(),
      stack,
      journal: createFileJournal(join(options.directory, 'journal')),
      clock: systemClock,
      random: systemRandom,
      log: createLog({ level: 'error', fd: 2 }),
      addWaitMs: options.addWaitMs,
    });
    await agent.whenServing();
    const socket = await serveAgentSocket(socketPath, (request) => agent.handleCni(request));
    life = {
      agent,
      stop: async () => {
        await socket.close();
        await agent.stop();
        await stack.close();
      },
    };
  };
  const stop = async (): Promise<void> => {
    await life?.stop();
    life = undefined;
  };
  await start();
  return {
    socketPath,
    agent: () => {
      if (life === undefined) throw new Error('the agent is stopped');
      return life.agent;
    },
    status: () => cluster.admin.nodeNetwork(NODE)?.status,
    call: (call) => runPlugin(PLUGIN, socketPath, call),
    stopAgent: stop,
    startAgent: start,
    close: async () => {
      await stop();
      await stacks.close();
    },
  };
}

/** Two links that are ENIs by their MACs; the first has the node's own address. Behind them is nothing. */
function plugEnis(run: CniNodeOptions['run']): void {
  run('ip', 'link', 'set', 'lo', 'up');
  for (const [n, mac] of MACS.entries()) {
    run('ip', 'link', 'add', `eth${n}`, 'address', mac, 'type', 'veth', 'peer', 'name', `vpc${n}`);
    for (const link of [`eth${n}`, `vpc${n}`]) run('ip', 'link', 'set', link, 'up');
  }
  run('ip', 'address', 'add', '10.0.0.10/24', 'dev', 'eth0');
}

function specOf({ addresses, cooldownMs }: CniNodeOptions): NodeNetworkSpec {
  const eni = (deviceIndex: 0 | 1): SpecEni => ({
    eniId: `eni-0000000${deviceIndex}` as EniId,
    mac: MACS[deviceIndex],
    primary: deviceIndex === 0,
    deviceIndex,
    networkCardIndex: 0,
    eniConfig: deviceIndex === 0 ? '' : 'blue',
    subnetId: `subnet-0000000${deviceIndex}` as SubnetId,
    subnetCidr: (deviceIndex === 0 ? '10.0.0.0/24' : '10.1.0.0/16') as Cidr,
    securityGroupIds: [],
    primaryAddress: (deviceIndex === 0 ? '10.0.0.10' : '10.1.255.10') as Ip,
    addresses: deviceIndex === 0 ? [] : (addresses as readonly Ip[]),
    prefixes: [],
    withdrawing: [],
    cordoned: false,
  });
  return {
    instance: {
      instanceId: 'i-00000001' as InstanceId,
      instanceType: 'm5.large',
      zone: 'us-west-2a',
      vpcId: 'vpc-00000001' as VpcId,
      primaryEniId: 'eni-00000000' as EniId,
      primaryAddress: '10.0.0.10' as Ip,
      primarySubnetId: 'subnet-00000000' as SubnetId,
      primarySecurityGroupIds: [],
    },
    selection: {
      kind: 'EniConfig',
      name: 'blue',
      subnetId: 'subnet-00000001' as SubnetId,
      securityGroupIds: [],
      source: 'Default',
      reason: 'it is the only one',
    },
    mode: 'SecondaryIP',
    addressFamilies: ['IPv4'],
    intents: [],
    enis: [eni(0), eni(1)],
    settings: {
      externalSnat: false,
      directCidrs: ['10.0.0.0/8' as Cidr],
      mtu: 9001,
      vethPrefix: 'eni',
      randomizeSnat: 'prng',
    },
    cooldownMs,
  };
}

/** What a runtime gives a plugin: environment and standard input. */
export function invocation(
  socketPath: string,
  call: PluginCall,
): { readonly env: Readonly<Record<string, string>>; readonly stdin: string } {
  const conf = { cniVersion: '1.0.0', name: 'net', type: 'eniwhere-cni', agentSocket: socketPath };
  return {
    stdin: typeof call.conf === 'string' ? call.conf : JSON.stringify({ ...conf, ...call.conf }),
    env: {
      CNI_COMMAND: call.command,
      CNI_CONTAINERID: call.containerId,
      CNI_NETNS: call.netnsPath ?? '',
      CNI_IFNAME: 'eth0',
      CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=${call.pod}`,
      CNI_PATH: '/usr/lib/cni',
      ...call.env,
    },
  };
}

/** Runs a plugin as a runtime does: environment, network configuration on stdin, an exit code. */
export async function runPlugin(program: string, socketPath: string, call: PluginCall): Promise<PluginRun> {
  const { env, stdin } = invocation(socketPath, call);
  const child = spawn(program, [], { stdio: ['pipe', 'pipe', 'pipe'], env });
  const printed = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (printed.stdout += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (printed.stderr += chunk.toString('utf8')));
  child.stdin.end(stdin);
  await once(child, 'exit');
  if (!child.stdout.readableEnded) await once(child.stdout, 'end');
  return { exitCode: child.exitCode, ...printed };
}
