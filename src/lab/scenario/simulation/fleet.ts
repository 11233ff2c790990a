// A large cluster on a virtual clock: the real controller, the simulated EC2 and API, and for the nodes' agents a stand-in
// that does only what the controller can see: it hands out granted addresses and lets go of withdrawn ones.

import { parseControllerSettings } from '../../../controller/controller-settings.ts';
import { startController } from '../../../controller/start-controller.ts';
import type { Cidr } from '../../../domain/address/ip.ts';
import {
  type InstanceId,
  type NodeName,
  type PodKey,
  podKey,
  type SecurityGroupId,
  type SubnetId,
  type VpcId,
} from '../../../domain/ids.ts';
import { INSTANCE_TYPES } from '../../../domain/instance/instance-types.ts';
import { answerAsAgent } from './stand-in-agent.ts';
import { createSimCluster, type SimCluster } from '../../cluster/sim-cluster.ts';
import { calmEc2, type Ec2Profile } from '../../ec2/ec2-profile.ts';
import { createSimEc2, type SimEc2 } from '../../ec2/sim-ec2.ts';
import { calm } from '../../faults/fault-profile.ts';
import { createKernel, type Kernel } from '../../kernel/kernel.ts';
import type { ControllerCluster } from '../../../ports/cluster.ts';
import type { Ec2, Ec2Failure } from '../../../ports/ec2.ts';
import { assert, type Result } from '../../../domain/result.ts';
import type { Log } from '../../../ports/log.ts';

const VPC = 'vpc-00000000' as VpcId;
const NODE_SUBNET = 'subnet-00000001' as SubnetId;
export const POD_SUBNET = 'subnet-00000002' as SubnetId;
const OTHER_POD_SUBNET = 'subnet-00000003' as SubnetId;
/** Applies by name alone. */
export const OTHER_ENI_CONFIG = 'other';
export const NODES_GROUP = 'sg-0000000a' as SecurityGroupId;
export const PODS_GROUP = 'sg-0000000b' as SecurityGroupId;
const ZONE = 'z-a';
export const CLUSTER = 'fleet';
const INSTANCE_TYPE = 'm5.large';

const nothing = (): void => undefined;
const quiet: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing, mark: nothing };

export interface Fleet {
  readonly kernel: Kernel;
  readonly ec2: SimEc2;
  readonly cluster: SimCluster;
  /** Pod -> when it was served, virtual milliseconds since the epoch. */
  readonly servedAt: ReadonlyMap<PodKey, number>;
  setProfile(change: Partial<Ec2Profile>): void;
  launch(name: string): { readonly name: NodeName; readonly instanceId: InstanceId };
  /** Makes the node known to the cluster. */
  join(node: { readonly name: NodeName; readonly instanceId: InstanceId }): void;
  startPod(name: string, node: NodeName): PodKey;
  deletePod(pod: PodKey): void;
  /** A new life of the controller; the one before must have been killed. */
  startController(env?: Readonly<Record<string, string>>, between?: Between): void;
  /** The controller does nothing any more and hears no answer. */
  killController(): void;
  run(ms: number, stopWhen?: () => boolean): Promise<void>;
}

/** What stands between the controller and its world, for tests that count its calls or cut them off. */
export interface Between {
  readonly ec2: (ec2: Ec2) => Ec2;
  readonly cluster: (cluster: ControllerCluster) => ControllerCluster;
}
const NOTHING: Between = { ec2: (ec2) => ec2, cluster: (cluster) => cluster };
const CONTROLLER = 'controller';
const SEED = 1;

function must<T>(result: Result<T, Ec2Failure>): T {
  assert(result.ok, result.ok ? '' : `the fleet's account: ${result.error.message}`);
  return result.value;
}

