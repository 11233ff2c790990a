// Why a node has too few addresses, in the words of the controller's conditions.

import type { Allowance } from '../domain/ipam/pod-allowance.ts';
import type { Condition, NodeNetworkSpec } from '../domain/ipam/node-network.ts';

/** Phrases to go behind "no address": where addresses would come from, and what the controller says is wrong there. */
export function explainNoAddress(
  spec: Pick<NodeNetworkSpec, 'selection'>,
  allowance: Allowance,
  conditions: readonly Condition[],
): readonly string[] {
  const problems = conditions
    .filter(({ type, status }) => type !== 'AgentReady' && status !== 'True')
    .map(({ type, reason, message }) => `${type}: ${reason}: ${message}`);
  const source =
    allowance.kind === 'Chosen'
      ? `it chose ENIConfig "${allowance.eniConfig}"`
      : describeSelection(spec.selection);
  return [source, ...problems];
}

function describeSelection(selection: NodeNetworkSpec['selection']): string {
  switch (selection.kind) {
    case 'EniConfig':
      return `new ones come from ENIConfig "${selection.name}" (subnet ${selection.subnetId})`;
    case 'NodeSubnet':
      return `new ones come from the node's own subnet ${selection.subnetId}`;
    case 'None':
      return `none are made: ${selection.message}; ${selection.fix}`;
  }
}
