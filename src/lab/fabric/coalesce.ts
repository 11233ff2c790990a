// Runs one thing at a time, and once for all who ask while it runs.

/**
 * Every call is answered by a run that began after the call. Calls made during a run share the one run that follows it.
 */
export function coalesce<T>(run: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined;
  let next: Promise<T> | undefined;

  const begin = (): Promise<T> => {
    const started = run().finally(() => {
      if (current === started) current = undefined;
    });
    current = started;
    return started;
  };
  return () => {
    if (next !== undefined) return next;
    if (current === undefined) return begin();
    next = current.then(follow, follow);
    return next;
  };

  function follow(): Promise<T> {
    next = undefined;
    return begin();
  }
}
