// The agent's answers to the runtime.

import { familyOf, type Ip } from '../domain/address/ip.ts';
import { hostCidr } from '../domain/address/cidr.ts';
import type { PodDatapath } from '../domain/datapath/pod-datapath.ts';
import type { CniReply } from '../protocol/agent-socket/cni-message.ts';
import { CNI_ERROR, type CniErrorCode, cniError } from '../protocol/cni/cni-error.ts';
import type { CniIp, CniRoute } from '../protocol/cni/cni-result.ts';

/** The pod's next hop (datapath.md, Pod side): the same for every pod, answered by a permanent neighbour entry. */
const GATEWAY = { 4: '169.254.1.1', 6: 'fe80::1' } as const;
const EVERYWHERE = { 4: '0.0.0.0/0', 6: '::/0' } as const;

export const done: CniReply = { kind: 'Done' };

export const errorReply = (code: CniErrorCode, msg: string, details: string): CniReply => ({
  kind: 'Error',
  error: cniError(code, msg, details),
});

/** The runtime comes back by itself: nothing is wrong with the request. */
export const tryAgainLater = (msg: string, details: string): CniReply =>
  errorReply(CNI_ERROR.tryAgainLater, msg, details);

/** What ADD answers for a wired pod. It follows from the pod alone, so a repeated ADD gives the same (CNI-2). */
export function resultOf(pod: PodDatapath): CniReply {
  const families = pod.addresses.map((ip) => familyOf(ip));
  return {
    kind: 'Result',
    result: {
      interfaces: [
        { name: pod.hostLink, mac: pod.hostMac, mtu: pod.mtu },
        { name: pod.podLink, mac: pod.podMac, mtu: pod.mtu, sandbox: pod.netnsPath },
      ],
      ips: pod.addresses.map(
        (ip: Ip): CniIp => ({ address: hostCidr(ip), gateway: GATEWAY[familyOf(ip)], interface: 1 }),
      ),
      routes: families.map((family): CniRoute => ({ dst: EVERYWHERE[family], gw: GATEWAY[family] })),
    },
  };
}
