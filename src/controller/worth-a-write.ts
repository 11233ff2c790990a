// What of a new spec is worth a write of the NodeNetwork by itself.

import type { Ip } from '../domain/address/ip.ts';
import type { Action } from '../domain/ipam/action.ts';
import type { NodeNetworkSpec, NodeNetworkStatus, SpecEni } from '../domain/ipam/node-network.ts';
import type { EniView } from '../domain/ipam/node-view.ts';
import { sameData } from '../domain/same-data.ts';

/** An ENI that is attached waits for the next one at most so long, and for the end of one call, milliseconds. */
const LATE_MS = 1_000;

/** Actions that bring an ENI, which is then published. */
export const isGrowth = (action: Action | undefined): boolean =>
  action?.do === 'AttachEni' || action?.do === 'CreateEni';

interface Change {
  readonly published: { readonly spec: NodeNetworkSpec; readonly status: NodeNetworkStatus };
  readonly next: NodeNetworkSpec;
  readonly enis: readonly EniView[];
  /** What would be done next. */
  readonly action: Action | undefined;
  /** For how long there have been ENIs that are not published, milliseconds. */
  readonly lateMs: number;
}

/**
 * Whether the change can wait for the write after `action`: an intent whose ENI is there is closed by the write that
 * publishes the ENI, and an ENI is published with the next one where pods have addresses to go on with meanwhile. Until
 * then both say the same of the intent: it stands for an ENI that carries its id. Before a deletion it is closed, or it
 * would stand for an ENI that is gone and be tried again.
 */
export function canWait({ published: { spec, status }, next, enis, action, lateMs }: Change): boolean {
  if (!isGrowth(action)) return false;
  const late = lateEnis(spec, next);
  if (late.length > 0 && lateMs >= LATE_MS) return false;
  if (!late.every((eni) => spec.enis.some((one) => servesFor(one, eni) && hasFree(one, status))))
    return false;
  const open = new Set(next.intents.map(({ id }) => id));
  const made = new Set(enis.map(({ intentId }) => intentId));
  const left = spec.intents.filter(({ id }) => open.has(id) || !made.has(id));
  return sameData(
    { ...spec, intents: left },
    { ...next, enis: next.enis.filter((eni) => !late.includes(eni)) },
  );
}

/** ENIs that the object does not tell of yet. */
export const lateEnis = (published: NodeNetworkSpec, next: NodeNetworkSpec): readonly SpecEni[] =>
  next.enis.filter(({ eniId }) => !published.enis.some((one) => one.eniId === eniId));

/** Whether pods for which the second is can have the first one's addresses as well. */
const servesFor = (one: SpecEni, other: SpecEni): boolean =>
  !one.primary &&
  !one.cordoned &&
  one.eniConfig === other.eniConfig &&
  one.subnetId === other.subnetId &&
  one.chosenOnly === other.chosenOnly;

/** Whether a pod could have an address of the ENI now, as far as the agent has told. */
function hasFree(
  { addresses, withdrawing }: SpecEni,
  { used, cooling, withdrawn }: NodeNetworkStatus,
): boolean {
  const taken = new Set<Ip>([...withdrawing, ...cooling, ...withdrawn, ...used.map(({ ip }) => ip)]);
  return addresses.some((ip) => !taken.has(ip));
}
