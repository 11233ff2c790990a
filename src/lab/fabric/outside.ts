// The router as it stands before it knows of any ENI, and the hosts outside the VPC: the internet's and the premises'.

import type { Ip, IpFamily } from '../../domain/address/ip.ts';
import { ok } from '../../domain/result.ts';
import type { FabricResult } from './fabric-failure.ts';
import type { NamespaceNames } from './namespace-names.ts';
import { addNamespaces } from './namespaces.ts';
import { INTERNET_LINK, METADATA_ADDRESS, ON_PREM_LINK } from './router-rules.ts';
import { runIp, runProgram } from './run-program.ts';

export interface OutsideHosts {
  /** Address of the host that plays the internet; outside the VPC. */
  readonly internet: Ip;
  /** Its IPv6 address, where the VPC has IPv6. */
  readonly internetIpv6: Ip;
  /** Address of the host behind the private link; outside the VPC. */
  readonly onPrem: Ip;
}

/** TEST-NET-3 (RFC 5737), the documentation's prefix (RFC 3849), and a network as companies have them. */
export const DEFAULT_OUTSIDE_HOSTS: OutsideHosts = {
  internet: '203.0.113.10' as Ip,
  internetIpv6: '2001:db8:cb:71::10' as Ip,
  onPrem: '192.168.50.10' as Ip,
};

/** The hosts' gateway: an address of the router on its links to them. */
const OUTSIDE_GATEWAY: Readonly<Record<IpFamily, string>> = { 4: '169.254.0.2', 6: 'fe80::a9fe:2' };

/** Internet gateways and VPN connections carry no more: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/network_mtu.html */
const OUTSIDE_MTU = 1500;

const ROUTER_SYSCTLS: readonly (readonly [string, string])[] = [
  ['net/ipv4/ip_forward', '1'],
  // The nftables table checks sources, and more strictly.
  ['net/ipv4/conf/all/rp_filter', '0'],
  ['net/ipv4/conf/default/rp_filter', '0'],
  // Nodes ask by ARP for every address of their subnet: the VPC answers in the place of whoever holds it.
  ['net/ipv4/conf/default/proxy_arp', '1'],
  ['net/ipv4/conf/all/send_redirects', '0'],
  ['net/ipv4/conf/default/send_redirects', '0'],
];

const IPV6_SYSCTLS: readonly (readonly [string, string])[] = [
  ['net/ipv6/conf/all/forwarding', '1'],
  // Nobody else is on the router's links, and an address that is being checked for a second answers nobody.
  ['net/ipv6/conf/default/accept_dad', '0'],
];

/** For a VPC of IPv4 alone; a kernel without IPv6 has nothing to switch off. */
const NO_IPV6 = '{ [ ! -d /proc/sys/net/ipv6 ] || echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6; }';

const writing = (sysctls: readonly (readonly [string, string])[]): readonly string[] =>
  sysctls.map(([path, value]) => `echo ${value} > /proc/sys/${path}`);

/** Makes the router and the two hosts; the internet's has an address of each family that the VPC has. */
export async function buildOutside(
  names: NamespaceNames,
  hosts: OutsideHosts,
  families: readonly IpFamily[],
): Promise<FabricResult<void>> {
  const isDual = families.includes(6);
  const { router, internet, onPrem } = names;
  const added = await addNamespaces([router, internet, onPrem]);
  if (!added.ok) return added;
  const script = [...writing(ROUTER_SYSCTLS), ...(isDual ? writing(IPV6_SYSCTLS) : [NO_IPV6])].join(' && ');
  const configured = await runProgram({ argv: ['ip', 'netns', 'exec', router, 'sh', '-c', script] });
  if (!configured.ok) return configured;
  const linked = await runIp(undefined, [
    hostLink(router, INTERNET_LINK, internet),
    hostLink(router, ON_PREM_LINK, onPrem),
  ]);
  if (!linked.ok) return linked;
  const results = await Promise.all([
    runIp(router, [
      `addr add ${METADATA_ADDRESS[4]}/32 dev lo`,
      `addr add ${OUTSIDE_GATEWAY[4]}/32 dev lo`,
      // What nobody holds vanishes without a word, as in a VPC; and no ARP is answered for it.
      'route add blackhole default',
      `link set dev ${INTERNET_LINK} up`,
      `link set dev ${ON_PREM_LINK} up`,
      `route add ${hosts.internet}/32 dev ${INTERNET_LINK}`,
      `route add ${hosts.onPrem}/32 dev ${ON_PREM_LINK}`,
      ...(isDual ? ipv6RouterCommands(hosts) : []),
    ]),
    runIp(internet, [...hostCommands(hosts.internet), ...(isDual ? ipv6HostCommands(hosts) : [])]),
    runIp(onPrem, hostCommands(hosts.onPrem)),
  ]);
  return results.find((result) => !result.ok) ?? ok(undefined);
}

const hostLink = (router: string, link: string, host: string): string =>
  `link add name ${link} netns ${router} mtu ${OUTSIDE_MTU} type veth ` +
  `peer name eth0 mtu ${OUTSIDE_MTU} netns ${host}`;

const hostCommands = (address: Ip): readonly string[] => [
  `addr add ${address}/32 dev eth0`,
  'link set dev eth0 up',
  `route add default via ${OUTSIDE_GATEWAY[4]} dev eth0 onlink`,
];

const ipv6RouterCommands = ({ internetIpv6 }: OutsideHosts): readonly string[] => [
  `addr add ${METADATA_ADDRESS[6]}/128 dev lo`,
  'route add blackhole ::/0',
  `addr add ${OUTSIDE_GATEWAY[6]}/64 dev ${INTERNET_LINK} nodad`,
  `route add ${internetIpv6}/128 dev ${INTERNET_LINK}`,
];

const ipv6HostCommands = ({ internetIpv6 }: OutsideHosts): readonly string[] => [
  `addr add ${internetIpv6}/128 dev eth0 nodad`,
  `route add default via ${OUTSIDE_GATEWAY[6]} dev eth0 onlink`,
];
