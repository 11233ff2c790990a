// What the fabric's tests share: a small VPC kept by hand, a fabric over it, and packets inside it.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createNamespaceSockets } from '../../src/adapters/linux/namespace-sockets.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import type { Cidr } from '../../src/domain/address/ip.ts';
import { cidr, ip } from '../../src/domain/address/testing.ts';
import type {
  AttachmentId,
  EniId,
  InstanceId,
  SecurityGroupId,
  SubnetId,
  VpcId,
} from '../../src/domain/ids.ts';
import { EGRESS_ALL, type GroupRule } from '../../src/lab/ec2/security-group.ts';
import { createFabric, type Fabric } from '../../src/lab/fabric/fabric.ts';
import type { FabricResult } from '../../src/lab/fabric/fabric-failure.ts';
import type { EniTruth, InstanceTruth, VpcTruth, VpcView } from '../../src/lab/fabric/vpc-truth.ts';
import { seededRandom } from '../../src/lab/kernel/seeded-random.ts';
import type { Log } from '../../src/ports/log.ts';
import type { NamespaceSockets, SocketFailure } from '../../src/ports/namespace-sockets.ts';
import type { Outcome } from '../../src/ports/outcome.ts';
import { skip, valueOf } from './linux-support.ts';

export { cidr, ip, skip };

const id = (prefix: string, text: string): string =>
  `${prefix}-0${Buffer.from(text).toString('hex').padStart(16, '0').slice(-16)}`;
export const eniId = (name: string): EniId => id('eni', name) as EniId;
export const groupId = (name: string): SecurityGroupId => id('sg', name) as SecurityGroupId;
export const instanceId = (name: string): InstanceId => id('i', name) as InstanceId;
export const subnetId = (name: string): SubnetId => id('subnet', name) as SubnetId;

export const fromCidr = (cidr: string, rule: Partial<GroupRule> = {}): GroupRule => ({
  protocol: 'all',
  ...rule,
  peer: { kind: 'Cidr', cidr: cidr as Cidr },
});
export const fromGroup = (name: string, rule: Partial<GroupRule> = {}): GroupRule => ({
  protocol: 'all',
  ...rule,
  peer: { kind: 'Group', securityGroupId: groupId(name) },
});

export interface HandMadeVpc {
  readonly truth: VpcTruth;
  /** Makes an ENI with the address, or changes the one of that name. */
  putEni(name: string, change: Partial<EniTruth>): void;
  attach(name: string, instance: string, deviceIndex: number): void;
  detach(name: string): void;
  /** An instance with its primary ENI `INSTANCE-eth0`. */
  launch(instance: string, primary: { subnet: string; address: string; groups: readonly string[] }): void;
  terminate(instance: string): void;
  putGroup(
    name: string,
    rules: { readonly ingress: readonly GroupRule[]; readonly egress?: readonly GroupRule[] },
  ): void;
  change(): void;
}

const SUBNETS = [
  { name: 'node-a', zone: 'eu-test-1a', cidr: '10.1.0.0/24' },
  { name: 'node-b', zone: 'eu-test-1b', cidr: '10.1.1.0/24' },
  { name: 'pods-a', zone: 'eu-test-1a', cidr: '10.1.8.0/24' },
  { name: 'pods-b', zone: 'eu-test-1b', cidr: '10.1.9.0/24' },
] as const;

/** The block of the subnet 10.1.N.0/24: 2600:1f14:0:ab0N::/64. */
const ipv6Of = (subnet: string): Cidr => `2600:1f14:0:ab0${subnet.split('.')[2]}::/64` as Cidr;

