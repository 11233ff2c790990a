// How the simulated Kubernetes API behaves: speeds, and the odds of its troubles.

/** Times in milliseconds, ranges with both ends included; odds from 0 (never) to 1 (always). */
export interface ClusterProfile {
  /** One request's way to the API server and back. */
  readonly latencyMinMs: number;
  readonly latencyMaxMs: number;
  /** From a change to the watch event. */
  readonly watchDelayMinMs: number;
  readonly watchDelayMaxMs: number;
  /** Odds, per event, that it and all after it come `watchSlowMs` late. */
  readonly watchSlowOdds: number;
  readonly watchSlowMs: number;
  /** Odds, per event, that an undelivered older event of the same object is dropped for it. */
  readonly coalesceOdds: number;
  /** Odds, per event, that it comes twice. */
  readonly duplicateOdds: number;
  /** Odds, per event, that the watch breaks (410 Gone) and lists anew. */
  readonly gapOdds: number;
  /** Odds, per list, that an API server answers it from a cache that is up to `staleListMs` behind. */
  readonly staleListOdds: number;
  readonly staleListMs: number;
  /** From a broken watch, or a refused list, to the next list. */
  readonly relistMs: number;
  /** Odds, per update, that somebody else has just changed the object. */
  readonly conflictOdds: number;
  /** The request never arrives: outcome unknown, no effect. */
  readonly lostRequestOdds: number;
  /** The request takes effect and its answer never arrives: outcome unknown. */
  readonly lostAnswerOdds: number;
  /** After which a client gives up waiting for an answer. */
  readonly timeoutMs: number;
  /** Odds, per request, that the API server goes down with it, for up to `outageMaxMs`. */
  readonly outageOdds: number;
  readonly outageMaxMs: number;
  /** From an owner's deletion to that of what it owns. */
  readonly garbageCollectionMs: number;
}

/** Is told of each fault, by the profile's field, when it strikes. */
export type FaultHearer = (fault: keyof ClusterProfile) => void;

/** An API server on a good day. */
export const calmCluster: ClusterProfile = {
  latencyMinMs: 2,
  latencyMaxMs: 20,
  watchDelayMinMs: 2,
  watchDelayMaxMs: 50,
  watchSlowOdds: 0,
  watchSlowMs: 5000,
  coalesceOdds: 0,
  duplicateOdds: 0,
  gapOdds: 0,
  staleListOdds: 0,
  staleListMs: 10_000,
  relistMs: 1000,
  conflictOdds: 0,
  lostRequestOdds: 0,
  lostAnswerOdds: 0,
  timeoutMs: 10_000,
  outageOdds: 0,
  outageMaxMs: 30_000,
  garbageCollectionMs: 500,
};
