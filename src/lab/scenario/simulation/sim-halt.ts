// A virtual machine that is halted for a while by its hypervisor, as in a live migration: nothing in it ends, and all goes on.

import type { NodeName } from '../../../domain/ids.ts';
import { chance, drawBetween } from '../../kernel/draw.ts';
import type { Kernel } from '../../kernel/kernel.ts';

export interface SimHalt {
  isHalted(): boolean;
  /** For a while. */
  begin(): void;
  /** Sometimes within the milliseconds from now on that a request takes: halts at any time would hardly ever fall between its steps. */
  mayBeginInRequest(): void;
  /** It goes on now, if it is halted. */
  end(): void;
}

export interface HaltDeps {
  readonly node: NodeName;
  readonly kernel: Kernel;
  /** Of the events of all that runs in it. */
  readonly owners: readonly [string, ...string[]];
  /** In the profile in force now. */
  readonly perHour: () => number;
  readonly struck: () => void;
  readonly tell: (text: string) => void;
}

export const HALT_MS = { min: 2_000, max: 180_000 };
/** A guest whose clocks stood still is behind, until somebody sets them. */
const CLOCK_SET_MS = { min: 100, max: 60_000 };
/** The guest's clocks are the host's, and went on (a TSC that goes on), or stood still (a clock of the hypervisor's). */
const STANDS_STILL_ODDS = 0.5;
const IN_REQUEST_ODDS = 0.01;
const REQUEST_MS = { min: 0, max: 8 };
/** Of guests whose clocks stood still: they are set right. */
const SET_ODDS = 0.7;

export function createHalt({ node, kernel, owners, perHour, struck, tell }: HaltDeps): SimHalt {
  const random = kernel.random.fork(`halts/${node}`);
  const world = kernel.clock('world');
  let current: symbol | undefined;
  let stoodStill = false;
  const end = (): void => {
    if (current === undefined) return;
    current = undefined;
    for (const owner of owners) kernel.resume(owner);
    tell(`the machine of ${node} goes on${stoodStill ? ', and its clocks stood still' : ''}`);
    if (!stoodStill || !chance(random, SET_ODDS)) return;
    world.timer(drawBetween(random, CLOCK_SET_MS), 'clock set right', () => {
      for (const owner of owners) kernel.skew(owner, 0);
    });
  };
  const begin = (): void => {
    if (current !== undefined) return;
    struck();
    const halt = Symbol(node);
    current = halt;
    stoodStill = chance(random, STANDS_STILL_ODDS);
    for (const owner of owners) kernel.pause(owner, stoodStill ? 'stand still' : 'go on');
    const ms = drawBetween(random, HALT_MS);
    tell(`the machine of ${node} is halted for ${ms} ms`);
    world.timer(ms, 'machine goes on', () => {
      if (current === halt) end();
    });
  };
  return {
    isHalted: () => current !== undefined,
    begin,
    mayBeginInRequest: () => {
      if (perHour() === 0 || !chance(random, IN_REQUEST_ODDS)) return;
      kernel.clock(owners[0]).timer(drawBetween(random, REQUEST_MS), 'halt in a request', begin);
    },
    end,
  };
}
