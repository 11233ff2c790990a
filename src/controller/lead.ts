// A controller for each term, and none between two: what one life believed of EC2 says nothing to the next.

import type { LeaseTimes } from '../domain/leadership/lease.ts';
import type { Term } from '../ports/leadership.ts';
import { type Election, type ElectionOptions, startElection } from './leader-election.ts';
import type { Controller } from './start-controller.ts';

export interface LeadOptions extends Omit<ElectionOptions, 'onGained' | 'onLost'> {
  readonly times: LeaseTimes;
  /** Starts a controller whose EC2 is fenced by the term. */
  readonly start: (term: Term) => Pick<Controller, 'stop'>;
}

/** Contends for the lease and runs the controller while it is held. `stop` ends the controller first, then gives the lease up. */
export function startLeading({ start, ...election }: LeadOptions): Election {
  let controller: Pick<Controller, 'stop'> | undefined;
  let isStopped = false;
  // One after the other: the last term's controller ends before the next one starts.
  let turn: Promise<void> = Promise.resolve();
  const stopController = async (): Promise<void> => {
    await controller?.stop();
    controller = undefined;
  };
  const running = startElection({
    ...election,
    onGained: (term) => {
      turn = turn.then(() => {
        if (!isStopped && term.isHeld()) controller = start(term);
      });
    },
    onLost: () => {
      turn = turn.then(stopController);
    },
  });
  return {
    stop: async () => {
      isStopped = true;
      turn = turn.then(stopController);
      await turn;
      await running.stop();
    },
  };
}
