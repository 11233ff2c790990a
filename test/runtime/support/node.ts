// A node to try a container runtime on: a namespace with two ENIs, the agent in its process, and a host outside.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentSnapshot } from '../../../src/agent/agent-snapshot.ts';
import type { AddressFamily } from '../../../src/domain/address/families.ts';
import type { NodeNetworkStatus } from '../../../src/domain/ipam/node-network.ts';
import { NODE_ADDRESS, primaryEni, specEni } from '../../../src/domain/ipam/testing-node.ts';
import { makeNamespace, type TestNamespace } from '../../netns/linux-support.ts';
import { type AgentProcess, startAgentProcess } from './agent.ts';
import type { AgentOptions } from './agent-options.ts';
import { type PublishedSpec, readJson, statusPath, writeJson } from './file-cluster.ts';
import type { Death } from './mortal.ts';
import { grantedAddresses, nodeSpec, POD_PREFIX } from './node-spec.ts';
import { PLUGIN } from './skip.ts';

/** The host outside: on the node's subnet, and beyond the VPC. */
export const OUTSIDE_ADDRESS = '10.0.0.1';
/** The same host under IPv6, beyond the subnets. */
export const OUTSIDE_ADDRESS_IPV6 = '2001:db8:99::9';
const POD_SUBNET = '10.1.0.0/24';
const POD_SUBNET_GATEWAY = '10.1.0.1';
/** Stands for the ENI: by it the router sends what is for the /80. */
const ENI_HOP = 'fe80::e:1';
const POD_SUBNET_GATEWAY_IPV6 = '2001:db8:0:1::1';

export interface NodeOptions {
  readonly addressCount: number;
  readonly cooldownMs: number;
  /** How long ADD waits for an address, milliseconds. */
  readonly addWaitMs: number;
  /** Publish no NodeNetwork yet: the API is unreachable. */
  readonly unpublished?: boolean;
  /** What pods get; IPv4 unless given. */
  readonly families?: readonly AddressFamily[];
}

export interface TestNode {
  /** For what belongs to the node alone; removed by `close`. */
  readonly directory: string;
  readonly host: TestNamespace;
  readonly outside: TestNamespace;
  /** The node's own copy, which no build replaces under the test's feet. */
  readonly pluginPath: string;
  readonly socketPath: string;
  readonly journalPath: string;
  /** The addresses that the NodeNetwork grants. */
  readonly granted: readonly string[];
  agent(): AgentProcess;
  /** Starts the agent; it need not listen yet when this returns. */
  startAgent(death?: Death): AgentProcess;
  describe(): Promise<AgentSnapshot>;
  publish(): void;
  /** From now on the API cannot be reached. */
  unpublish(): void;
  /** What the agent has written into the NodeNetwork last. */
  status(): NodeNetworkStatus | undefined;
  /** Lines of the agent's log, of all its lives. */
  log(): readonly string[];
  close(): Promise<void>;
}

