// What pods ask for, by a model of the workload's own.

import type { NodeName } from '../../domain/ids.ts';

/** What a pod asks for: an ENIConfig by its name or its tier, nothing, or nonsense. */
export type Wish =
  | { readonly kind: 'Nothing' }
  | { readonly kind: 'Name'; readonly name: string }
  | { readonly kind: 'Tier'; readonly tier: string }
  | { readonly kind: 'Mistake' };

/** By a model of the workload's own. A pod's own words go before its namespace's. */
export interface PodWishes {
  /** Of the pod with that uid, now; undefined: it is gone. */
  wishOf(uid: string): Wish | undefined;
  /** What somebody may take for its wish who saw its namespace at some time of the last `lagMs` milliseconds. */
  wishesOf(uid: string, lagMs: number): readonly Wish[] | undefined;
  /** The same of all pods of a node, with those that are gone since. */
  wishesOn(node: NodeName, lagMs: number): readonly Wish[];
}
