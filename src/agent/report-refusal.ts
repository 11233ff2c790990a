// Tells people of a pod that could not be served: an Event on it with the cause and what to do.

import type { AddRequest, CniReply } from '../protocol/agent-socket/cni-message.ts';
import { CNI_ERROR } from '../protocol/cni/cni-error.ts';
import type { AgentContext } from './agent-context.ts';

/**
 * Emits a Warning on the pod when ADD was refused. The runtime asks again every few seconds: equal Events are counted
 * up, not repeated, by whoever writes them.
 */
export function reportRefusal(context: AgentContext, request: AddRequest, reply: CniReply): void {
  if (reply.kind !== 'Error') return;
  const { code, msg, details } = reply.error;
  const { namespace, name } = request.pod;
  const reason = code === CNI_ERROR.tryAgainLater ? 'AddressNotReady' : 'PodNotWired';
  const cure =
    code === CNI_ERROR.tryAgainLater
      ? 'the runtime tries again by itself'
      : `the runtime tries again by itself; if it goes on, the log of the agent on node ${context.nodeName} has the step that fails`;
  context.cluster.emit({
    about: { kind: 'Pod', namespace, name },
    type: 'Warning',
    reason,
    message: `${msg}: ${details}; ${cure}`,
  });
}
