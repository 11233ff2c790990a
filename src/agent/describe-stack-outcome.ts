// The words for a call of the network stack that did not succeed.

import type { StackFailure, StackOutcome } from '../ports/network-stack.ts';

const describeFailure = ({ step, errno, message }: StackFailure): string =>
  `${step}: ${errno === undefined ? message : `${errno}: ${message}`}`;

/** The step that failed and the kernel's words, as one phrase. */
export const describeStackOutcome = (outcome: Exclude<StackOutcome<unknown>, { kind: 'ok' }>): string =>
  outcome.kind === 'failed' ? describeFailure(outcome.failure) : `its fate is unknown (${outcome.cause})`;
