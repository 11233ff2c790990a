// What of a new spec is worth a write of the NodeNetwork by itself.

import type { Action } from '../domain/ipam/action.ts';
import type { NodeNetworkSpec } from '../domain/ipam/node-network.ts';
import type { EniView } from '../domain/ipam/node-view.ts';
import { sameData } from '../domain/same-data.ts';

/** Actions that bring an ENI, which is then published. */
export const isGrowth = (action: Action | undefined): boolean =>
  action?.do === 'AttachEni' || action?.do === 'CreateEni';

interface Change {
  readonly published: NodeNetworkSpec;
  readonly next: NodeNetworkSpec;
  readonly enis: readonly EniView[];
  /** What would be done next. */
  readonly action: Action | undefined;
}

/**
 * Whether the change can wait for the write after `action`: an intent whose ENI is there, and nothing else, is closed by
 * the write that publishes the ENI. Until then both say the same: the intent stands for an ENI that carries its id.
 * Before a deletion it is closed, or it would stand for an ENI that is gone and be tried again.
 */
export function canWait({ published, next, enis, action }: Change): boolean {
  if (!isGrowth(action)) return false;
  const open = new Set(next.intents.map(({ id }) => id));
  const made = new Set(enis.map(({ intentId }) => intentId));
  const left = published.intents.filter(({ id }) => open.has(id) || !made.has(id));
  return sameData({ ...published, intents: left }, next);
}