/** `drain` lets promises go on: one macrotask turn. */
export function createFleet(drain: () => Promise<void>): Fleet {
  const kernel = createKernel({ seed: SEED });
  const clock = kernel.clock('world');
  let profile: Ec2Profile = { ...calmEc2, randomAddresses: false };
  const ec2 = createSimEc2({ clock, random: kernel.random.fork('ec2'), profile: () => profile });
  const cluster = createSimCluster({
    clock,
    random: kernel.random.fork('cluster'),
    profile: () => calm.cluster,
  });
  makeVpc(ec2, cluster);
  const servedAt = new Map<PodKey, number>();
  answerAsAgent({ kernel, ec2, cluster, servedAt });
  const { admin } = cluster;
  let lifeCount = 0;
  return {
    kernel,
    ec2,
    cluster,
    servedAt,
    setProfile: (change) => {
      profile = { ...profile, ...change };
    },
    launch: (name) => {
      const request = {
        instanceType: INSTANCE_TYPE,
        subnetId: NODE_SUBNET,
        securityGroupIds: [NODES_GROUP],
      };
      return { name: name as NodeName, instanceId: must(ec2.admin.launchInstance(request)).instanceId };
    },
    join: (node) => {
      admin.applyNode({ ...node, zone: ZONE });
    },
    startPod: (name, node) => {
      admin.applyPod({ namespace: 'default', name, nodeName: node });
      return podKey('default', name);
    },
    deletePod: (pod) => {
      admin.deletePod(pod);
    },
    startController: (env = {}, between = NOTHING) => {
      lifeCount += 1;
      startFleetController({ kernel, ec2, cluster, between, life: lifeCount }, env);
    },
    killController: () => kernel.kill(CONTROLLER),
    run: async (ms, stopWhen) => {
      const untilMs = kernel.now() + ms;
      kernel.clock('fleet').timer(ms + 1, 'after the run', nothing);
      const end = await kernel.run({
        untilMs,
        drain,
        ...(stopWhen === undefined ? {} : { stopWhen }),
      });
      if (end.kind === 'Broken') throw new Error(JSON.stringify(end));
    },
  };
}

function makeVpc({ admin }: SimEc2, cluster: SimCluster): void {
  admin.setInstanceLimits(INSTANCE_TYPES);
  must(admin.createVpc({ vpcId: VPC, cidrs: ['10.0.0.0/16' as Cidr, '100.64.0.0/16' as Cidr] }));
  must(admin.createSecurityGroup({ vpcId: VPC, name: 'nodes', securityGroupId: NODES_GROUP }));
  must(admin.createSecurityGroup({ vpcId: VPC, name: 'pods', securityGroupId: PODS_GROUP }));
  const subnet = (subnetId: SubnetId, block: string): void => {
    must(admin.createSubnet({ vpcId: VPC, zone: ZONE, cidr: block as Cidr, subnetId }));
  };
  subnet(NODE_SUBNET, '10.0.0.0/18');
  subnet(POD_SUBNET, '100.64.0.0/16');
  subnet(OTHER_POD_SUBNET, '10.0.128.0/24');
  for (const [name, subnetId] of [
    [ZONE, POD_SUBNET],
    [OTHER_ENI_CONFIG, OTHER_POD_SUBNET],
  ] as const) {
    const eniConfig = { name, labels: {}, subnetId, securityGroupIds: [PODS_GROUP] };
    cluster.admin.applyEniConfig({ name, spec: { kind: 'Parsed', eniConfig } });
  }
}

interface Life extends Pick<Fleet, 'kernel' | 'ec2' | 'cluster'> {
  readonly between: Between;
  readonly life: number;
}

function startFleetController(
  { kernel, ec2, cluster, between, life }: Life,
  env: Readonly<Record<string, string>>,
): void {
  const settings = parseControllerSettings({
    CLUSTER_NAME: CLUSTER,
    AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG: 'true',
    WARM_IP_TARGET: '1',
    IP_COOLDOWN_PERIOD: '30',
    ...env,
  });
  if (!settings.ok) throw new Error(settings.error.join('; '));
  const clock = kernel.clock(CONTROLLER);
  startController({
    cluster: between.cluster(cluster.client({ clock })),
    ec2: between.ec2(ec2.client({ name: CONTROLLER, clock })),
    clock,
    random: kernel.random.fork(`${CONTROLLER}-${life}`),
    log: quiet,
    settings: settings.value,
  });
}
