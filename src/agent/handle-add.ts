// CNI ADD: an address, durable in the journal; then the pod's link; then the answer (datapath.md, Order of commitment).

import { desiredPod } from '../domain/datapath/desired-pod.ts';
import type { PodDatapath } from '../domain/datapath/pod-datapath.ts';
import { podKey } from '../domain/ids.ts';
import { type Allocation, allocationOf, sandboxId } from '../domain/ipam/ledger.ts';
import type { NodeNetworkSpec } from '../domain/ipam/node-network.ts';
import { ok } from '../domain/result.ts';
import type { AddRequest, CniReply } from '../protocol/agent-socket/cni-message.ts';
import { CNI_ERROR } from '../protocol/cni/cni-error.ts';
import type { AgentContext } from './agent-context.ts';
import { errorReply, resultOf, tryAgainLater } from './cni-replies.ts';
import { describeStackOutcome } from './describe-stack-outcome.ts';
import type { CommitResult } from './ledger-store.ts';
import type { Pool, PoolChoice } from './pool.ts';
import { releasePod } from './release-pod.ts';

export interface AddOptions {
  readonly pool: Pool;
  /** How long to wait for an address, milliseconds. */
  readonly addWaitMs: number;
}

/** To be called under the pod's lock. */
export async function handleAdd(
  context: AgentContext,
  options: AddOptions,
  request: AddRequest,
): Promise<CniReply> {
  const pod = podKey(request.pod.namespace, request.pod.name);
  const holder = allocationOf(context.store.ledger(), request.sandbox)?.pod;
  if (holder !== undefined && holder !== pod) {
    const details = `container ${request.sandbox.containerId} is pod ${holder}'s; a DEL has to come first`;
    return errorReply(CNI_ERROR.invalidEnvironment, `pod ${pod} cannot have another pod's sandbox`, details);
  }
  const stale = await removeOldSandboxes(context, request);
  if (stale !== undefined) return stale;
  const taken = await options.pool.take({
    sandbox: request.sandbox,
    pod: {
      key: pod,
      namespace: request.pod.namespace,
      uid: request.pod.uid,
      ...(request.podAnnotations === undefined ? {} : { annotations: request.podAnnotations }),
    },
    waitMs: options.addWaitMs,
    // The journal that was read while this waited may know more of pod and sandbox: then all is looked at anew.
    hold: (choice) => (isUpToDate(context, request) ? hold(context, request, choice) : undefined),
  });
  if (!taken.ok) {
    context.log.info('no address for a pod', { pod, because: taken.error });
    return tryAgainLater(`no address for pod ${pod} on node ${context.nodeName}`, taken.error);
  }
  if (taken.value === undefined) return handleAdd(context, options, request);
  const { allocation, wiring, isNew, recorded } = taken.value;
  if (!isNew) return repeatAdd(context, request, { allocation, wiring });
  const durable = await recorded;
  if (!durable.ok) return tryAgainLater(`the address of pod ${pod} could not be recorded`, durable.error);
  return wire(context, allocation, wiring);
}

interface Held {
  readonly allocation: Allocation;
  readonly wiring: PodDatapath;
  /** False: the sandbox had it already. */
  readonly isNew: boolean;
  readonly recorded: Promise<CommitResult>;
}

function hold(context: AgentContext, request: AddRequest, { choice, spec }: PoolChoice): Held {
  const { store, log } = context;
  if (choice.kind === 'Existing') {
    const { allocation } = choice;
    const wiring = { ...wiringOf(request, spec, allocation.addresses), hostLink: allocation.hostLink };
    return { allocation, wiring, isNew: false, recorded: Promise.resolve(ok(undefined)) };
  }
  const wiring = wiringOf(request, spec, choice.addresses);
  const allocation: Allocation = {
    sandbox: request.sandbox,
    pod: podKey(request.pod.namespace, request.pod.name),
    podUid: request.pod.uid,
    addresses: wiring.addresses,
    hostLink: wiring.hostLink,
    netnsPath: request.netnsPath,
  };
  log.info('address allocated', { pod: allocation.pod, eniId: choice.eniId, because: choice.reason });
  return { allocation, wiring, isNew: true, recorded: store.reserve(allocation) };
}