/** A VPC 10.1.0.0/16 with the subnets above, and with IPv6 if wanted; changes are told only by `change`. */
export function handMadeVpc({ ipv6 = false }: { readonly ipv6?: boolean } = {}): HandMadeVpc {
  const enis = new Map<string, EniTruth>();
  const groups = new Map<string, VpcView['securityGroups'][number]>();
  const instances = new Map<string, InstanceTruth>();
  const listeners = new Set<() => void>();
  let attachmentCount = 0;
  const eniNamed = (name: string): EniTruth => {
    const eni = enis.get(name);
    assert.ok(eni, `the test has made ENI ${name}`);
    return eni;
  };
  const zoneOf = (subnet: string): string => SUBNETS.find(({ name }) => name === subnet)?.zone ?? '';
  const vpc: HandMadeVpc = {
    truth: {
      read: () => ({
        vpcId: 'vpc-0123456789abcdef0' as VpcId,
        cidrs: ['10.1.0.0/16' as Cidr, ...(ipv6 ? ['2600:1f14:0:ab00::/56' as Cidr] : [])],
        subnets: SUBNETS.map(({ name, zone, cidr }) => ({
          subnetId: subnetId(name),
          zone,
          cidr: cidr as Cidr,
          ...(ipv6 ? { ipv6Cidr: ipv6Of(cidr) } : {}),
        })),
        securityGroups: [...groups.values()],
        instances: [...instances.values()],
        enis: [...enis.values()],
      }),
      onChange: (notify) => {
        listeners.add(notify);
        return { close: () => listeners.delete(notify) };
      },
    },
    putEni: (name, change) => {
      const number = (enis.size + 1).toString(16).padStart(2, '0');
      const before = enis.get(name) ?? {
        eniId: eniId(name),
        mac: `02:00:00:00:00:${number}`,
        subnetId: subnetId('pods-a'),
        securityGroupIds: [],
        primaryAddress: ip('10.1.8.4'),
        addresses: [],
        prefixes: [],
        ipv6Prefixes: [],
      };
      enis.set(name, { ...before, ...change });
    },
    attach: (name, instance, deviceIndex) => {
      attachmentCount += 1;
      const attachment = {
        attachmentId: `eni-attach-${attachmentCount}` as AttachmentId,
        instanceId: instanceId(instance),
        deviceIndex,
        networkCardIndex: 0,
        status: 'attached',
      } as const;
      enis.set(name, { ...eniNamed(name), attachment });
    },
    detach: (name) => {
      const { attachment: _, ...eni } = eniNamed(name);
      enis.set(name, eni);
    },
    launch: (instance, { subnet, address, groups: names }) => {
      const eni = `${instance}-eth0`;
      instances.set(instance, {
        instanceId: instanceId(instance),
        instanceType: 'm5.large',
        zone: zoneOf(subnet),
        state: 'running',
        primaryEniId: eniId(eni),
        primaryAddress: ip(address),
      });
      vpc.putEni(eni, {
        subnetId: subnetId(subnet),
        primaryAddress: ip(address),
        securityGroupIds: names.map(groupId),
      });
      vpc.attach(eni, instance, 0);
    },
    terminate: (instance) => {
      const before = instances.get(instance);
      assert.ok(before, `the test has launched ${instance}`);
      instances.set(instance, { ...before, state: 'terminated' });
    },
    putGroup: (name, { ingress, egress = EGRESS_ALL }) => {
      groups.set(name, { securityGroupId: groupId(name), ingress, egress });
    },
    change: () => {
      for (const notify of listeners) notify();
    },
  };
  return vpc;
}

export const okOf = <T>(result: FabricResult<T>): T => {
  assert.ok(result.ok, result.ok ? '' : result.error.message);
  return result.value;
};

/** What the fabric complained of; a test that expects no trouble asserts that it is empty. */
export function collectingLog(): Log & { readonly complaints: string[] } {
  const complaints: string[] = [];
  const complain = (message: string, fields: unknown): void => {
    complaints.push(`${message} ${JSON.stringify(fields)}`);
  };
  return {
    complaints,
    debug: () => {},
    info: () => {},
    warn: complain,
    error: complain,
    mark: () => {},
  };
}

let fabricCount = 0;

/** Differs between test processes, and between the fabrics of one. */
export function newPrefix(): string {
  fabricCount += 1;
  return `t${process.pid.toString(36)}x${fabricCount}`;
}

/** A fabric whose ENI links appear at once. */
export const promptFabric = (truth: VpcTruth, prefix: string, log: Log): Fabric =>
  createFabric({
    truth,
    prefix,
    clock: systemClock,
    random: seededRandom(1),
    log,
    linkLife: { delayMinMs: 0, delayMaxMs: 0, renamedPercent: 0, renameDelayMs: 0 },
  });

export function inside(netnsPath: string, program: string, ...values: readonly string[]): string {
  return execFileSync('nsenter', [`--net=${netnsPath}`, program, ...values], {
    encoding: 'utf8',
    stdio: 'pipe',
  });
}

