// Takes the runtime's requests: one at a time for a pod, different pods side by side.

import { podKey } from '../domain/ids.ts';
import { allocationOf, type SandboxKey, sandboxId } from '../domain/ipam/ledger.ts';
import type { CniReply, CniRequest, PodIdentity } from '../protocol/agent-socket/cni-message.ts';
import { CNI_ERROR } from '../protocol/cni/cni-error.ts';
import { type AgentContext, notServing } from './agent-context.ts';
import { done, errorReply, tryAgainLater } from './cni-replies.ts';
import { type AddOptions, handleAdd } from './handle-add.ts';
import { handleCheck } from './handle-check.ts';
import { handleDel } from './handle-del.ts';
import { handleGc } from './handle-gc.ts';
import type { KeyedLock } from './keyed-lock.ts';
import { reportRefusal } from './report-refusal.ts';

/** Requests under way at once. A node has a few hundred pods, and a runtime asks for each once at a time. */
const REQUEST_COUNT_MAX = 1024;

export interface CniHandler {
  handle(request: CniRequest): Promise<CniReply>;
  requestCount(): number;
}

export interface CniHandlerOptions extends AddOptions {
  /** By pod. */
  readonly lock: KeyedLock;
}

export function createCniHandler(context: AgentContext, options: CniHandlerOptions): CniHandler {
  const { lock } = options;
  let requestCount = 0;
  let podRequestCount = 0;

  const forPod = async (request: SandboxRequest, run: () => Promise<CniReply>): Promise<CniReply> => {
    podRequestCount += 1;
    try {
      return await lock(lockKey(context, request), run);
    } finally {
      podRequestCount -= 1;
    }
  };

  const dispatch = (request: CniRequest): Promise<CniReply> => {
    switch (request.command) {
      case 'ADD':
        return forPod(request, async () => {
          const reply = await handleAdd(context, options, request);
          reportRefusal(context, request, reply);
          return reply;
        });
      case 'DEL':
        options.pool.giveUp(request.sandbox);
        return forPod(request, () => handleDel(context, request));
      case 'CHECK':
        return forPod(request, () => handleCheck(context, request));
      case 'STATUS':
        return Promise.resolve(status(context));
      case 'GC':
        return handleGc(context, { lock, isBusy: () => podRequestCount > 0 }, request);
    }
  };

  return {
    handle: async (request) => {
      if (requestCount >= REQUEST_COUNT_MAX) {
        return tryAgainLater('the agent is busy', `${requestCount} requests are under way`);
      }
      requestCount += 1;
      try {
        return await dispatch(request);
      } finally {
        requestCount -= 1;
      }
    },
    requestCount: () => requestCount,
  };
}

interface SandboxRequest {
  readonly sandbox: SandboxKey;
  readonly pod?: PodIdentity | undefined;
}

/**
 * The pod that holds the sandbox, or else the one that the request names: old and new sandbox of a pod share its host
 * link, and requests for one sandbox must not pass each other, whatever pod they name.
 */
function lockKey({ store }: AgentContext, { sandbox, pod }: SandboxRequest): string {
  const named = pod === undefined ? undefined : podKey(pod.namespace, pod.name);
  return allocationOf(store.ledger(), sandbox)?.pod ?? named ?? sandboxId(sandbox);
}

/** Error 50 only while ADD cannot be served at all, never for want of addresses: the runtime makes it a NotReady node. */
function status(context: AgentContext): CniReply {
  const why = notServing(context);
  return why === undefined
    ? done
    : errorReply(CNI_ERROR.pluginNotAvailable, 'the agent does not serve yet', why);
}