const wiringOf = (
  request: AddRequest,
  spec: NodeNetworkSpec,
  addresses: Allocation['addresses'],
): PodDatapath =>
  desiredPod({
    pod: request.pod,
    netnsPath: request.netnsPath,
    ifName: request.sandbox.ifName,
    addresses,
    settings: spec.settings,
  });

async function wire(context: AgentContext, allocation: Allocation, wiring: PodDatapath): Promise<CniReply> {
  const wired = await context.stack.wirePod(wiring);
  if (wired.kind === 'ok') return resultOf(wiring);
  context.log.mark('wiring-failed');
  const what = describeStackOutcome(wired);
  context.log.error('pod not wired', { pod: allocation.pod, failure: what });
  const undone = await releasePod(context, allocation);
  const rest = undone.ok ? '' : `; undoing it failed too, so the address stays held: ${undone.error}`;
  return errorReply(CNI_ERROR.internal, `pod ${allocation.pod} could not be wired`, `${what}${rest}`);
}

interface RepeatedAdd {
  readonly allocation: Allocation;
  readonly wiring: PodDatapath;
}

/** The answer to the first ADD was lost, or the agent stopped before it wired the pod. */
async function repeatAdd(
  context: AgentContext,
  request: AddRequest,
  { allocation, wiring }: RepeatedAdd,
): Promise<CniReply> {
  context.log.mark('add-repeated');
  if (allocation.netnsPath !== request.netnsPath) {
    const moved: Allocation = { ...allocation, netnsPath: request.netnsPath };
    const recorded = await context.store.record([
      { type: 'Allocated', at: context.clock.now(), allocation: moved },
    ]);
    if (!recorded.ok) return tryAgainLater(`pod ${allocation.pod} could not be recorded`, recorded.error);
  }
  const differences = await context.stack.inspectPod(wiring);
  if (differences.kind !== 'ok') {
    // Wiring anew takes the old link away first: not to be done to a pod that may be running well.
    return tryAgainLater(`pod ${allocation.pod} cannot be inspected`, describeStackOutcome(differences));
  }
  if (differences.value.length === 0) return resultOf(wiring);
  const wired = await context.stack.wirePod(wiring);
  if (wired.kind === 'ok') return resultOf(wiring);
  // The pod may be running: its address is held until the runtime says DEL.
  const details = describeStackOutcome(wired);
  return errorReply(CNI_ERROR.internal, `pod ${allocation.pod} could not be wired again`, details);
}

/**
 * The host link is named after the pod, so a new sandbox of the same pod needs what an old one left out of its way. The
 * old one is dead: a pod has one sandbox at a time.
 */
async function removeOldSandboxes(context: AgentContext, request: AddRequest): Promise<CniReply | undefined> {
  const pod = podKey(request.pod.namespace, request.pod.name);
  for (const other of otherSandboxes(context, request)) {
    if (other.sandbox.containerId === request.sandbox.containerId) {
      const details = `it has ${other.sandbox.ifName} already; Eniwhere gives a pod one interface`;
      return errorReply(CNI_ERROR.invalidConfig, `pod ${pod} cannot get ${request.sandbox.ifName}`, details);
    }
    context.log.mark('old-sandbox-removed');
    const removed = await releasePod(context, other);
    if (!removed.ok)
      return tryAgainLater(`the old sandbox of pod ${pod} could not be removed`, removed.error);
  }
  return undefined;
}

function otherSandboxes({ store }: AgentContext, { pod, sandbox }: AddRequest): readonly Allocation[] {
  const key = podKey(pod.namespace, pod.name);
  const id = sandboxId(sandbox);
  return [...store.ledger().allocations.values()].filter(
    (allocation) => allocation.pod === key && sandboxId(allocation.sandbox) !== id,
  );
}

/** Whether nobody else has the sandbox, and the pod no other one. */
function isUpToDate(context: AgentContext, request: AddRequest): boolean {
  const holder = allocationOf(context.store.ledger(), request.sandbox)?.pod;
  const isOwn = holder === undefined || holder === podKey(request.pod.namespace, request.pod.name);
  return isOwn && otherSandboxes(context, request).length === 0;
}
