// The network of namespaces: the fabric, with the plugin's executable and the agents' sockets on its nodes.

import { familyOf, type Ip } from '../../domain/address/ip.ts';
import { hostIpv6Address } from '../../domain/address/ipv6-prefix.ts';
import type { InstanceId, NodeName, PodKey } from '../../domain/ids.ts';
import { assert } from '../../domain/result.ts';
import type { Ec2Instance } from '../../ports/ec2.ts';
import type { NamespaceSockets } from '../../ports/namespace-sockets.ts';
import type { NetworkStack } from '../../ports/network-stack.ts';
import { createFabric, type Fabric, type FabricOptions } from '../fabric/fabric.ts';
import type { FabricResult } from '../fabric/fabric-failure.ts';
import { vpcTruthOf } from '../fabric/vpc-truth-of.ts';
import type { PodState } from './kubelet.ts';
import type { HandleCni, LabNetwork, Seat } from './lab-network.ts';
import { askInstanceId } from './metadata-probe.ts';
import { createPackets, type Packets } from './packets.ts';
import type { Places } from './places.ts';
import { createPluginCalls, type RunPlugin } from './plugin-runtime.ts';
import type { Endpoint } from './schema-words.ts';
import type { World } from './start-lab.ts';

export interface FabricNetworkDeps extends Pick<FabricOptions, 'clock' | 'random' | 'log' | 'prefix'> {
  readonly openStack: (request: { readonly netnsPath: string }) => NetworkStack;
  readonly sockets: NamespaceSockets;
  readonly runPlugin: RunPlugin;
  readonly agentSocketOf: (node: string) => string;
  /** Serves the agent on a unix socket until closed. */
  readonly serveAgent: (path: string, handle: HandleCni) => Promise<{ close(): Promise<void> }>;
  /** The path of a Node.js executable, for what has to run inside a namespace. */
  readonly nodePath: string;
  readonly podStateOf: (pod: PodKey) => PodState | undefined;
}

/** Builds the fabric. Throws with the fabric's own words when it cannot be built here. */
export async function createFabricNetwork(world: World, deps: FabricNetworkDeps): Promise<LabNetwork> {
  const { scenario, ec2 } = world;
  const names = new Map<InstanceId, NodeName>();
  const instances = new Map<string, InstanceId>();
  const fabric = createFabric({
    truth: vpcTruthOf(ec2, scenario.vpc.id),
    prefix: deps.prefix,
    clock: deps.clock,
    random: deps.random,
    log: deps.log,
    hosts: scenario.hosts,
    nodeName: (instanceId) => names.get(instanceId) ?? instanceId,
  });
  const started = await fabric.start();
  if (!started.ok) {
    await fabric.close();
    throw new Error(started.error.message);
  }
  const packets = createPackets(deps.sockets, (from, timeoutMs, family) =>
    askInstanceId({ nodePath: deps.nodePath, netnsPath: from.netnsPath, timeoutMs, family }),
  );
  return {
    packets,
    places: placesIn(world, { fabric, instances, podStateOf: deps.podStateOf }),
    joinNode: async ({ name, instanceId }) => {
      names.set(instanceId, name);
      instances.set(name, instanceId);
      valueOf(await fabric.sync());
      return seatOf({ fabric, packets, deps, name, instanceId });
    },
    close: async () => {
      valueOf(await fabric.close());
    },
  };
}

/** The fabric's failures are the lab's own, not the product's: the run ends. */
function valueOf<T>(result: FabricResult<T>): T {
  if (!result.ok) throw new Error(`the lab's network: ${result.error.message}`);
  return result.value;
}

interface SeatParts {
  readonly fabric: Fabric;
  readonly packets: Packets;
  readonly deps: FabricNetworkDeps;
  readonly name: NodeName;
  readonly instanceId: InstanceId;
}

/** Hex digits of the container id in a namespace's name: enough to tell a pod's successive sandboxes apart. */
const SANDBOX_DIGIT_COUNT = 6;

function seatOf({ fabric, packets, deps, name, instanceId }: SeatParts): Seat {
  const netnsPath = fabric.nodeNetnsPath(instanceId);
  const agentSocket = deps.agentSocketOf(name);
  const calls = createPluginCalls(deps.runPlugin, agentSocket);
  // netns path -> the fabric's name of it
  const sandboxes = new Map<string, string>();
  return {
    netnsPath,
    openStack: () => deps.openStack({ netnsPath }),
    runtime: {
      makeNamespace: async (pod, containerId) => {
        const podName = `${pod.slice(pod.indexOf('/') + 1)}-${containerId.slice(0, SANDBOX_DIGIT_COUNT)}`;
        const path = valueOf(await fabric.createPodNetns(instanceId, podName));
        sandboxes.set(path, podName);
        return path;
      },
      removeNamespace: async (_, path) => {
        await packets.forget(path);
        const podName = sandboxes.get(path);
        assert(podName !== undefined, `${path} is a sandbox of ${name}`);
        sandboxes.delete(path);
        valueOf(await fabric.deletePodNetns(instanceId, podName));
      },
      ...calls,
    },
    serve: (handle) => deps.serveAgent(agentSocket, handle),
  };
}

interface PlaceParts {
  readonly fabric: Fabric;
  readonly instances: ReadonlyMap<string, InstanceId>;
  readonly podStateOf: (pod: PodKey) => PodState | undefined;
}

function placesIn({ ec2 }: World, { fabric, instances, podStateOf }: PlaceParts): Places {
  /** Of a node in IPv6: what its agent puts on an ENI with a prefix, for primary ENIs have none. */
  const nodeAddresses = (instance: Ec2Instance): readonly Ip[] => [
    instance.primaryAddress,
    ...ec2.truth.enisOf(instance.instanceId).flatMap((eni) => eni.ipv6Prefixes.map(hostIpv6Address)),
  ];
  const found = (endpoint: Endpoint): { netnsPath: string; addresses: readonly Ip[] } | undefined => {
    switch (endpoint.kind) {
      case 'Pod': {
        const state = podStateOf(endpoint.pod);
        return state?.sandbox && { netnsPath: state.sandbox.netnsPath, addresses: state.addresses ?? [] };
      }
      case 'Node': {
        const instanceId = instances.get(endpoint.node);
        const instance = instanceId && ec2.truth.instance(instanceId);
        return (
          instance && {
            netnsPath: fabric.nodeNetnsPath(instance.instanceId),
            addresses: nodeAddresses(instance),
          }
        );
      }
      case 'Internet': {
        const { netnsPath, address, ipv6Address } = fabric.internetHost;
        return { netnsPath, addresses: [address, ...(ipv6Address === undefined ? [] : [ipv6Address])] };
      }
      case 'OnPrem':
        return { netnsPath: fabric.onPremHost.netnsPath, addresses: [fabric.onPremHost.address] };
      case 'Metadata':
        return undefined;
    }
  };
  const spot: Places['spot'] = (endpoint, family) => {
    const { netnsPath, addresses } = found(endpoint) ?? {};
    const address = addresses?.find((one) => family === undefined || familyOf(one) === family);
    return netnsPath === undefined || address === undefined ? undefined : { netnsPath, address };
  };
  return {
    spot,
    target: ({ endpoint, port }, family) => {
      const at = spot(endpoint, family);
      return at && { ...at, port };
    },
    addressBehind: (seen) => fabric.seenFromInternet(seen) ?? seen,
    instanceBehind: (from) => {
      const state = from.kind === 'Pod' ? podStateOf(from.pod) : undefined;
      const node = from.kind === 'Node' ? from.node : state?.node;
      return node === undefined ? undefined : instances.get(node);
    },
  };
}
