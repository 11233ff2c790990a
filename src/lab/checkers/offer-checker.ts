// WD-1, IP-7: an address is only handed out that the spec grants which the agent acted on at that moment: not withdrawn, not cordoned.

import { familyOf } from '../../domain/address/ip.ts';
import type { NodeName } from '../../domain/ids.ts';
import { type JournalRecord, sandboxId } from '../../domain/ipam/ledger.ts';
import { addressesOf, type Checker, type LiveSandbox, type WorldTruth } from './checker.ts';

/** `journalOf` answers what is durable of the agent's journal; undefined for a node that is gone. */
export function createOfferChecker(
  world: WorldTruth,
  journalOf: (node: NodeName) => readonly JournalRecord[] | undefined,
): Checker {
  return {
    onAdded: (sandbox) => {
      const { node, pod, address, containerId } = sandbox;
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
      const faults = seen.map((record) => offerFault(record, sandbox));
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
  sandbox: LiveSandbox,
): OfferFault | undefined {
  if (content === undefined) return undefined;
  const { address } = sandbox;
  const eni = content.enis.find((one) => one.addresses.includes(address));
  const by = `by generation ${spec.generation}`;
  if (eni === undefined) return { rule: 'WD-1', what: `not granted ${by}` };
  if (eni.withdrawing.includes(address)) return { rule: 'WD-1', what: `being withdrawn ${by}` };
  const addressing = addressesOf(sandbox).map((ip) => `IPv${familyOf(ip)}`);
  const families = content.addressFamilies ?? ['IPv4'];
  if (addressing.join() !== families.join())
    return {
      rule: 'IP-8',
      what: `${addressing.join(' and ')} where ${families.join(' and ')} are set ${by}`,
    };
  return eni.cordoned ? { rule: 'IP-7', what: `on ${eni.eniId}, which is cordoned ${by}` } : undefined;
}
