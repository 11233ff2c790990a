// For tests: a controller over a simulated EC2 and cluster on a virtual clock, with two pod subnets per zone.

import assert from 'node:assert/strict';
import { setImmediate as macrotask } from 'node:timers/promises';
import type { SecurityGroupId, SubnetId, VpcId } from '../domain/ids.ts';
import { type NodeName, podKey } from '../domain/ids.ts';
import { cidr } from '../domain/address/testing.ts';
import { INSTANCE_TYPES } from '../domain/instance/instance-types.ts';
import type { NodeNetworkSpec, NodeNetworkStatus, SpecEni } from '../domain/ipam/node-network.ts';
import type { Result } from '../domain/result.ts';
import { createSimCluster, type SimCluster } from '../lab/cluster/sim-cluster.ts';
import { createSimEc2, type SimEc2 } from '../lab/ec2/sim-ec2.ts';
import { calm } from '../lab/faults/fault-profile.ts';
import { createKernel, type Kernel } from '../lab/kernel/kernel.ts';
import type { NodeTaint } from '../ports/cluster.ts';
import type { Log } from '../ports/log.ts';
import { parseNodeNetworkClassSpec } from '../protocol/crd/node-network-class.ts';
import { parseControllerSettings } from './controller-settings.ts';
import { type Controller, startController } from './start-controller.ts';

export const VPC = 'vpc-00000000' as VpcId;
export const NODES_GROUP = 'sg-0000000a' as SecurityGroupId;
export const PODS_GROUP = 'sg-0000000b' as SecurityGroupId;

/** Pod subnets and the ENIConfigs of the same name: two /24 in zone z-a, one in z-b; `z-a-2` has no IPv6 block. */
const POD_SUBNETS = [
  { name: 'z-a', zone: 'z-a', id: 'subnet-00000010', block: '10.0.10.0/24', ipv6: '2600:1f14:0:ab10::/64' },
  { name: 'z-a-2', zone: 'z-a', id: 'subnet-00000011', block: '10.0.11.0/24', ipv6: '' },
  { name: 'z-b', zone: 'z-b', id: 'subnet-00000012', block: '10.0.12.0/24', ipv6: '2600:1f14:0:ab12::/64' },
] as const;
const NODE_SUBNETS: Readonly<Record<string, SubnetId>> = {
  'z-a': 'subnet-00000001' as SubnetId,
  'z-b': 'subnet-00000002' as SubnetId,
};
const SECOND_MS = 1000;

function must<T, E>(result: Result<T, E>): T {
  assert.ok(result.ok, result.ok ? '' : JSON.stringify(result.error));
  return result.value;
}

/** What tests of the controller see and do. */
export interface ControllerWorld {
  readonly kernel: Kernel;
  readonly ec2: SimEc2;
  readonly cluster: SimCluster;
  readonly controller: Controller;
  /** With `taints`, as kubelet registers it. */
  joinNode(name: string, zone: string, taints?: readonly NodeTaint[]): NodeName;
  /** What an agent would answer. */
  answer(node: NodeName, change: Partial<NodeNetworkStatus>): Promise<void>;
  startPods(node: NodeName, count: number): void;
  applyClass(name: string, spec: unknown): void;
  /** Of the ENIConfig of that name. */
  subnetOf(eniConfig: string): SubnetId | undefined;
  /** The subnet of that ENIConfig has exactly these tags. */
  tagSubnet(eniConfig: string, tags: Readonly<Record<string, string>>): void;
  occupyAllBut(subnetId: SubnetId | undefined, leaveFree: number): void;
  /** Kills the controller and starts another, which knows only what Kubernetes and EC2 say. */
  restartController(): void;
  run(seconds: number): Promise<void>;
  spec(node: NodeName): NodeNetworkSpec | undefined;
  podEnis(node: NodeName): readonly SpecEni[];
  /** `NAME by SOURCE` */
  selectionText(node: NodeName): string;
}

/**
 * Starts the controller with `env` on top of custom networking and a warm pool of one address. With `beside` its cluster
 * is a second one in the same VPC and at the same time, and has no ENIConfigs.
 */
