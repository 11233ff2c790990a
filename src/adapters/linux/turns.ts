// Effects on one name, one after the other.

/** Runs effects on the same name in the order of calls; those on different names at once. */
export function createTurns(): <T>(name: string, run: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return async (name, run) => {
    const before = last.get(name);
    const turn = before === undefined ? run() : before.then(run, run);
    last.set(name, turn);
    try {
      return await turn;
    } finally {
      if (last.get(name) === turn) last.delete(name);
    }
  };
}
