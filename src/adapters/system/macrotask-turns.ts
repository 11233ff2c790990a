// Turns of the event loop at a small price: a simulated run needs one after each of its events.

/** Immediates set at once: only the first of them waits for a round of the event loop, with its system calls. */
const TURN_COUNT = 128;

/**
 * Makes a function whose promise resolves when every promise that can go on has gone on. Node.js lets all promises go on
 * between two immediates, also of one round (https://nodejs.org/api/process.html, process.nextTick). One waiter at a time.
 */
export function createMacrotaskTurns(): () => Promise<void> {
  let leftCount = 0;
  let resume: (() => void) | undefined;
  const turn = (): void => {
    leftCount -= 1;
    const waiter = resume;
    resume = undefined;
    waiter?.();
  };
  return () =>
    new Promise((resolve) => {
      resume = resolve;
      if (leftCount > 0) return;
      leftCount = TURN_COUNT;
      for (let n = 0; n < TURN_COUNT; n += 1) setImmediate(turn);
    });
}