export function createControllerWorld(
  env: Readonly<Record<string, string>> = {},
  beside?: Pick<ControllerWorld, 'kernel' | 'ec2'>,
): ControllerWorld {
  const kernel = beside?.kernel ?? createKernel({ seed: 7 });
  const owner = beside === undefined ? 'controller' : 'controller-beside';
  const clock = kernel.clock('world');
  const ec2 =
    beside?.ec2 ?? createSimEc2({ clock, random: kernel.random.fork('ec2'), profile: () => calm.ec2 });
  const random = kernel.random.fork('cluster');
  const cluster = createSimCluster({ clock, random, profile: () => calm.cluster });
  if (beside === undefined) makeVpc(ec2, cluster);
  const settings = must(
    parseControllerSettings({
      AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG: 'true',
      WARM_IP_TARGET: '1',
      ENIWHERE_EXCESS_HOLD_SECONDS: '5',
      ...env,
    }),
  );
  let lives = 0;
  const start = (): Controller => {
    lives += 1;
    const own = kernel.clock(owner);
    return startController({
      cluster: cluster.client({ clock: own }),
      ec2: ec2.client({ name: owner, clock: own }),
      clock: own,
      random: kernel.random.fork(`${owner}-${lives}`),
      log: quiet,
      settings,
    });
  };
  const controller = start();
  const { admin } = cluster;
  const run = async (seconds: number): Promise<void> => {
    const end = await kernel.run({ untilMs: kernel.now() + seconds * SECOND_MS, drain: () => macrotask() });
    assert.equal(end.kind, 'TimeUp');
  };
  const specOf = (node: NodeName): NodeNetworkSpec | undefined => admin.nodeNetwork(node)?.spec;
  return {
    kernel,
    ec2,
    cluster,
    controller,
    joinNode: (text, zone, taints = []) =>
      joinNode({ ec2, cluster }, { name: text as NodeName, zone, taints }),
    answer: async (node, change) => {
      const record = admin.nodeNetwork(node);
      assert.ok(record);
      const status = { ...record.status, ...change };
      const outcome = cluster.client().updateNodeNetworkStatus({ ...record, status });
      await run(1);
      assert.equal((await outcome).kind, 'ok');
    },
    startPods: (node, count) => {
      for (let n = 1; n <= count; n += 1) {
        admin.applyPod({ namespace: 'default', name: `${node}-p${n}` });
        admin.bindPod(podKey('default', `${node}-p${n}`), node);
      }
    },
    applyClass: (name, spec) => {
      admin.applyNodeNetworkClass({ name, spec: parseNodeNetworkClassSpec(name, spec) });
    },
    subnetOf: (eniConfig) => POD_SUBNETS.find(({ name }) => name === eniConfig)?.id as SubnetId | undefined,
    tagSubnet: (name, tags) => {
      const found = POD_SUBNETS.find((one) => one.name === name);
      assert.ok(found);
      must(ec2.admin.setSubnetTags(found.id as SubnetId, tags));
    },
    occupyAllBut: (subnetId, leaveFree) => {
      assert.ok(subnetId !== undefined);
      const free = ec2.truth.subnet(subnetId)?.freeAddressCount ?? 0;
      must(ec2.admin.occupyAddresses(subnetId, free - leaveFree));
    },
    restartController: () => {
      kernel.kill(owner);
      start();
    },
    run,
    spec: specOf,
    podEnis: (node) => (specOf(node)?.enis ?? []).filter((eni) => !eni.primary),
    selectionText: (node) => {
      const selection = specOf(node)?.selection;
      const what = selection?.kind === 'EniConfig' ? selection.name : selection?.kind;
      return `${what} by ${selection?.source}`;
    },
  };
}

const nothing = (): void => undefined;
const quiet: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing, mark: nothing };

function makeVpc({ admin }: SimEc2, cluster: SimCluster): void {
  admin.setInstanceLimits(INSTANCE_TYPES);
  must(admin.createVpc({ vpcId: VPC, cidrs: ['10.0.0.0/16', '2600:1f14:0:ab00::/56'].map(cidr) }));
  must(admin.createSecurityGroup({ vpcId: VPC, name: 'nodes', securityGroupId: NODES_GROUP }));
  must(admin.createSecurityGroup({ vpcId: VPC, name: 'pods', securityGroupId: PODS_GROUP }));
  for (const [n, [zone, subnetId]] of Object.entries(NODE_SUBNETS).entries())
    must(admin.createSubnet({ vpcId: VPC, zone, cidr: cidr(`10.0.${n}.0/24`), subnetId }));
  for (const { name, zone, id, block, ipv6 } of POD_SUBNETS) {
    const subnetId = id as SubnetId;
    const ipv6Cidr = ipv6 === '' ? {} : { ipv6Cidr: cidr(ipv6) };
    must(admin.createSubnet({ vpcId: VPC, zone, cidr: cidr(block), subnetId, ...ipv6Cidr }));
    const eniConfig = { name, labels: {}, subnetId, securityGroupIds: [PODS_GROUP] };
    cluster.admin.applyEniConfig({ name, spec: { kind: 'Parsed', eniConfig } });
  }
}

function joinNode(
  { ec2, cluster }: Pick<ControllerWorld, 'ec2' | 'cluster'>,
  {
    name,
    zone,
    taints,
  }: { readonly name: NodeName; readonly zone: string; readonly taints: readonly NodeTaint[] },
): NodeName {
  const subnetId = NODE_SUBNETS[zone];
  assert.ok(subnetId !== undefined);
  const launched = must(
    ec2.admin.launchInstance({ instanceType: 'm5.large', subnetId, securityGroupIds: [NODES_GROUP] }),
  );
  cluster.admin.applyNode({ name, instanceId: launched.instanceId, zone, taints });
  return name;
}
