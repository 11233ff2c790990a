// SEL-11: while nobody writes anything, a node leaves its ENIConfig only by MostFree, and only a scarce subnet for a much emptier one.

import type { NodeName, SubnetId } from '../../domain/ids.ts';
import { sameData } from '../../domain/same-data.ts';
import type { AnyStoreChange } from '../cluster/object-store.ts';
import type { Ec2Change } from '../ec2/region.ts';
import type { Checker, WorldTruth } from './checker.ts';
import { chosenName } from './grant-checker.ts';
import { LAG_MS, type SelectionModel } from './selection-checker.ts';

export interface MoveChecker extends Checker {
  onClusterChange(change: AnyStoreChange): void;
}

/** A subnet with so many free addresses is left for no other; and the other has at least so many times as many. */
const SCARCE_COUNT = 16;
const WORTH_TIMES = 2;

/** Where a node's new ENIs are made. */
interface Choice {
  readonly name: string;
  readonly subnetId: SubnetId;
}

/** `awayMs`: how much longer than by watches alone a controller may know nothing of what people write. */
export function createMoveChecker(
  world: WorldTruth,
  model: Pick<SelectionModel, 'strategyOf' | 'possibleFamilies'>,
  awayMs: number,
): MoveChecker {
  const silenceMs = LAG_MS + awayMs;
  const touched = new Map<NodeName, number>();
  let allTouchedAt = world.now();
  const last = new Map<NodeName, Choice>();
  const free = createFreeCounts(world, silenceMs);
  // Where pods are to have IPv6, some subnets will not do.
  const haveFamiliesChanged = (node: NodeName): boolean =>
    new Set(model.possibleFamilies(node, silenceMs).map((families) => families.join())).size > 1;
  const isSilent = (node: NodeName): boolean =>
    world.now() - Math.max(allTouchedAt, touched.get(node) ?? 0) > silenceMs && !haveFamiliesChanged(node);
  const move = (node: NodeName, to: Choice): void => {
    const from = last.get(node);
    last.set(node, to);
    if (from === undefined || from.name === to.name || !isSilent(node)) return;
    const [least, most] = [free.since(from.subnetId).min, free.since(to.subnetId).max];
    if (model.strategyOf(node) === 'MostFree' && least < SCARCE_COUNT && most >= WORTH_TIMES * least) return;
    world.broken(
      'SEL-11',
      `${node} moves from "${from.name}" to "${to.name}", and nobody has written anything; the one had ${least} addresses at least, the other ${most} at most`,
    );
  };
  return {
    onClusterChange: (change) => {
      switch (change.kind) {
        case 'Node':
          if (isWritten(change)) touched.set(change.object.name, world.now());
          return;
        case 'EniConfig':
        case 'NodeNetworkClass':
          if (isWritten(change)) allTouchedAt = world.now();
          return;
        case 'NodeNetwork': {
          const { name, spec } = change.object;
          if (change.type === 'Deleted') last.delete(name);
          else if (spec.selection.kind !== 'None')
            move(name, { name: chosenName(spec) ?? '', subnetId: spec.selection.subnetId });
          return;
        }
        case 'Pod':
        case 'Namespace':
          return;
      }
    },
    onEc2Change: (change) => {
      free.note(change);
      // Subnets are tagged, and groups are deleted and made again.
      const isOthers = change.kind === 'SubnetChanged' || change.kind === 'SecurityGroupChanged';
      if (isOthers && !world.isController(change.actor)) allTouchedAt = world.now();
    },
  };
}

/** Statuses are the product's. */
function isWritten({ type, object, before }: AnyStoreChange): boolean {
  const wordsOf = (one: typeof object): unknown => ({
    labels: one.labels,
    annotations: one.annotations,
    spec: 'spec' in one ? one.spec : undefined,
  });
  return type === 'Deleted' || before === undefined || !sameData(wordsOf(object), wordsOf(before));
}

interface FreeCounts {
  note(change: Ec2Change): void;
  /** The fewest and the most that the subnet had at some time of the last while. */
  since(subnetId: SubnetId): { readonly min: number; readonly max: number };
}

function createFreeCounts(world: WorldTruth, rememberedMs: number): FreeCounts {
  // subnet -> its counts with the time from which they held, oldest first
  const histories = new Map<SubnetId, { readonly at: number; readonly count: number }[]>();
  const countNow = (subnetId: SubnetId): number => world.ec2.subnet(subnetId)?.freeAddressCount ?? 0;
  return {
    note: (change) => {
      const subnetId =
        change.kind === 'SubnetChanged' ? change.subnetId : 'eni' in change ? change.eni.subnetId : undefined;
      if (subnetId === undefined) return;
      const history = histories.get(subnetId) ?? [];
      histories.set(subnetId, history);
      history.push({ at: world.now(), count: countNow(subnetId) });
      // The oldest one kept held at the beginning of that time.
      const first = history.findLastIndex(({ at }) => at <= world.now() - rememberedMs);
      if (first > 0) history.splice(0, first);
    },
    since: (subnetId) => {
      const counts = [...(histories.get(subnetId) ?? []).map(({ count }) => count), countNow(subnetId)];
      return { min: Math.min(...counts), max: Math.max(...counts) };
    },
  };
}
