// The agent's snapshot in the shapes that scripts for the AWS VPC CNI read (its HTTP introspection on port 61679).

import { compareIps } from '../domain/address/ip-number.ts';
import { familyOf, type Cidr, type Ip } from '../domain/address/ip.ts';
import { cidrContains, cidrPrefixLength, firstAddress, hostCidr } from '../domain/address/cidr.ts';
import { eniOrdinal, eniTable } from '../domain/datapath/eni-ordinal.ts';
import { MARK_MASK } from '../domain/datapath/host-datapath.ts';
import type { Allocation } from '../domain/ipam/ledger.ts';
import type { SpecEni } from '../domain/ipam/node-network.ts';
import { holdableAddresses } from '../domain/ipam/pod-addresses.ts';
import { formatTimestamp } from '../protocol/crd/timestamp.ts';
import type { AgentSnapshot } from './agent-snapshot.ts';

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Go's zero time: what its scripts read as "never", or not known. */
const NEVER = '0001-01-01T00:00:00Z';
const NETWORK = 'eniwhere';

/** Path -> what it answers. `undefined`: there is no such thing (404). */
export type Introspection = ReadonlyMap<string, (snapshot: AgentSnapshot) => Json | undefined>;

const views: ReadonlyMap<string, (snapshot: AgentSnapshot) => Json | undefined> = new Map([
  ['/v1/enis', enisView],
  ['/v1/eni-configs', eniConfigView],
  ['/v1/pods', podsView],
  ['/v1/networkutils-env-settings', networkSettingsView],
  ['/v1/ipamd-env-settings', ipamSettingsView],
  ['/v1/snapshot', snapshotView],
]);

/** All paths, `/` with their list among them. */
export const introspection: Introspection = new Map([
  ['/', () => ({ AvailableCommands: [...views.keys()] })],
  ...views,
]);

/** By network card. Container ids and interface names are left out: they are what a forged DEL needs. */
function enisView(snapshot: AgentSnapshot): Json {
  const enis = snapshot.nodeNetwork?.enis ?? [];
  const held = new Map(snapshot.allocations.flatMap((pod) => pod.addresses.map((ip) => [ip, pod] as const)));
  const cooling = new Map(snapshot.cooling.map((ip, n) => [ip, snapshot.coolingSince[n] ?? 0] as const));
  const cards = [...new Set([0, ...enis.map((eni) => eni.networkCardIndex)])].sort((a, b) => a - b);
  return Object.fromEntries(
    cards.map((card) => {
      const onCard = enis.filter((eni) => eni.networkCardIndex === card);
      const granted = onCard.flatMap((eni) => eni.addresses);
      return [
        `${card}`,
        {
          TotalIPs: granted.length,
          AssignedIPs: granted.filter((ip) => held.has(ip)).length,
          ENIs: Object.fromEntries(onCard.map((eni) => [eni.eniId, eniView(eni, { held, cooling })])),
        },
      ];
    }),
  );
}

interface AddressUse {
  readonly held: ReadonlyMap<Ip, Allocation>;
  /** address -> when it was released */
  readonly cooling: ReadonlyMap<Ip, number>;
}

function eniView(eni: SpecEni, use: AddressUse): Json {
  // IPv6 addresses that follow from IPv4 ones are in use with them.
  const inUse = holdableAddresses(eni).filter((ip) => use.held.has(ip) || use.cooling.has(ip));
  const blocks = [...eni.prefixes, ...eni.addresses.map(hostCidr)].filter(
    // An address of a prefix is shown in its prefix.
    (block) => eni.prefixes.includes(block) || !eni.prefixes.some((prefix) => holds(prefix, block)),
  );
  const ofFamily = (family: 4 | 6): Json =>
    Object.fromEntries(
      blocks
        .filter((block) => familyOf(block) === family)
        .map((block) => [block, blockView(block, { eni, inUse, use })]),
    );
  return {
    ID: eni.eniId,
    IsPrimary: eni.primary,
    IsTrunk: false,
    IsEFA: false,
    DeviceNumber: eni.deviceIndex,
    AvailableIPv4Cidrs: ofFamily(4),
    IPv6Cidrs: ofFamily(6),
    // The primary ENI never serves pods here.
    IsExcludedForPodIPs: eni.primary || eni.cordoned,
    RouteTableID: eniTable(eniOrdinal(eni)),
    SubnetID: eni.subnetId,
    // What follows is Eniwhere's own.
    ENIConfig: eni.eniConfig,
    MAC: eni.mac,
    Withdrawing: [...eni.withdrawing].sort(compareIps),
  };
}

const holds = (prefix: Cidr, block: Cidr): boolean => cidrContains(prefix, firstAddress(block));

interface BlockUse {
  readonly eni: SpecEni;
  readonly inUse: readonly Ip[];
  readonly use: AddressUse;
}

