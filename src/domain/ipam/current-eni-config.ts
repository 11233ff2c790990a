// The ENIConfig whose ENIs take a node's new pods now.

import type { NodeNetworkSpec } from './node-network.ts';

/**
 * A selection that failed for a while has left the ENIs as they were, so the choice is still to be read from them.
 * Undefined for a node that has none.
 */
export function currentEniConfig(spec: NodeNetworkSpec | undefined): string | undefined {
  if (spec === undefined) return undefined;
  if (spec.selection.kind === 'EniConfig') return spec.selection.name;
  const [largest] = spec.enis
    .filter((eni) => !eni.primary && !eni.cordoned && eni.chosenOnly !== true && eni.eniConfig !== '')
    .sort((a, b) => b.addresses.length - a.addresses.length);
  return largest?.eniConfig;
}
