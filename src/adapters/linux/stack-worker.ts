// The Worker that does a NetworkStack's work in the namespaces it names: one request at a time, synchronously, but for what the kernel takes long to do.

import { parentPort } from 'node:worker_threads';
import { assert } from '../../domain/result.ts';
import { applyHost } from './apply-host.ts';
import { cleanAwsCni, reportAwsCni } from './aws-cni-leftovers.ts';
import { describeNetwork } from './describe-network.ts';
import { closeHostNamespace, type HostNamespace, openHostNamespace } from './host-namespace.ts';
import { inspectPod, listPodLinks } from './inspect-pod.ts';
import { laterOutcomeOf, outcomeOf } from './kernel-refusal.ts';
import { listLinks } from './link.ts';
import { createNamespaceWatch } from './namespace-watch.ts';
import { unwirePod } from './unwire-pod.ts';
import { wirePod } from './wire-pod.ts';
import type {
  ChangeNotice,
  StackAddress,
  StackRequest,
  WatchRequest,
  WorkerReply,
} from './worker-messages.ts';

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

type Removal = Extract<StackRequest, { readonly operation: 'unwirePod' }>;

function perform(request: Exclude<StackRequest, Removal> | WatchRequest): unknown {
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
    case 'watch':
      watch.watch(request.stack);
      return null;
    case 'unwatch':
      watch.unwatch(request.stack.stackId);
      return null;
    case 'closeStack':
      closeStack(request.stack.stackId);
      return null;
  }
}

assert(parentPort !== null, 'stack-worker.ts runs in a Worker');
const port = parentPort;
const watch = createNamespaceWatch((changedStackId) => {
  const notice: ChangeNotice = { changedStackId };
  port.postMessage(notice);
});
async function remove({ requestId, stack, input }: Removal): Promise<void> {
  const outcome = await laterOutcomeOf(async () => {
    await unwirePod(hostOf(stack), input);
    return null;
  });
  const reply: WorkerReply = { requestId, outcome };
  port.postMessage(reply);
}

port.on('message', (request: StackRequest | WatchRequest) => {
  if (request.operation === 'unwirePod') {
    void remove(request);
    return;
  }
  const reply: WorkerReply = { requestId: request.requestId, outcome: outcomeOf(() => perform(request)) };
  port.postMessage(reply);
});