function blockView(block: Cidr, { eni, inUse, use: { held, cooling } }: BlockUse): Json {
  const inBlock = inUse.filter((ip) => cidrContains(block, ip)).sort(compareIps);
  return {
    Cidr: { IP: firstAddress(block), Mask: maskOf(block) },
    IPAddresses: Object.fromEntries(
      inBlock.map((ip) => [ip, addressView(ip, { pod: held.get(ip), releasedAt: cooling.get(ip) })]),
    ),
    IsPrefix: eni.prefixes.includes(block),
    AddressFamily: '',
  };
}

function addressView(
  ip: Ip,
  { pod, releasedAt }: { readonly pod: Allocation | undefined; readonly releasedAt: number | undefined },
): Json {
  const [k8sPodNamespace = '', k8sPodName = ''] = pod?.pod.split('/') ?? [];
  return {
    Address: ip,
    IPAMKey: { networkName: pod === undefined ? '' : NETWORK, containerID: '', ifName: '' },
    IPAMMetadata: pod === undefined ? {} : { k8sPodNamespace, k8sPodName },
    AssignedTime: NEVER,
    UnassignedTime: releasedAt === undefined ? NEVER : formatTimestamp(releasedAt),
  };
}

/** The mask's bytes in base64, as Go prints them. */
function maskOf(block: Cidr): string {
  const byteCount = familyOf(block) === 4 ? 4 : 16;
  const length = cidrPrefixLength(block);
  const bytes = Array.from({ length: byteCount }, (_, n) => {
    const ones = Math.min(8, Math.max(0, length - 8 * n));
    return (0xff << (8 - ones)) & 0xff;
  });
  return btoa(String.fromCharCode(...bytes));
}

/** The name alone. Pods in the node's own subnet, and those that get none, have no ENIConfig. */
function eniConfigView({ nodeNetwork }: AgentSnapshot): Json | undefined {
  const selection = nodeNetwork?.selection;
  return selection?.kind === 'EniConfig' ? selection.name : undefined;
}

function podsView({ allocations, nodeNetwork, imdsAllowed }: AgentSnapshot): Json {
  const eniOf = new Map(
    nodeNetwork?.enis.flatMap((eni) => eni.addresses.map((ip) => [ip, eni.eniId] as const)),
  );
  const pods = allocations.map(({ pod, podUid, addresses, hostLink }) => {
    const [namespace = '', name = ''] = pod.split('/');
    const enis = [...new Set(addresses.flatMap((ip) => eniOf.get(ip) ?? []))];
    const imds = addresses.some((ip) => imdsAllowed.includes(ip));
    return { namespace, name, uid: podUid, addresses, enis, hostLink, imdsAllowed: imds };
  });
  return pods.sort((a, b) => compareTexts(`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`));
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function networkSettingsView({ nodeNetwork }: AgentSnapshot): Json {
  const settings = nodeNetwork?.settings;
  if (settings === undefined) return {};
  const randomize = { none: 0, hashrandom: 1, prng: 2 }[settings.randomizeSnat];
  return {
    AWS_VPC_CNI_NODE_PORT_SUPPORT: true,
    AWS_VPC_ENI_MTU: settings.mtu,
    // Seven bits and not one: each ENI has a number of its own.
    AWS_VPC_K8S_CNI_CONNMARK: MARK_MASK,
    // The VPC's own CIDRs among them: destinations that see the pod's own address.
    AWS_VPC_K8S_CNI_EXCLUDE_SNAT_CIDRS: settings.directCidrs,
    AWS_VPC_K8S_CNI_EXTERNALSNAT: settings.externalSnat,
    AWS_VPC_K8S_CNI_RANDOMIZESNAT: randomize,
    AWS_VPC_K8S_CNI_VETHPREFIX: settings.vethPrefix,
    AWS_EXTERNAL_SERVICE_CIDRS: [],
  };
}

/** Warm targets are the controller's business, and not known on the node: null. */
function ipamSettingsView({ nodeNetwork }: AgentSnapshot): Json {
  if (nodeNetwork === undefined) return {};
  return {
    AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG: nodeNetwork.selection.source !== 'CustomNetworkingOff',
    IP_COOLDOWN_PERIOD: nodeNetwork.cooldownMs / 1000,
    WARM_ENI_TARGET: null,
    WARM_IP_TARGET: null,
  };
}

/** Everything that the agent believes, but for what a forged DEL needs. */
function snapshotView(snapshot: AgentSnapshot): Json {
  const allocations = snapshot.allocations.map(({ pod, podUid, addresses, hostLink, netnsPath }) => ({
    pod,
    podUid,
    addresses,
    hostLink,
    netnsPath,
  }));
  return JSON.parse(JSON.stringify({ ...snapshot, allocations })) as Json;
}
