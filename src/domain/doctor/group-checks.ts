// Checks of security groups: what every pod needs must pass, from pods to DNS and to the API server, and back to webhooks.

import { hostCidr } from '../address/cidr.ts';
import { listed } from '../explain/explain-node.ts';
import { networkOf, type Picture } from '../explain/picture.ts';
import type { AccountPicture } from './account-picture.ts';
import type { Found } from './finding.ts';
import { dnsPods } from './node-checks.ts';
import { podSources } from './pod-sources.ts';
import { type Flow, type FlowEnd, type GroupRules, passageOf } from './security-group-rule.ts';

const DNS_PORT = 53;
const API_SERVER_PORT = 443;

/** Named ends under the same groups, of which one speaks for all. */
interface NamedEnd extends FlowEnd {
  readonly name: string;
}

const groupsText = ({ securityGroupIds }: FlowEnd): string => securityGroupIds.join(', ') || 'no group';

/** DNS servers by their groups: those of the ENIs that hold their addresses. */
function dnsEnds(picture: Picture): readonly NamedEnd[] {
  const ends = new Map<string, NamedEnd>();
  for (const pod of dnsPods(picture)) {
    const network = pod.nodeName === undefined ? undefined : networkOf(picture, pod.nodeName);
    if (network === undefined) continue;
    const { instance, enis } = network.spec;
    const used = network.status.used.find((one) => one.pod === pod.key)?.ip;
    const eni = enis.find((one) => used !== undefined && one.addresses.includes(used));
    const [ip, securityGroupIds] = pod.hostNetwork
      ? [instance.primaryAddress, instance.primarySecurityGroupIds]
      : [used, eni?.securityGroupIds];
    if (ip === undefined || securityGroupIds === undefined) continue;
    const key = [...securityGroupIds].sort().join();
    if (!ends.has(key)) ends.set(key, { name: pod.key, securityGroupIds, cidr: hostCidr(ip) });
  }
  return [...ends.values()];
}

export const knowsDnsGroups = (picture: Picture, { groupRules }: AccountPicture): boolean =>
  groupRules !== undefined && dnsEnds(picture).length > 0 && podSources(picture).length > 0;

/** Without UDP nothing resolves; without TCP, what does not fit into a datagram. */
export function checkDnsGroups(picture: Picture, { groupRules }: AccountPicture): readonly Found[] {
  if (groupRules === undefined) return [];
  return podSources(picture).flatMap((source) =>
    dnsEnds(picture).flatMap((dns): readonly Found[] => {
      const isClosed = (protocol: 'tcp' | 'udp'): Closed | undefined =>
        closed({ from: source, to: dns, protocol, port: DNS_PORT }, groupRules);
      const [udp, tcp] = [isClosed('udp'), isClosed('tcp')];
      const shut = udp ?? tcp;
      if (shut === undefined) return [];
      const protocols = [...(udp === undefined ? [] : ['UDP']), ...(tcp === undefined ? [] : ['TCP'])];
      return [
        {
          severity: udp === undefined ? 'warning' : 'error',
          what: `${source.name} (${groupsText(source)}) may not reach port ${DNS_PORT} by ${protocols.join(' and ')} of DNS server ${dns.name} (${groupsText(dns)}): ${shut.because}`,
          why:
            udp === undefined
              ? 'answers that do not fit into a datagram are asked for again by TCP, and do not come'
              : 'no name resolves in these pods, unless a DNS server runs on their own node',
          fix: udp === undefined || tcp === undefined ? shut.fix : `${shut.fix}, and the same with tcp`,
        },
      ];
    }),
  );
}

function controlPlaneEnds({ controlPlane = [] }: AccountPicture): readonly NamedEnd[] {
  const ends = new Map<string, NamedEnd>();
  for (const { eniId, securityGroupIds, address } of controlPlane) {
    const key = [...securityGroupIds].sort().join();
    if (!ends.has(key)) ends.set(key, { name: eniId, securityGroupIds, cidr: hostCidr(address) });
  }
  return [...ends.values()];
}

export const knowsControlPlaneGroups = (picture: Picture, account: AccountPicture): boolean =>
  account.groupRules !== undefined && controlPlaneEnds(account).length > 0 && podSources(picture).length > 0;

/** The Service `kubernetes` leads to the control plane's ENIs. */
export function checkApiServerGroups(picture: Picture, account: AccountPicture): readonly Found[] {
  const { groupRules } = account;
  if (groupRules === undefined) return [];
  return podSources(picture).flatMap((source) =>
    controlPlaneEnds(account).flatMap((end): readonly Found[] => {
      const flow: Flow = { from: source, to: end, protocol: 'tcp', port: API_SERVER_PORT };
      const shut = closed(flow, groupRules);
      if (shut === undefined) return [];
      return [
        {
          severity: 'error',
          what: `${source.name} (${groupsText(source)}) may not reach port ${API_SERVER_PORT} of the control plane's ENI ${end.name} (${groupsText(end)}): ${shut.because}`,
          why: 'operators, CoreDNS and everything else in these pods that asks the API server fails',
          fix: shut.fix,
        },
      ];
    }),
  );
}

/**
 * Which ports webhooks listen on is theirs to say; that none at all is open is a mistake wherever one runs. What kubelet
 * asks of pods on its own node passes no ENI, and needs no rule.
 */
export function checkWebhookGroups(picture: Picture, account: AccountPicture): readonly Found[] {
  const { groupRules } = account;
  if (groupRules === undefined) return [];
  return podSources(picture).flatMap((target) => {
    const shut = controlPlaneEnds(account).flatMap(
      (from) => closed({ from, to: target, protocol: 'tcp' }, groupRules) ?? [],
    );
    const [first] = shut;
    if (first === undefined) return [];
    return [
      {
        severity: 'warning' as const,
        what: `the API server may not reach any port of ${target.name} (${groupsText(target)}): ${first.because}`,
        why: 'admission webhooks and aggregated APIs (metrics-server) that run in such pods time out, and with some of them every write to the cluster',
        fix: `${first.fix}, with the port of the webhook`,
      },
    ];
  });
}

interface Closed {
  readonly because: string;
  readonly fix: string;
}

/** Absent: it passes, or cannot be told. */
function closed(flow: Flow, rules: GroupRules): Closed | undefined {
  const found = passageOf(flow, rules);
  if (found !== 'EgressDenied' && found !== 'IngressDenied') return undefined;
  const isEgress = found === 'EgressDenied';
  const [own, peer] = isEgress ? [flow.from, flow.to] : [flow.to, flow.from];
  const verb = isEgress ? 'egress' : 'ingress';
  const port = flow.port ?? 'PORT';
  const [group = 'GROUP', peerGroup = 'GROUP'] = [own.securityGroupIds[0], peer.securityGroupIds[0]];
  return {
    because: `no ${verb} rule of ${listed(own.securityGroupIds)} allows it`,
    fix: `aws ec2 authorize-security-group-${verb} --group-id ${group} --ip-permissions 'IpProtocol=${flow.protocol},FromPort=${port},ToPort=${port},UserIdGroupPairs=[{GroupId=${peerGroup}}]'`,
  };
}
