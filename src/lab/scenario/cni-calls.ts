// The container runtime's CNI calls as requests to the agent, and its replies as a kubelet takes them.

import { parseIp } from '../../domain/address/parse-ip.ts';
import type { Ip } from '../../domain/address/ip.ts';
import type { CniReply, CniRequest } from '../../protocol/agent-socket/cni-message.ts';
import type { AddAnswer, DelAnswer, Sandbox } from './kubelet.ts';

export function addRequest(sandbox: Sandbox): CniRequest {
  const [namespace = '', name = ''] = sandbox.pod.split('/');
  return {
    command: 'ADD',
    sandbox: { containerId: sandbox.containerId, ifName: sandbox.ifName },
    netnsPath: sandbox.netnsPath,
    pod: { namespace, name, uid: sandbox.podUid },
  };
}

export function delRequest(sandbox: Sandbox): CniRequest {
  return {
    command: 'DEL',
    sandbox: { containerId: sandbox.containerId, ifName: sandbox.ifName },
    netnsPath: sandbox.netnsPath,
  };
}

export function addAnswer(reply: CniReply): AddAnswer {
  switch (reply.kind) {
    case 'Result':
      return addedAddresses(reply.result.ips.map(({ address }) => address));
    case 'Done':
      return { kind: 'Refused', code: 0, message: 'ADD was answered without a result' };
    case 'Error':
      return refused(reply.error);
  }
}

/** `ips[].address` of a CNI result: address and prefix length. */
export function addedAddresses(texts: readonly string[]): AddAnswer {
  const addresses: Ip[] = [];
  for (const text of texts) {
    const parsed = parseIp(text.split('/')[0] ?? '');
    if (!parsed.ok)
      return { kind: 'Refused', code: 0, message: `ADD's result has a bad address: ${parsed.error}` };
    addresses.push(parsed.value);
  }
  return addresses.length > 0
    ? { kind: 'Added', addresses }
    : { kind: 'Refused', code: 0, message: "ADD's result has no address" };
}

export const delAnswer = (reply: CniReply): DelAnswer =>
  reply.kind === 'Error' ? refused(reply.error) : { kind: 'Deleted' };

export const refused = (error: {
  readonly code: number;
  readonly msg: string;
  readonly details?: string;
}): { readonly kind: 'Refused'; readonly code: number; readonly message: string } => ({
  kind: 'Refused',
  code: error.code,
  message: error.details ? `${error.msg}: ${error.details}` : error.msg,
});
