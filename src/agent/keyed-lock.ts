// One at a time per key, in the order of asking; different keys side by side.

export type KeyedLock = <T>(key: string, run: () => Promise<T>) => Promise<T>;

export function createKeyedLock(): KeyedLock {
  /** key -> settles when the last one in line is done */
  const tails = new Map<string, Promise<void>>();
  return (key, run) => {
    const result = (tails.get(key) ?? Promise.resolve()).then(run);
    const release = (): void => {
      if (tails.get(key) === tail) tails.delete(key);
    };
    const tail = result.then(release, release);
    tails.set(key, tail);
    return result;
  };
}
