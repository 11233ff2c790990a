// A VPC of Linux network namespaces: a router that knows what the simulated EC2 knows, nodes, and hosts outside.

import { cidrPrefixLength } from '../../domain/address/cidr.ts';
import { familyOf, type Ip, type IpFamily } from '../../domain/address/ip.ts';
import type { InstanceId } from '../../domain/ids.ts';
import { err, ok } from '../../domain/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Subscription } from '../../ports/cluster.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import { coalesce } from './coalesce.ts';
import { createEniLinks, LIFELIKE_LINKS, type LinkLife } from './eni-links.ts';
import type { FabricResult } from './fabric-failure.ts';
import { createFollower } from './follower.ts';
import { type MetadataServer, startMetadataServer } from './metadata-server.ts';
import { createMetadataService } from './metadata-service.ts';
import { namespaceNames, netnsPath, PREFIX_PATTERN } from './namespace-names.ts';
import { listNamespaces, prepareNetnsDirectory, removeNamespaces } from './namespaces.ts';
import { buildOutside, DEFAULT_OUTSIDE_HOSTS, type OutsideHosts } from './outside.ts';
import { addressBehind, PUBLIC_BLOCK_LENGTH } from './public-addresses.ts';
import { createPodNamespaces } from './pod-namespaces.ts';
import { createVpcSync } from './vpc-sync.ts';
import { METADATA_ADDRESS } from './router-rules.ts';
import { hasIpv6, type VpcTruth } from './vpc-truth.ts';

export interface FabricOptions {
  readonly truth: VpcTruth;
  /**
   * Begins the name of every namespace: a small letter, then small letters and digits, at most 16. What an earlier run
   * with the same prefix left is removed at the start, so two fabrics that live at once need two prefixes.
   */
  readonly prefix: string;
  /** A real clock: packets take real time. */
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly hosts?: OutsideHosts;
  /** What an instance's namespace is called after the prefix, asked once for each instance; its id when absent. */
  readonly nodeName?: (instanceId: InstanceId) => string;
  readonly linkLife?: LinkLife;
}

export interface OutsideHost {
  readonly netnsPath: string;
  readonly address: Ip;
  /** In a VPC with IPv6, on the internet. */
  readonly ipv6Address?: Ip;
}

export interface Fabric {
  /** Removes what an earlier run left, builds everything, and follows every change of the truth from then on. */
  start(): Promise<FabricResult<void>>;
  /**
   * Makes the namespaces equal to the truth as it is now, except ENI links whose time has not come. The fabric does it
   * by itself after each change; whoever waits for this knows that it is done.
   */
  sync(): Promise<FabricResult<void>>;
  /** Where the instance's namespace is, or will be. */
  nodeNetnsPath(instanceId: InstanceId): string;
  /** A new namespace on the instance's machine, with loopback up, as a container runtime makes it. Answers its path. */
  createPodNetns(instanceId: InstanceId, podName: string): Promise<FabricResult<string>>;
  /** Succeeds when it is gone already. */
  deletePodNetns(instanceId: InstanceId, podName: string): Promise<FabricResult<void>>;
  /** Sees VPC addresses as public ones (`seenFromInternet`), those of IPv6 as they are; connections only come from the VPC. */
  readonly internetHost: OutsideHost;
  /** Behind a private link: no address translation, and it may open connections to any VPC address. */
  readonly onPremHost: OutsideHost;
  /** The VPC address behind one that the internet host saw; undefined when it is none of the VPC's. */
  seenFromInternet(address: Ip): Ip | undefined;
  /** Removes every namespace of the prefix and ends what runs there. Also after a start that failed; may be repeated. */
  close(): Promise<FabricResult<void>>;
}

export function createFabric(options: FabricOptions): Fabric {
  const { truth, clock, random, log, hosts = DEFAULT_OUTSIDE_HOSTS } = options;
  const names = namespaceNames(options.prefix, options.nodeName ?? ((instanceId) => instanceId));
  let server: MetadataServer | undefined;
  let subscription: Subscription | undefined;
  let isClosed = false;
  /** Nothing is removed in the name of a prefix that was refused. */
  let hasBegun = false;

  const life = options.linkLife ?? LIFELIKE_LINKS;
  const links = createEniLinks({ clock, random, life, onDue: () => follower.now() });
  const vpc = createVpcSync({
    truth,
    names,
    links,
    log,
    onNodeRemoved: (instanceId) => pods.deleteAllOf(instanceId),
  });
  const pods = createPodNamespaces(names, vpc.hasNode);
  const sync = coalesce(() => (isClosed ? Promise.resolve(ok(undefined)) : vpc.pass()));
  const follower = createFollower({ clock, log, sync });
  const removeAll = async (): Promise<FabricResult<void>> =>
    removeNamespaces((await listNamespaces()).filter((name) => names.isOurs(name)));

  return {
    start: async () => {
      const invalid = whyInvalid(options);
      if (invalid !== undefined) return err({ kind: 'invalid', message: invalid });
      hasBegun = true;
      const families: readonly IpFamily[] = hasIpv6(truth.read()) ? [4, 6] : [4];
      const build = (): Promise<FabricResult<void>> => buildOutside(names, hosts, families);
      for (const step of [prepareNetnsDirectory, removeAll, build]) {
        const result = await step();
        if (!result.ok) return result;
      }
      const service = createMetadataService({ truth, clock, random });
      const addresses = families.map((family) => METADATA_ADDRESS[family]);
      const started = await startMetadataServer(names.router, addresses, service);
      if (!started.ok) return started;
      server = started.value;
      subscription = truth.onChange(follower.soon);
      return sync();
    },
    sync,
    nodeNetnsPath: (instanceId) => netnsPath(names.node(instanceId)),
    createPodNetns: pods.create,
    deletePodNetns: pods.delete,
    internetHost: {
      netnsPath: netnsPath(names.internet),
      address: hosts.internet,
      ...(hasIpv6(truth.read()) ? { ipv6Address: hosts.internetIpv6 } : {}),
    },
    onPremHost: { netnsPath: netnsPath(names.onPrem), address: hosts.onPrem },
    seenFromInternet: (address) => addressBehind(truth.read().cidrs, address),
    close: async () => {
      isClosed = true;
      subscription?.close();
      follower.close();
      // A pass that is under way would go on making what is removed here.
      await sync();
      links.close();
      await server?.close();
      return hasBegun ? removeAll() : ok(undefined);
    },
  };
}

/** Why no fabric can be made of this, in a sentence. */
function whyInvalid({ prefix, truth }: FabricOptions): string | undefined {
  if (!PREFIX_PATTERN.test(prefix)) {
    return `"${prefix}" cannot begin names of namespaces: use a small letter, then small letters and digits, at most 16`;
  }
  const large = truth
    .read()
    .cidrs.find((cidr) => familyOf(cidr) === 4 && cidrPrefixLength(cidr) < PUBLIC_BLOCK_LENGTH);
  return large && `the VPC block ${large} is larger than a /16, which AWS does not allow`;
}
