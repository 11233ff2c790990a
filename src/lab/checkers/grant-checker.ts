// SEL-1, SEL-11, IP-7: a spec offers pods only addresses in a place that the node's selection may name, and at rest none changes.

import type { NodeName } from '../../domain/ids.ts';
import type { NodeNetworkSpec, SpecEni } from '../../domain/ipam/node-network.ts';
import type { AnyStoreChange } from '../cluster/object-store.ts';
import type { Checker, WorldTruth } from './checker.ts';
import type { PodChoiceSources } from './pod-choice-checker.ts';
import type { SelectionModel } from './selection-checker.ts';

export interface GrantChecker extends Checker {
  onClusterChange(change: AnyStoreChange): void;
  startQuiet(): void;
}

/** With the offer checker, which holds agents to their specs: no pod gets an address outside what was selected. */
export function createGrantChecker({ world, model, wishes }: PodChoiceSources): GrantChecker {
  let quiet = false;
  return {
    startQuiet: () => {
      quiet = true;
    },
    onClusterChange: (change) => {
      if (change.kind !== 'NodeNetwork' || change.type !== 'Applied') return;
      const { object, before } = change;
      if (object.generation === before?.generation) return;
      checkOffers(world, model, { node: object.name, spec: object.spec, before: before?.spec });
      checkChosen({ world, model, wishes }, object.name, object.spec);
      const [now, then] = [chosenName(object.spec), chosenName(before?.spec)];
      if (quiet && before !== undefined && now !== then)
        world.broken('SEL-11', `the world is at rest, and ${object.name} changes from ${then} to ${now}`);
    },
  };
}

/** Empty for the node's own subnet; undefined for none. */
export function chosenName(spec: NodeNetworkSpec | undefined): string | undefined {
  if (spec === undefined || spec.selection.kind === 'None') return undefined;
  return spec.selection.kind === 'EniConfig' ? spec.selection.name : '';
}

interface Offers {
  readonly node: NodeName;
  readonly spec: NodeNetworkSpec;
  readonly before: NodeNetworkSpec | undefined;
}

function checkOffers(world: WorldTruth, model: SelectionModel, { node, spec, before }: Offers): void {
  const offered = spec.enis.filter(takesPods);
  if (offered.length === 0) return;
  const places = model.possiblePlaces(node, world.lagMs);
  // While the choice cannot be known what was decided stays; a class may say that it always does.
  const stays = isUnknowable(spec) || model.mayKeep(node, world.lagMs);
  // One that had no address yet may get its first.
  const stayed = new Set(before?.enis.filter(isOffered).map(({ eniId }) => eniId));
  for (const { eniId, eniConfig, subnetId } of offered) {
    const isPossible = places.some((place) => place.name === eniConfig && place.subnetId === subnetId);
    if (isPossible || (stays && stayed.has(eniId))) continue;
    const named = places.map((place) => `${place.name} in ${place.subnetId}`).join(', ') || 'none';
    world.broken(
      'SEL-1',
      `${node} offers ${eniId} of "${eniConfig}" in ${subnetId} to its pods; its selection named ${named}`,
    );
  }
}

/** An ENI for pods that chose takes pods only while some of the node's may have chosen it. */
function checkChosen(
  { world, model, wishes }: PodChoiceSources,
  node: NodeName,
  spec: NodeNetworkSpec,
): void {
  const chosen = spec.enis.filter(({ chosenOnly, cordoned }) => chosenOnly === true && !cordoned);
  if (chosen.length === 0) return;
  const places = model.chosenPlaces(node, wishes.wishesOn(node, world.lagMs), world.lagMs);
  for (const { eniId, eniConfig, subnetId } of chosen)
    if (!places.some((place) => place.name === eniConfig && place.subnetId === subnetId))
      world.broken('POD-4', `${node} offers ${eniId} of "${eniConfig}" to pods that chose, and none did`);
}

const isOffered = ({ primary, cordoned, chosenOnly }: SpecEni): boolean =>
  !primary && !cordoned && chosenOnly !== true;

const takesPods = (eni: SpecEni): boolean => isOffered(eni) && eni.addresses.length > 0;

const isUnknowable = ({ selection }: NodeNetworkSpec): boolean =>
  selection.kind === 'None' &&
  ['Unreadable', 'EniConfigUnresolved', 'ClassUnreadable'].includes(selection.problem);
