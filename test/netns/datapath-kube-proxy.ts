// Rules of the shapes that kube-proxy writes, in its nftables and its iptables mode, for services given as data.

export interface ReplayedService {
  /** Part of chain names: upper case letters. */
  readonly id: string;
  readonly clusterIp: string;
  readonly nodePort: number;
  readonly endpoint: { readonly address: string; readonly port: number };
  /** externalTrafficPolicy: Cluster masquerades what comes from outside, Local does not. */
  readonly policy: 'Cluster' | 'Local';
}

export const SERVICE_PORT = 80;

/** Text for `nft -f`. `nodeAddress` is the one address at which node ports answer. */
export function nftablesMode(services: readonly ReplayedService[], nodeAddress: string): string {
  const list = (lines: readonly string[]): string => lines.join(', ');
  const clusterIps = services.map(
    ({ id, clusterIp }) => `${clusterIp} . tcp . ${SERVICE_PORT} : goto service-${id}`,
  );
  const nodePorts = services.map(({ id, nodePort }) => `tcp . ${nodePort} : goto external-${id}`);
  return `table ip kube-proxy {
  set nodeport-ips { type ipv4_addr; elements = { ${nodeAddress} }; }
  chain mark-for-masquerade { meta mark set meta mark | 0x4000; }
  chain masquerading {
    meta mark & 0x4000 == 0 return
    meta mark set meta mark ^ 0x4000
    masquerade fully-random
  }
${services.map(serviceChains).join('')}
  map service-ips {
    type ipv4_addr . inet_proto . inet_service : verdict;
    elements = { ${list(clusterIps)} };
  }
  map service-nodeports {
    type inet_proto . inet_service : verdict;
    elements = { ${list(nodePorts)} };
  }
  chain services {
    ip daddr . meta l4proto . th dport vmap @service-ips
    ip daddr @nodeport-ips meta l4proto . th dport vmap @service-nodeports
  }
  chain filter-forward { type filter hook forward priority filter; policy accept; ct state new accept; }
  chain nat-prerouting { type nat hook prerouting priority dstnat; policy accept; jump services; }
  chain nat-output { type nat hook output priority -100; policy accept; jump services; }
  chain nat-postrouting { type nat hook postrouting priority srcnat; policy accept; jump masquerading; }
}
`;
}

function serviceChains({ id, endpoint, policy }: ReplayedService): string {
  const external =
    policy === 'Cluster'
      ? `jump mark-for-masquerade; goto service-${id};`
      : `fib saddr type local jump mark-for-masquerade; goto service-${id};`;
  return `  chain endpoint-${id} {
    ip saddr ${endpoint.address} jump mark-for-masquerade
    meta l4proto tcp dnat to ${endpoint.address}:${endpoint.port}
  }
  chain service-${id} { numgen random mod 1 vmap { 0 : goto endpoint-${id} }; }
  chain external-${id} { ${external} }
`;
}

/** Text for `iptables-restore --noflush`. Node ports answer at every address of the node. */
export function iptablesMode(services: readonly ReplayedService[]): string {
  const chains = services.flatMap(({ id }) => [`KUBE-SVC-${id}`, `KUBE-SEP-${id}`, `KUBE-EXT-${id}`]);
  const common = ['KUBE-SERVICES', 'KUBE-NODEPORTS', 'KUBE-POSTROUTING', 'KUBE-MARK-MASQ'];
  return `${[
    '*nat',
    ...[...common, ...chains].map((chain) => `:${chain} - [0:0]`),
    '-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES',
    '-A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES',
    '-A POSTROUTING -m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING',
    '-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN',
    '-A KUBE-POSTROUTING -j MARK --xor-mark 0x4000',
    '-A KUBE-POSTROUTING -j MASQUERADE --random-fully',
    '-A KUBE-MARK-MASQ -j MARK --or-mark 0x4000',
    ...services.flatMap(serviceRules),
    // Last, so that ClusterIPs are looked for first.
    '-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS',
    'COMMIT',
  ].join('\n')}\n`;
}

function serviceRules({ id, clusterIp, nodePort, endpoint, policy }: ReplayedService): readonly string[] {
  const masqueraded = policy === 'Cluster' ? '' : '-m addrtype --src-type LOCAL ';
  return [
    `-A KUBE-SERVICES -d ${clusterIp}/32 -p tcp -m tcp --dport ${SERVICE_PORT} -j KUBE-SVC-${id}`,
    `-A KUBE-NODEPORTS -p tcp -m tcp --dport ${nodePort} -j KUBE-EXT-${id}`,
    `-A KUBE-EXT-${id} ${masqueraded}-j KUBE-MARK-MASQ`,
    `-A KUBE-EXT-${id} -j KUBE-SVC-${id}`,
    `-A KUBE-SVC-${id} -j KUBE-SEP-${id}`,
    `-A KUBE-SEP-${id} -s ${endpoint.address}/32 -j KUBE-MARK-MASQ`,
    `-A KUBE-SEP-${id} -p tcp -m tcp -j DNAT --to-destination ${endpoint.address}:${endpoint.port}`,
  ];
}
