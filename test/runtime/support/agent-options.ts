// How a test starts an agent in a process of its own, and what the two say to each other.

import type { Death } from './mortal.ts';

export interface AgentOptions {
  readonly nodeName: string;
  /** The node's network namespace. */
  readonly netnsPath: string;
  readonly socketPath: string;
  readonly journalPath: string;
  /** File of the NodeNetwork; see file-cluster. */
  readonly specPath: string;
  readonly addWaitMs: number;
  /** The process kills itself there. */
  readonly death?: Death;
}

/** A line that the agent's process prints: what has happened, or an answer to `describe`. */
export type AgentLine =
  | { readonly kind: 'Listening' }
  | { readonly kind: 'Serving' }
  | { readonly kind: 'Snapshot'; readonly snapshot: unknown };
