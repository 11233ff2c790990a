// Two controllers that contend for the lease, by the real election: each may die, stop for a while, or end in good order.

import { startLeading } from '../../../controller/lead.ts';
import type { Election } from '../../../controller/leader-election.ts';
import { LEASE_TIMES } from '../../../domain/leadership/lease.ts';
import type { Term } from '../../../ports/leadership.ts';
import { chance, drawBetween } from '../../kernel/draw.ts';
import { RESTART_MS, startInProcess } from './sim-controller.ts';
import {
  type ControllerParts,
  openProcess,
  type ProcessFaults,
  type SimProcess,
  startProcessFaults,
} from './sim-process.ts';

export interface Electors {
  /** Names of the processes that hold a term, as they see it. */
  leaders(): readonly string[];
  readonly faults: ProcessFaults;
}

export const ELECTOR_COUNT = 2;
/** Of the ends of a process, those in good order: a rolling update, a drained node. */
const GOOD_ORDER_ODDS = 0.3;
/** After which kubelet kills what does not end (terminationGracePeriodSeconds). */
const GRACE_MS = 30_000;

interface Elector {
  readonly process: SimProcess;
  readonly election: Election;
  term: Term | undefined;
  isEnding: boolean;
}

export function startElectors(parts: ControllerParts): Electors {
  const { kernel, tell } = parts;
  const random = kernel.random.fork('electors');
  const world = kernel.clock('world');
  const electors = new Map<SimProcess, Elector>();
  let lifeCount = 0;

  const end = (process: SimProcess): void => {
    if (!electors.delete(process)) return;
    process.die();
    world.timer(drawBetween(random, RESTART_MS), 'controller restart', start);
  };
  const crash = (process: SimProcess): void => {
    const elector = electors.get(process);
    if (elector === undefined || elector.isEnding) return;
    if (!chance(random, GOOD_ORDER_ODDS)) return end(process);
    tell(`${process.name} is asked to end`);
    elector.isEnding = true;
    world.timer(GRACE_MS, 'grace period', () => end(process));
    void elector.election.stop().then(() => end(process));
  };
  function start(): void {
    lifeCount += 1;
    const process = openProcess(parts, { number: lifeCount, random, crash });
    const { name, clock, lease } = process;
    const election = startLeading({
      store: lease,
      clock,
      log: parts.log,
      identity: name,
      times: LEASE_TIMES,
      start: (term) => {
        elector.term = term;
        return startInProcess(process, parts, term);
      },
    });
    const elector: Elector = { process, election, term: undefined, isEnding: false };
    electors.set(process, elector);
  }
  for (let n = 0; n < ELECTOR_COUNT; n += 1) start();
  return {
    faults: startProcessFaults(parts, { random, processes: () => [...electors.keys()], crash }),
    leaders: () =>
      [...electors.values()].filter(({ term }) => term?.isHeld() === true).map(({ process }) => process.name),
  };
}