/** Makes the node, with no agent yet. */
export async function makeNode(options: NodeOptions): Promise<TestNode> {
  const directory = mkdtempSync(join(tmpdir(), 'eniwhere-runtime-'));
  const [host, outside] = [await makeNamespace(), await makeNamespace()];
  plugEnis(host, outside);
  const pluginPath = join(directory, 'bin/eniwhere-cni');
  mkdirSync(join(directory, 'bin'));
  copyFileSync(PLUGIN, pluginPath);
  const families = options.families ?? ['IPv4'];
  const granted = grantedAddresses(options.addressCount, families);
  const specPath = join(directory, 'node-network.json');
  const logPath = join(directory, 'agent.log');
  const agentOptions: AgentOptions = {
    nodeName: 'n0',
    netnsPath: host.path,
    socketPath: join(directory, 'run/agent.sock'),
    journalPath: join(directory, 'journal/agent.journal'),
    specPath,
    addWaitMs: options.addWaitMs,
  };
  const published: PublishedSpec = {
    uid: 'uid-of-n0',
    generation: 1,
    spec: nodeSpec(granted, options.cooldownMs, families),
  };
  let agent: AgentProcess | undefined;
  const running = (): AgentProcess => {
    if (agent === undefined) throw new Error('the test has started no agent');
    return agent;
  };
  const node: TestNode = {
    directory,
    host,
    outside,
    pluginPath,
    socketPath: agentOptions.socketPath,
    journalPath: agentOptions.journalPath,
    granted,
    agent: running,
    startAgent: (death) => {
      agent = startAgentProcess({ ...agentOptions, ...(death !== undefined && { death }) }, logPath);
      return agent;
    },
    describe: () => running().describe(),
    publish: () => writeJson(specPath, published),
    unpublish: () => rmSync(specPath, { force: true }),
    status: () => readJson(statusPath(specPath)) as NodeNetworkStatus | undefined,
    log: () => readFileSync(logPath, 'utf8').trimEnd().split('\n'),
    close: async () => {
      await agent?.kill();
      await Promise.all([host.remove(), outside.remove()]);
      // KEEP=1 keeps the logs and the journal for people to look at.
      if (process.env['KEEP'] === undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
  if (options.unpublished !== true) node.publish();
  return node;
}

/** A veth pair for each ENI; the far ends, in the host outside, stand for the VPC's router. */
function plugEnis(host: TestNamespace, outside: TestNamespace): void {
  const eni = specEni({ deviceIndex: 1 });
  const far = `netns ${outside.pid}`;
  batch(host, [
    'link set lo up',
    `link add eth0 address ${primaryEni.mac} type veth peer name eth0 ${far}`,
    `link add eth1 address ${eni.mac} type veth peer name eth1 ${far}`,
  ]);
  batch(outside, [
    'link set lo up',
    `addr add ${OUTSIDE_ADDRESS}/24 dev eth0`,
    `addr add ${POD_SUBNET_GATEWAY}/32 dev eth1`,
    'link set eth0 up',
    'link set eth1 up',
    // In a VPC no address is asked for by ARP: the router knows which ENI holds which.
    `neigh add ${eni.primaryAddress} lladdr ${eni.mac} dev eth1 nud permanent`,
    `route add ${POD_SUBNET} via ${eni.primaryAddress} dev eth1 onlink src ${POD_SUBNET_GATEWAY}`,
    `addr add ${POD_SUBNET_GATEWAY_IPV6}/64 dev eth1 nodad`,
    `addr add ${OUTSIDE_ADDRESS_IPV6}/128 dev lo`,
    `neigh add ${ENI_HOP} lladdr ${eni.mac} dev eth1 nud permanent`,
    `route add ${POD_PREFIX} via ${ENI_HOP} dev eth1 onlink`,
  ]);
  batch(host, [
    'link set eth0 up',
    `addr add ${NODE_ADDRESS}/24 dev eth0`,
    `route add default via ${OUTSIDE_ADDRESS}`,
  ]);
}

function batch(namespace: TestNamespace, lines: readonly string[]): void {
  execFileSync('nsenter', [`--net=${namespace.path}`, 'ip', '-batch', '-'], {
    input: `${lines.join('\n')}\n`,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

/**
 * What the node's kernel holds of links, addresses, rules, routes, permanent neighbours and nftables, a line for each thing,
 * without counters and without numbers that only tell the order in which things were made.
 */
export function kernelState(host: TestNamespace): readonly string[] {
  const lines = (...values: readonly string[]): readonly string[] =>
    host
      .run('ip', '-o', ...values)
      .split('\n')
      .filter((line) => line !== '');
  return [
    ...host.ip('link').map((link) => `link ${String(link['ifname'])}`),
    ...host.ip('addr').flatMap((link) =>
      (link['addr_info'] as readonly { readonly local: string; readonly prefixlen: number }[])
        // The kernel makes them itself, some time after a link is up.
        .filter(({ local }) => !local.startsWith('fe80:'))
        .map(({ local, prefixlen }) => `address ${String(link['ifname'])} ${local}/${prefixlen}`),
    ),
    ...lines('-4', 'rule').map((line) => `rule ${line}`),
    ...lines('-6', 'rule').map((line) => `rule6 ${line}`),
    ...lines('-4', 'route', 'show', 'table', 'all').map((line) => `route ${line}`),
    ...lines('-6', 'route', 'show', 'table', 'all')
      .filter((line) => !/fe80:|ff00:/.test(line))
      .map((line) => `route6 ${line}`),
    ...lines('neigh', 'show', 'nud', 'permanent').map((line) => `neighbour ${line}`),
    ...host
      .run('nft', '-s', 'list', 'ruleset')
      // What packets leave there goes by itself, in ten seconds.
      .replace(/(set known_sources6? \{[^}]*?)\t\telements = \{[^}]*\}\n/g, '$1')
      .split('\n')
      .map((line) => `nft ${line}`),
  ];
}

/** What one state has and the other lacks: `+ line`, `- line`. */
export function kernelChanges(before: readonly string[], now: readonly string[]): readonly string[] {
  return [
    ...now.filter((line) => !before.includes(line)).map((line) => `+ ${line}`),
    ...before.filter((line) => !now.includes(line)).map((line) => `- ${line}`),
  ];
}
