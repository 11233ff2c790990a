// An AWS account for the end-to-end test: a VPC in three zones, made of namespaces, and EC2 over HTTP in the internet's.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Server, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import { createLog } from '../../../src/adapters/system/log.ts';
import { systemRandom } from '../../../src/adapters/system/random.ts';
import type { Cidr } from '../../../src/domain/address/ip.ts';
import type { SecurityGroupId, SubnetId, VpcId } from '../../../src/domain/ids.ts';
import { INSTANCE_TYPES } from '../../../src/domain/instance/instance-types.ts';
import { demoEc2 } from '../../../src/lab/ec2/ec2-profile.ts';
import { EGRESS_ALL } from '../../../src/lab/ec2/security-group.ts';
import { createSimEc2, type SimEc2 } from '../../../src/lab/ec2/sim-ec2.ts';
import { must } from '../../../src/lab/ec2/testing.ts';
import { serveEc2Http } from '../../../src/lab/ec2-http/serve-ec2-http.ts';
import { createFabric, type Fabric, type OutsideHost } from '../../../src/lab/fabric/fabric.ts';
import { vpcTruthOf } from '../../../src/lab/fabric/vpc-truth-of.ts';
import type { Ec2Eni, Ec2Instance } from '../../../src/ports/ec2.ts';

const VPC = 'vpc-0e2e0000000000001' as VpcId;
const NODES_GROUP = 'sg-0e2e0000000000001' as SecurityGroupId;
export const PODS_GROUP = 'sg-0e2e0000000000002' as SecurityGroupId;

/** A letter of a zone, and what is in it. */
export const ZONES = {
  a: { zone: 'eu-test-1a', nodes: '172.31.16.0/24', pods: '172.31.128.0/24', morePods: '172.31.144.0/24' },
  b: { zone: 'eu-test-1b', nodes: '172.31.32.0/24', pods: '172.31.160.0/24', morePods: '172.31.176.0/24' },
  c: { zone: 'eu-test-1c', nodes: '172.31.48.0/24', pods: '172.31.192.0/24', morePods: '172.31.208.0/24' },
} as const;
export type ZoneLetter = keyof typeof ZONES;
type SubnetUse = 'nodes' | 'pods' | 'morePods';

export const subnetOf = (letter: ZoneLetter, use: SubnetUse): SubnetId =>
  `subnet-0e2e0000000000${letter}0${{ nodes: 1, pods: 2, morePods: 3 }[use]}` as SubnetId;

export interface Cloud {
  /** Where the control plane runs: reached from every node, and reaching every node. */
  readonly onPrem: OutsideHost;
  /** For AWS_EC2_ENDPOINT, from the nodes. */
  readonly ec2Endpoint: string;
  /** A running instance with its namespace. */
  launch(name: string, letter: ZoneLetter): Promise<{ instance: Ec2Instance; netnsPath: string }>;
  terminate(instance: Ec2Instance): void;
  /** ENIs that are attached to the instance beside the primary one. */
  podEnis(instance: Ec2Instance): readonly Ec2Eni[];
  /** Every ENI that is there and no primary one. */
  allPodEnis(): readonly Ec2Eni[];
  close(): Promise<void>;
}

const EC2_PORT = 80;

export async function makeCloud(prefix: string): Promise<Cloud> {
  const ec2 = createSimEc2({ clock: systemClock, random: systemRandom, profile: () => demoEc2 });
  buildVpc(ec2);
  const names = new Map<string, string>();
  const fabric = createFabric({
    truth: vpcTruthOf(ec2, VPC),
    prefix,
    clock: systemClock,
    random: systemRandom,
    log: createLog({ level: 'error', fd: 2, fields: { component: 'cloud' } }),
    nodeName: (instanceId) => names.get(instanceId) ?? instanceId,
  });
  await done(fabric.start());
  const http = await serveEc2Http({ ec2: ec2.client({ name: 'controller' }), truth: ec2.truth });
  const door = await openDoor(fabric.internetHost, Number(new URL(http.url).port));
  return {
    onPrem: fabric.onPremHost,
    ec2Endpoint: `http://${fabric.internetHost.address}:${EC2_PORT}`,
    launch: async (name, letter) => {
      const instance = must(
        ec2.admin.launchInstance({
          instanceType: 'm5.xlarge',
          subnetId: subnetOf(letter, 'nodes'),
          securityGroupIds: [NODES_GROUP],
        }),
      );
      names.set(instance.instanceId, name);
      await done(fabric.sync());
      return { instance, netnsPath: fabric.nodeNetnsPath(instance.instanceId) };
    },
    terminate: ({ instanceId }) => must(ec2.admin.terminateInstance(instanceId)),
    podEnis: ({ instanceId, primaryEniId }) =>
      ec2.truth
        .enis()
        .filter((eni) => eni.attachment?.instanceId === instanceId && eni.eniId !== primaryEniId),
    allPodEnis: () => ec2.truth.enis().filter((eni) => eni.attachment?.deviceIndex !== 0),
    close: async () => {
      await door.close();
      await http.close();
      await done(fabric.close());
    },
  };
}

async function done(result: ReturnType<Fabric['sync']>): Promise<void> {
  const { ok, ...rest } = await result;
  if (!ok) throw new Error(JSON.stringify(rest));
}

function buildVpc({ admin }: SimEc2): void {
  admin.setInstanceLimits(INSTANCE_TYPES);
  must(admin.createVpc({ vpcId: VPC, cidrs: ['172.31.0.0/16' as Cidr] }));
  for (const letter of Object.keys(ZONES) as ZoneLetter[])
    for (const use of ['nodes', 'pods', 'morePods'] as const)
      must(
        admin.createSubnet({
          vpcId: VPC,
          subnetId: subnetOf(letter, use),
          zone: ZONES[letter].zone,
          cidr: ZONES[letter][use] as Cidr,
        }),
      );
  for (const [securityGroupId, name] of [
    [NODES_GROUP, 'nodes'],
    [PODS_GROUP, 'pods'],
  ] as const) {
    must(admin.createSecurityGroup({ vpcId: VPC, securityGroupId, name }));
    must(
      admin.setGroupRules(securityGroupId, {
        // The VPC, and the control plane, which asks kubelets for logs and runs programs in pods.
        ingress: ['172.31.0.0/16', '192.168.0.0/16'].map((cidr) => ({
          protocol: 'all',
          peer: { kind: 'Cidr', cidr: cidr as Cidr },
        })),
        egress: EGRESS_ALL,
      }),
    );
  }
}

const DOOR = fileURLToPath(new URL('./door-process.ts', import.meta.url));

/** Listens at the host, in its namespace, and leads each connection to the port on loopback here. */
async function openDoor(host: OutsideHost, port: number): Promise<{ close(): Promise<void> }> {
  const child: ChildProcess = spawn(
    'nsenter',
    [`--net=${host.netnsPath}`, process.execPath, DOOR, host.address, String(EC2_PORT)],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  );
  const [, server] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => {
      throw new Error(`nothing can listen at ${host.address} port ${EC2_PORT}`);
    }),
  ])) as [unknown, Server];
  child.disconnect();
  const open = new Set<Socket>();
  server.on('connection', (outer: Socket) => {
    const inner = connect(port, '127.0.0.1');
    for (const [socket, other] of [
      [outer, inner],
      [inner, outer],
    ] as const) {
      open.add(socket);
      socket.pipe(other);
      socket.once('error', () => other.destroy());
      socket.once('close', () => {
        open.delete(socket);
        other.destroy();
      });
    }
  });
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}
