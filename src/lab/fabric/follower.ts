// Follows changes in the background: soon after them, once for many, and again when it failed.

import type { Clock, Timer } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { FabricFailure, FabricResult } from './fabric-failure.ts';

export interface Follower {
  /** Something is to be done now. */
  now(): void;
  /** Something has changed. Whoever changed it may have more to say in this turn, such as a node's name. */
  soon(): void;
  close(): void;
}

export interface FollowerOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly sync: () => Promise<FabricResult<void>>;
}

/** After a failure, the next try; each further one as late again. */
const RETRY_DELAY_MS = 500;
const RETRY_COUNT_MAX = 5;

export function createFollower({ clock, log, sync }: FollowerOptions): Follower {
  let waiting: Timer | undefined;
  let retry: Timer | undefined;
  let failedInARow = 0;
  let isClosed = false;

  const now = (): void => {
    void sync().then((result) => {
      if (result.ok) failedInARow = 0;
      else if (!isClosed) tryAgain(result.error);
    });
  };
  const tryAgain = (failure: FabricFailure): void => {
    failedInARow += 1;
    log.error('the fabric cannot follow the truth', { cause: failure.message, failedInARow });
    retry?.cancel();
    if (failedInARow <= RETRY_COUNT_MAX) {
      retry = clock.timer(RETRY_DELAY_MS * failedInARow, 'fabric retry', now);
    }
  };
  return {
    now,
    soon: () => {
      waiting ??= clock.timer(0, 'fabric follows the truth', () => {
        waiting = undefined;
        now();
      });
    },
    close: () => {
      isClosed = true;
      waiting?.cancel();
      retry?.cancel();
    },
  };
}
