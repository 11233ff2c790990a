// The Worker that does a NetworkStack's work: one request at a time, synchronously, in the namespaces it names.

import { parentPort } from 'node:worker_threads';
import { assert } from '../../domain/result.ts';
import { applyHost } from './apply-host.ts';
import { cleanAwsCni, reportAwsCni } from './aws-cni-leftovers.ts';
import { describeNetwork } from './describe-network.ts';
import { closeHostNamespace, type HostNamespace, openHostNamespace } from './host-namespace.ts';
import { inspectPod, listPodLinks } from './inspect-pod.ts';
import { outcomeOf } from './kernel-refusal.ts';
import { listLinks } from './link.ts';
import { unwirePod, wirePod } from './wire-pod.ts';
import type { StackAddress, StackRequest, WorkerReply } from './worker-messages.ts';

/** Stack id -> its host namespace, once something was asked of it. */
const hosts = new Map<number, HostNamespace>();

function hostOf({ stackId, netnsPath }: StackAddress): HostNamespace {
  const known = hosts.get(stackId);
  if (known !== undefined) return known;
  const opened = openHostNamespace(netnsPath);
  hosts.set(stackId, opened);
  return opened;
}

function closeStack(stackId: number): void {
  const host = hosts.get(stackId);
  if (host !== undefined) closeHostNamespace(host);
  hosts.delete(stackId);
}

function perform(request: StackRequest): unknown {
  switch (request.operation) {
    case 'listLinks':
      return listLinks(hostOf(request.stack).netlink).map(({ index, name, mac, up, mtu }) => ({
        index,
        name,
        mac,
        up,
        mtu,
      }));
    case 'applyHost':
      return applyHost(hostOf(request.stack), request.input);
    case 'wirePod':
      wirePod(hostOf(request.stack), request.input);
      return null;
    case 'unwirePod':
      unwirePod(hostOf(request.stack), request.input);
      return null;
    case 'inspectPod':
      return inspectPod(hostOf(request.stack), request.input);
    case 'listPodLinks':
      return listPodLinks(hostOf(request.stack), request.input);
    case 'reportAwsCni':
      return reportAwsCni(hostOf(request.stack), request.input);
    case 'cleanAwsCni':
      return cleanAwsCni(hostOf(request.stack), request.input);
    case 'describeNetwork':
      return describeNetwork(hostOf(request.stack));
    case 'closeStack':
      closeStack(request.stack.stackId);
      return null;
  }
}

assert(parentPort !== null, 'stack-worker.ts runs in a Worker');
const port = parentPort;
port.on('message', (request: StackRequest) => {
  const reply: WorkerReply = { requestId: request.requestId, outcome: outcomeOf(() => perform(request)) };
  port.postMessage(reply);
});
