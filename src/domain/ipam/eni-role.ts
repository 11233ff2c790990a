// What each ENI of a node is to the present selection.

import type { Selection, SelectionProblemCode } from '../eniconfig/selection.ts';
import type { EniView, NodeView } from './node-view.ts';

export type EniRole =
  /** Made for the present selection: takes pods and grows. Its groups become the selection's, if they are not. */
  | 'current'
  /** Made for an earlier one, but `Keep` goes on using it: takes pods, does not grow. */
  | 'kept'
  /** Made for an earlier one, or given up for pods that wait: takes no new pods and is given back once empty. */
  | 'cordoned'
  /** The selection fails or cannot be known just now: as it was, and nothing is made or given back. */
  | 'frozen';

function sameGroups(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((group) => b.includes(group));
}

/** What an ENI was made for, or an intent will make one for. */
type MadeFor = Pick<EniView, 'eniConfig' | 'subnetId' | 'securityGroupIds' | 'attachment'>;

/**
 * Whether an ENI was made for the selection: by its name and in its subnet, the two that no ENI can change. Groups can be
 * changed in place, but an ENI that is not attached yet is as well made anew: no pod shall meet its old groups.
 */
export function matchesSelection(eni: MadeFor, selection: Selection): boolean {
  if (selection.kind === 'None') return false;
  const name = selection.kind === 'EniConfig' ? selection.name : '';
  return (
    eni.eniConfig === name &&
    eni.subnetId === selection.subnetId &&
    (eni.attachment !== undefined || hasGroupsOf(eni, selection))
  );
}

/** Whether an ENI has exactly the groups that the selection names. */
export const hasGroupsOf = (
  eni: Pick<EniView, 'securityGroupIds'>,
  selection: Exclude<Selection, { kind: 'None' }>,
): boolean => sameGroups(eni.securityGroupIds, selection.securityGroupIds);

/** The role of an owned ENI. */
export function eniRole(view: NodeView, eni: EniView): EniRole {
  if (view.selection.kind === 'None') return 'frozen';
  if (eni.givenUp === true) return 'cordoned';
  if (matchesSelection(eni, view.selection)) return 'current';
  const isKept =
    view.settings.onEniConfigChange === 'Keep' && servedEverybody(view, eni) && !lacksFamily(view, eni);
  return isKept ? 'kept' : 'cordoned';
}

/** An ENI without a /80 whose subnet has no IPv6 block serves no pod that is to have IPv6, and never will. */
const lacksFamily = ({ settings, subnets }: NodeView, { ipv6Prefixes, subnetId }: EniView): boolean => {
  const subnet = subnets.get(subnetId);
  const hasNone = ipv6Prefixes.length === 0 && subnet !== undefined && subnet.ipv6Cidr === undefined;
  return hasNone && settings.addressFamilies.includes('IPv6');
};

/** `Keep` is for ENIs of an earlier choice of the node's. One that pods chose never becomes everybody's (POD-3). */
function servedEverybody(view: NodeView, eni: EniView): boolean {
  const published = view.published?.spec.enis.find((one) => one.eniId === eni.eniId);
  return published !== undefined && published.chosenOnly !== true && !published.cordoned;
}

/** Problems that pass by themselves, or that are about something else than the node's choice: what was decided stays. */
const isUnknowable = (problem: SelectionProblemCode): boolean =>
  problem === 'Unreadable' || problem === 'EniConfigUnresolved' || problem === 'ClassUnreadable';

/**
 * Whether new pods stay away from a frozen ENI. While nothing can be read, what was decided stays; but a selection
 * that a person got wrong names another subnet than this ENI's, so new pods must not get one of its addresses (SEL-1).
 */
export function isFrozenCordoned(view: NodeView, eni: EniView): boolean {
  const { selection } = view;
  if (selection.kind !== 'None') return false;
  if (!isUnknowable(selection.problem)) return true;
  const published = view.published?.spec.enis.find((one) => one.eniId === eni.eniId);
  return published === undefined || published.cordoned || published.chosenOnly === true;
}