/** Gives a secondary ENI's link addresses, up, and lets what is sent from them leave by it: the agent's work. */
export function configure(netnsPath: string, link: string, addresses: readonly string[]): void {
  inside(netnsPath, 'ip', 'link', 'set', link, 'up');
  const gateway = ['via', '10.1.8.1', 'dev', link, 'onlink', 'table', '1002'];
  inside(netnsPath, 'ip', 'route', 'replace', 'default', ...gateway);
  for (const address of addresses) {
    inside(netnsPath, 'ip', 'addr', 'replace', `${address}/32`, 'dev', link);
    if (inside(netnsPath, 'ip', 'rule', 'show', 'from', address) === '') {
      inside(netnsPath, 'ip', 'rule', 'add', 'from', address, 'lookup', '1002', 'priority', '1536');
    }
  }
}

/** Names of the namespaces with the prefix, in code-unit order. */
export const namespacesOf = (prefix: string): readonly string[] =>
  execFileSync('ip', ['netns', 'list'], { encoding: 'utf8' })
    .split('\n')
    .flatMap((line) => line.split(' ')[0] ?? [])
    .filter((name) => name.startsWith(`${prefix}-`))
    .sort();

/** Waits until `look` holds: for what happens by itself a short while later. */
export async function eventually(what: string, look: () => boolean): Promise<void> {
  const tryCountMax = 200;
  for (let count = 0; count < tryCountMax; count++) {
    if (look()) return;
    await systemClock.sleep(25, 'look again');
  }
  assert.fail(`never came true: ${what}`);
}

export const hasLink = (netnsPath: string, name: string): boolean =>
  inside(netnsPath, 'ip', '-br', 'link').includes(`${name}@`);

export const linkAppears = (netnsPath: string, name: string): Promise<void> =>
  eventually(`${name} appears in ${netnsPath}`, () => hasLink(netnsPath, name));

/** Answers with the far end's view of the caller, or the name of the error. */
export interface Probe {
  readonly sockets: NamespaceSockets;
  visit(from: { netnsPath: string; source?: string }, to: { address: string; port: number }): Promise<string>;
  /** One datagram from `source`, whoever holds it. */
  spoof(
    from: { netnsPath: string; source: string },
    to: { netnsPath: string; address: string },
  ): Promise<string>;
  /** An echo server in each namespace on each port. */
  serve(netnsPaths: readonly string[], ...ports: readonly number[]): Promise<void>;
}

/** Long beside a round trip in the lab, which takes well under a millisecond; short enough to wait for silence. */
const PROBE_TIMEOUT_MS = 300;
const DATAGRAM_PORT = 9000;

export function createProbe(): Probe {
  const sockets = createNamespaceSockets();
  return {
    sockets,
    visit: async ({ netnsPath, source }, { address, port }) => {
      const connection = await sockets.connect({
        netnsPath,
        address: ip(address),
        port,
        timeoutMs: PROBE_TIMEOUT_MS,
        ...(source === undefined ? {} : { source: ip(source) }),
      });
      if (connection.kind !== 'ok') return troubleOf(connection);
      await connection.value.close();
      return connection.value.seenAs;
    },
    spoof: async ({ netnsPath, source }, to) => {
      const receiving = sockets.receiveDatagram({
        netnsPath: to.netnsPath,
        port: DATAGRAM_PORT,
        timeoutMs: PROBE_TIMEOUT_MS,
      });
      valueOf(
        await sockets.sendSpoofed({
          netnsPath,
          source: ip(source),
          destination: ip(to.address),
          port: DATAGRAM_PORT,
        }),
      );
      const received = await receiving;
      return received.kind === 'ok' ? received.value : troubleOf(received);
    },
    serve: async (netnsPaths, ...ports) => {
      for (const netnsPath of netnsPaths) {
        for (const port of ports) valueOf(await sockets.serve({ netnsPath, port }));
      }
    },
  };
}

const troubleOf = (outcome: Exclude<Outcome<unknown, SocketFailure>, { readonly kind: 'ok' }>): string =>
  outcome.kind === 'failed' ? outcome.failure.errno : outcome.kind;

export interface FabricWorld {
  readonly fabric: Fabric;
  readonly probe: Probe;
  readonly prefix: string;
  /** Of the fabric; a test that expects no trouble asserts that there are none. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

/** A fabric over the VPC as it is by now, and packets inside it. */
export async function startFabric({ truth }: HandMadeVpc): Promise<FabricWorld> {
  const prefix = newPrefix();
  const log = collectingLog();
  const fabric = promptFabric(truth, prefix, log);
  const probe = createProbe();
  const close = async (): Promise<void> => {
    await probe.sockets.close();
    await fabric.close();
  };
  const started = await fabric.start();
  if (!started.ok) await close();
  okOf(started);
  return { fabric, probe, prefix, complaints: log.complaints, close };
}
