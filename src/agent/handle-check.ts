// CNI CHECK: whether the pod is still as ADD answered.

import { desiredPod } from '../domain/datapath/desired-pod.ts';
import type { PodDatapath } from '../domain/datapath/pod-datapath.ts';
import { type Allocation, allocationOf, sandboxId } from '../domain/ipam/ledger.ts';
import type { CheckRequest, CniReply } from '../protocol/agent-socket/cni-message.ts';
import { CNI_ERROR } from '../protocol/cni/cni-error.ts';
import { resultAddresses } from '../protocol/cni/cni-result.ts';
import type { AgentContext } from './agent-context.ts';
import { done, errorReply, tryAgainLater } from './cni-replies.ts';
import { describeStackOutcome } from './describe-stack-outcome.ts';

/** To be called under the pod's lock. */
export async function handleCheck(context: AgentContext, request: CheckRequest): Promise<CniReply> {
  const { store, shared, stack } = context;
  const settings = shared.accepted?.spec.settings;
  if (!shared.loaded || settings === undefined) {
    return tryAgainLater('the agent is starting', 'it cannot tell yet how the pod should be wired');
  }
  const allocation = allocationOf(store.ledger(), request.sandbox);
  if (allocation === undefined) {
    return broken(request, ['the agent has no allocation for it']);
  }
  const answered = resultAddresses(request.prevResult).join(' ');
  const held = allocation.addresses.join(' ');
  if (answered !== held)
    return broken(request, [`it holds ${held}, while prevResult says ${answered || 'nothing'}`]);
  const differences = await stack.inspectPod(wiringOf(allocation, request, settings));
  if (differences.kind !== 'ok') {
    return errorReply(CNI_ERROR.internal, 'the pod cannot be inspected', describeStackOutcome(differences));
  }
  return differences.value.length === 0 ? done : broken(request, differences.value);
}

function wiringOf(
  allocation: Allocation,
  request: CheckRequest,
  settings: Parameters<typeof desiredPod>[0]['settings'],
): PodDatapath {
  const [namespace = '', name = ''] = allocation.pod.split('/');
  const wiring = desiredPod({
    pod: { namespace, name },
    netnsPath: request.netnsPath,
    ifName: request.sandbox.ifName,
    addresses: allocation.addresses,
    settings,
  });
  return { ...wiring, hostLink: allocation.hostLink };
}

const broken = (request: CheckRequest, differences: readonly string[]): CniReply =>
  errorReply(
    CNI_ERROR.attachmentBroken,
    `sandbox ${sandboxId(request.sandbox)} is not as ADD left it`,
    `${differences.join('; ')}; delete the pod so that it is made anew`,
  );
