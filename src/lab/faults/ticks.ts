// When faults of the table strike that have a rate: about once a second it is asked whether they do.

import type { Clock } from '../../ports/clock.ts';
import type { Subscription } from '../../ports/cluster.ts';
import type { Random } from '../../ports/random.ts';
import { drawBetween } from '../kernel/draw.ts';

export interface TickOptions {
  /** The world's clock. */
  readonly clock: Clock;
  readonly random: Random;
  /** Names the ticks in traces. */
  readonly label: string;
  /** `odds` turns a rate per hour into the odds that it strikes at this tick. */
  readonly onTick: (odds: (perHour: number) => number) => void;
}

const TICK_MS = 1_000;
const TICKS_PER_HOUR = 3600;
const oddsOf = (perHour: number): number => perHour / TICKS_PER_HOUR;

/** Ticks until closed; not on the full second, so that crashes fall between steps of any length. */
export function startTicks({ clock, random, label, onTick }: TickOptions): Subscription {
  let isClosed = false;
  const tick = (): void => {
    if (isClosed) return;
    onTick(oddsOf);
    clock.timer(TICK_MS + drawBetween(random, { min: -400, max: 400 }), label, tick);
  };
  clock.timer(TICK_MS, label, tick);
  return {
    close: () => {
      isClosed = true;
    },
  };
}
