// The wish of a person, or of kubelet, that this process ends.

/** Resolves at the first SIGINT or SIGTERM. A second one ends the process the hard way: the handlers are gone by then. */
export function whenInterrupted(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
    // A process that started this one has gone (lab-ec2.ts).
    process.once('disconnect', () => resolve());
  });
}
