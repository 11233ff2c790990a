// Time. The only way to wait anywhere outside adapters/system.

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since the epoch; may jump, so durations are compared with care. */
  now(): number;
  /** Milliseconds since the machine booted: never set, and goes on while it sleeps. Of two boots they cannot be compared. */
  bootNow(): number;
  /** Runs `run` once after `ms` milliseconds. `label` names the wait in traces. */
  timer(ms: number, label: string, run: () => void): Timer;
  /** Resolves after `ms` milliseconds. */
  sleep(ms: number, label: string): Promise<void>;
}
