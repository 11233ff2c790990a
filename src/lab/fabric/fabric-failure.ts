// Why the fabric could not do something.

import type { Result } from '../../domain/result.ts';

export interface FabricFailure {
  readonly kind:
    | 'program-missing' // install what the message names
    | 'not-permitted' // run as root, or inside a user namespace
    | 'command-failed' // the message carries the program's own words
    | 'unknown-instance' // the simulated EC2 has no such instance running
    | 'invalid'; // the caller asked for something that can never work
  /** What is wrong, with what, and what to do. */
  readonly message: string;
}

export type FabricResult<T> = Result<T, FabricFailure>;
