// LV-6: no loop runs in a circle, whatever its inputs: neither by timers of its own nor by answers that it asks for.

import type { TracedEvent } from '../kernel/trace.ts';
import type { WorldTruth } from './checker.ts';

export interface PaceChecker {
  /** To be called for every event of the run. */
  onEvent(event: TracedEvent): void;
}

/** Of one process, of one name. In runs without a mistake there are some twenty, when many pods come at once. */
const EVENTS_PER_SECOND_MAX = 100;
const SECOND_MS = 1000;

/** `isJudged` says whose events are those of a process under test. */
export function createPaceChecker(
  world: Pick<WorldTruth, 'broken'>,
  isJudged: (owner: string) => boolean,
): PaceChecker {
  let second = 0;
  // owner -> label -> events in this second
  const paces = new Map<string, Map<string, number>>();
  return {
    onEvent: ({ owner, label, at }) => {
      if (!isJudged(owner)) return;
      const now = Math.floor(at / SECOND_MS);
      if (now !== second) paces.clear();
      second = now;
      let ofOwner = paces.get(owner);
      if (ofOwner === undefined) paces.set(owner, (ofOwner = new Map()));
      const count = (ofOwner.get(label) ?? 0) + 1;
      ofOwner.set(label, count);
      if (count > EVENTS_PER_SECOND_MAX)
        world.broken(
          'LV-6',
          `${owner} runs in a circle: "${label}" more than ${EVENTS_PER_SECOND_MAX} times in a second`,
        );
    },
  };
}
