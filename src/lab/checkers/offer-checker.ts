// WD-1, IP-7: an address is only handed out that the spec grants which the agent acted on at that moment: not withdrawn, not cordoned.

import type { Ip } from '../../domain/address/ip.ts';
import type { NodeName } from '../../domain/ids.ts';
import { type JournalRecord, sandboxId } from '../../domain/ipam/ledger.ts';
import type { Checker, WorldTruth } from './checker.ts';

/** `journalOf` answers what is durable of the agent's journal; undefined for a node that is gone. */
export function createOfferChecker(
  world: WorldTruth,
  journalOf: (node: NodeName) => readonly JournalRecord[] | undefined,
): Checker {
  return {
    onAdded: ({ node, pod, address, containerId }) => {
      const records = journalOf(node) ?? [];
      const allocatedAt = records.findLastIndex(
        (record) =>
          record.type === 'Allocated' &&
          sandboxId(record.allocation.sandbox).startsWith(`${containerId}/`) &&
          record.allocation.addresses.includes(address),
      );
      if (allocatedAt < 0)
        return world.broken('CNI-1', `${pod} lives with ${address}, and no journal says so`);
      // While a newer spec is being journalled the one before is in force; there is never more than one on its way.
      const seen = records
        .slice(0, allocatedAt)
        .filter((record) => record.type === 'SpecSeen')
        .slice(-2);
      const faults = seen.map((record) => offerFault(record, address));
      const [fault] = faults;
      // A compacted journal begins with the spec, and with allocations from before it.
      if (fault === undefined || faults.includes(undefined)) return;
      world.broken(fault.rule, `${pod} got ${address}, which is ${fault.what} of ${node}'s spec`);
    },
  };
}

interface OfferFault {
  readonly rule: string;
  readonly what: string;
}

/** Why the spec does not offer the address; undefined: it does, or the record does not say what it held. */
function offerFault(
  { content, spec }: Extract<JournalRecord, { type: 'SpecSeen' }>,
  address: Ip,
): OfferFault | undefined {
  if (content === undefined) return undefined;
  const eni = content.enis.find((one) => one.addresses.includes(address));
  const by = `by generation ${spec.generation}`;
  if (eni === undefined) return { rule: 'WD-1', what: `not granted ${by}` };
  if (eni.withdrawing.includes(address)) return { rule: 'WD-1', what: `being withdrawn ${by}` };
  return eni.cordoned ? { rule: 'IP-7', what: `on ${eni.eniId}, which is cordoned ${by}` } : undefined;
}
