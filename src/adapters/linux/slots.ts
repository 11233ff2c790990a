// A bound on what goes on at once.

export interface Slots {
  /** Resolves when a place is free, with the function that frees it again. First come, first served. */
  take(): Promise<() => void>;
}

/** So many places at once. */
export function createSlots(count: number): Slots {
  let free = count;
  const waiting: (() => void)[] = [];
  const release = (): void => {
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next();
  };
  return {
    take: () =>
      new Promise((resolve) => {
        const enter = (): void => resolve(release);
        if (free === 0) {
          waiting.push(enter);
          return;
        }
        free -= 1;
        enter();
      }),
  };
}
