// Runs a simulated world until a piece of work in it is done: for tests that speak to the world directly.

import type { Kernel } from './kernel.ts';

export interface SettleOptions {
  /** See RunRequest. */
  readonly drain: () => Promise<void>;
  /** Virtual milliseconds after which the work is taken to hang; ten minutes when absent. */
  readonly withinMs?: number;
}

const DEFAULT_WITHIN_MS = 600_000;

/** What `work` comes to; throws when the world ends, or the time is over, before it does. */
export async function settle<T>(kernel: Kernel, work: Promise<T>, options: SettleOptions): Promise<T> {
  const { drain, withinMs = DEFAULT_WITHIN_MS } = options;
  let isSettled = false;
  const mark = (): void => {
    isSettled = true;
  };
  work.then(mark, mark);
  await drain();
  if (isSettled) return work;
  const end = await kernel.run({ untilMs: kernel.now() + withinMs, drain, stopWhen: () => isSettled });
  if (end.kind === 'Stopped') return work;
  throw new Error(
    `the work did not end within ${withinMs} virtual ms: ${JSON.stringify(end)}; last events:\n${kernel.recentEvents().join('\n')}`,
  );
}
