// One run of the plugin: read what the runtime asks, forward it to the agent, print the answer.

import {
  type CniRequest,
  type CniReply,
  DEFAULT_AGENT_SOCKET,
} from '../protocol/agent-socket/cni-message.ts';
import { decodeReply, encodeRequest } from '../protocol/agent-socket/codec.ts';
import { CNI_ERROR, type CniError, cniError, formatError } from '../protocol/cni/cni-error.ts';
import { formatResult } from '../protocol/cni/cni-result.ts';
import { type Environment, parseInvocation } from '../protocol/cni/parse-invocation.ts';
import { CNI_VERSIONS, type CniVersion } from '../protocol/cni/version.ts';

/** How the socket answered. `Unreachable`: nobody took the request within the time for it. */
export type SendOutcome =
  | { readonly kind: 'Answered'; readonly status: number; readonly body: string }
  | { readonly kind: 'Unreachable'; readonly cause: string }
  | { readonly kind: 'NoAnswer'; readonly cause: string };

export interface SendRequest {
  readonly socketPath: string;
  readonly body: string;
  /** For the agent to take the request, milliseconds. */
  readonly takeMs: number;
  /** For the agent to answer it, milliseconds. */
  readonly answerMs: number;
}

export interface CniDeps {
  readonly env: Environment;
  readonly stdin: string;
  readonly send: (request: SendRequest) => Promise<SendOutcome>;
}

/** What to print on stdout, and with what code to exit. `stderr` is for people who read the runtime's log. */
export interface CniOutput {
  readonly stdout: string;
  readonly stderr?: string;
  readonly exitCode: 0 | 1;
}

const TAKE_MS = 3_000;
/** An ADD may wait for an address; kubelet gives a sandbox two minutes. */
const ANSWER_MS = 60_000;

/** Runs one command. Never rejects: what goes wrong becomes a CNI error. */
export async function runCni({ env, stdin, send }: CniDeps): Promise<CniOutput> {
  const invocation = parseInvocation(env, stdin);
  if (!invocation.ok) return failure(invocation.error.error, invocation.error.cniVersion);
  if (invocation.value.kind === 'Version') {
    const { cniVersion } = invocation.value;
    return { stdout: JSON.stringify({ cniVersion, supportedVersions: CNI_VERSIONS }), exitCode: 0 };
  }
  const { request, socketPath, cniVersion } = invocation.value;
  const body = encodeRequest(request);
  const outcome = await send({ socketPath, body, takeMs: TAKE_MS, answerMs: ANSWER_MS });
  const reply = replyOf(outcome, request, socketPath);
  switch (reply.kind) {
    case 'Result':
      return { stdout: formatResult(reply.result, cniVersion), exitCode: 0 };
    case 'Done':
      return { stdout: '', exitCode: 0 };
    case 'Error':
      return failure(reply.error, cniVersion);
  }
}

function failure(error: CniError, cniVersion: CniVersion): CniOutput {
  const stderr = `eniwhere-cni: ${error.msg}: ${error.details}\n`;
  return { stdout: formatError(error, cniVersion), stderr, exitCode: 1 };
}

function replyOf(outcome: SendOutcome, request: CniRequest, socketPath: string): CniReply {
  switch (outcome.kind) {
    case 'Unreachable':
      return { kind: 'Error', error: unreachable(request, socketPath, outcome.cause) };
    case 'NoAnswer': {
      const details = `${request.command} was sent to ${socketPath} and not answered: ${outcome.cause}`;
      return { kind: 'Error', error: cniError(CNI_ERROR.tryAgainLater, 'the agent did not answer', details) };
    }
    case 'Answered': {
      const reply = decodeReply(outcome.body);
      if (outcome.status === 200 && reply.ok) return reply.value;
      // The headers come before the work: an agent that dies at it leaves an answer without its end.
      if (outcome.status === 200 && isCutOff(outcome.body)) {
        const details = `${socketPath} took ${request.command}, and the agent ended before it had answered`;
        const msg = 'the agent stopped in the middle of its answer';
        return { kind: 'Error', error: cniError(CNI_ERROR.tryAgainLater, msg, details) };
      }
      const what = outcome.status === 200 && !reply.ok ? reply.error : outcome.body.trim();
      const details = `${socketPath} answered with status ${outcome.status}: ${what}; plugin and agent are of different versions, or another program listens there`;
      return {
        kind: 'Error',
        error: cniError(CNI_ERROR.internal, 'the answer cannot be understood', details),
      };
    }
  }
}

/** The beginning of one of our answers, or nothing at all: whatever else is there is somebody else's. */
const isCutOff = (body: string): boolean => body === '' || (body.startsWith('{') && !body.endsWith('}'));

/** STATUS has a code of its own for this: kubelet then reports the node NotReady. */
function unreachable(request: CniRequest, socketPath: string, cause: string): CniError {
  const code = request.command === 'STATUS' ? CNI_ERROR.pluginNotAvailable : CNI_ERROR.tryAgainLater;
  const hint =
    socketPath === DEFAULT_AGENT_SOCKET ? '' : ' (agentSocket in the network configuration says so)';
  const details = `tried socket ${socketPath}${hint}: ${cause}; check that the eniwhere agent runs on this node`;
  return cniError(code, 'the eniwhere agent cannot be reached', details);
}
