// How a NodeNetworkClass chooses among the ENIConfigs that a node could use.

import { assert } from '../result.ts';
import { rendezvousOrder } from './rendezvous-hash.ts';
import type { ClassStrategy } from './node-network-class.ts';

/** How much an ENIConfig is in demand already. */
export interface EniConfigUse {
  /** Nodes whose new ENIs are made for it. */
  readonly nodeCount: number;
  /** Addresses that those nodes will take soon, and that the subnet's free count still has. */
  readonly pendingCount: number;
}

export interface StrategyCandidate {
  readonly name: string;
  /** Absent: EC2 has not said yet what the subnet is, so it may or may not be usable. */
  readonly freeAddressCount?: number;
}

export interface StrategyInput {
  readonly strategy: ClassStrategy;
  /** In the order of preference; at least one. */
  readonly candidates: readonly StrategyCandidate[];
  /** The node's primary IPv4 address. */
  readonly key: string;
  /** The ENIConfig that the node uses now. */
  readonly current?: string;
  /** By ENIConfig, the node itself not counted. */
  readonly use: ReadonlyMap<string, EniConfigUse>;
}

/** `Wait`: the choice hangs on an ENIConfig of which EC2 has not answered yet. */
export type StrategyChoice =
  | { readonly kind: 'Chosen'; readonly name: string; readonly why: string }
  | { readonly kind: 'Wait'; readonly name: string };

/** A node leaves its subnet for an emptier one only when fewer addresses than this are left in it ... */
const SCARCE_FREE_COUNT = 16;
/** ... and the other has twice as many and at least so many more, so that the two never change places. */
const WORTH_MOVING_COUNT = 8;

/**
 * Chooses. `First` takes the first, `Hash` the rendezvous hash of the node's address, whatever the node uses now. `MostFree`
 * and `Spread` depend on what others do, so a node stays where it is: with `Spread` always, with `MostFree` until its
 * subnet runs short.
 */
export function chooseByStrategy(input: StrategyInput): StrategyChoice {
  switch (input.strategy) {
    case 'First':
      return takeFirst(input.candidates, 'the first of them');
    case 'Hash':
      return takeFirst(byHash(input), `by the hash of ${input.key}`);
    case 'MostFree':
      return chooseMostFree(input);
    case 'Spread':
      return chooseSpread(input);
  }
}

function takeFirst([first]: readonly StrategyCandidate[], why: string): StrategyChoice {
  assert(first !== undefined, 'a strategy has candidates to choose from');
  return first.freeAddressCount === undefined ? { kind: 'Wait', name: first.name } : chosen(first.name, why);
}

function byHash({ key, candidates }: StrategyInput): readonly StrategyCandidate[] {
  const byName = new Map(candidates.map((one) => [one.name, one]));
  return rendezvousOrder(key, [...byName.keys()]).flatMap((name) => byName.get(name) ?? []);
}

function chooseMostFree({ candidates, current, use }: StrategyInput): StrategyChoice {
  const ranked = candidates
    .flatMap(({ name, freeAddressCount }) =>
      freeAddressCount === undefined ? [] : [{ name, freeAddressCount }],
    )
    .map(({ name, freeAddressCount }) => {
      const { pendingCount = 0, nodeCount = 0 } = use.get(name) ?? {};
      return { name, nodeCount, free: freeAddressCount, left: freeAddressCount - pendingCount };
    })
    .sort((a, b) => b.left - a.left || a.nodeCount - b.nodeCount);
  const [best] = ranked;
  const present = ranked.find(({ name }) => name === current);
  if (best !== undefined && present !== undefined) {
    const isWorthIt = best.left >= Math.max(2 * present.free, present.free + WORTH_MOVING_COUNT);
    const moves = present.free < SCARCE_FREE_COUNT && isWorthIt;
    return chosen(moves ? best.name : present.name, WHY_MOST_FREE);
  }
  return best === undefined ? wait(candidates) : chosenOrWait(candidates, best.name, WHY_MOST_FREE);
}

function chooseSpread({ candidates, current, use }: StrategyInput): StrategyChoice {
  const known = candidates.filter(({ freeAddressCount }) => freeAddressCount !== undefined);
  const present = known.find(({ name }) => name === current);
  if (present !== undefined) return chosen(present.name, WHY_SPREAD);
  const nodeCountOf = (name: string): number => use.get(name)?.nodeCount ?? 0;
  const [best] = [...known].sort((a, b) => nodeCountOf(a.name) - nodeCountOf(b.name));
  return best === undefined ? wait(candidates) : chosenOrWait(candidates, best.name, WHY_SPREAD);
}

// No figures in these: the reason is published for every node, and would be written anew with every describe.
const WHY_MOST_FREE = 'as the one with the most free addresses when it was chosen';
const WHY_SPREAD = 'as the one with the fewest nodes when it was chosen';

const chosen = (name: string, why: string): StrategyChoice => ({ kind: 'Chosen', name, why });

const isUnknown = ({ freeAddressCount }: StrategyCandidate): boolean => freeAddressCount === undefined;

const wait = (candidates: readonly StrategyCandidate[]): StrategyChoice => ({
  kind: 'Wait',
  name: candidates.find(isUnknown)?.name ?? '',
});

/** A node without a choice yet waits until all candidates can be compared. */
const chosenOrWait = (candidates: readonly StrategyCandidate[], name: string, why: string): StrategyChoice =>
  candidates.some(isUnknown) ? wait(candidates) : chosen(name, why);
