// Adding journal records up to a ledger, and writing a ledger as the fewest records.

import type { Ip } from '../address/ip.ts';
import { assert } from '../result.ts';
import {
  type Allocation,
  emptyLedger,
  type JournalledSpec,
  type JournalRecord,
  type Ledger,
  type SandboxId,
  type SandboxKey,
  type SpecVersion,
  sandboxId,
} from './ledger.ts';
import type { NodeNetworkSpec } from './node-network.ts';

/** A node's object is made anew when a person deletes it; a stale read of one so long ago is no longer possible. */
const FORMER_UID_COUNT_MAX = 16;

/** How long compaction remembers when an address served last, milliseconds. It matters only for the order of reuse. */
const REST_MEMORY_MS = 24 * 60 * 60 * 1000;

/** Stands for the sandbox in a compacted Released record: which one it was no longer matters. */
const COMPACTED: SandboxKey = { containerId: 'compacted', ifName: 'none' };

interface Draft {
  readonly allocations: Map<SandboxId, Allocation>;
  readonly holders: Map<Ip, SandboxId>;
  readonly cooling: Map<Ip, number>;
  readonly coolingSinceBoot: Map<Ip, number>;
  readonly rested: Map<Ip, number>;
  readonly withdrawn: Map<Ip, number>;
  spec: SpecVersion | undefined;
  specContent: NodeNetworkSpec | undefined;
  formerUids: readonly string[];
}

const draftOf = (ledger: Ledger): Draft => ({
  allocations: new Map(ledger.allocations),
  holders: new Map(ledger.holders),
  cooling: new Map(ledger.cooling),
  coolingSinceBoot: new Map(ledger.coolingSinceBoot),
  rested: new Map(ledger.rested),
  withdrawn: new Map(ledger.withdrawn),
  spec: ledger.spec,
  specContent: ledger.specContent,
  formerUids: ledger.formerUids,
});

/** The ledger after one more record. A record that contradicts the ledger is a programming mistake and throws. */
export const applyRecord = (ledger: Ledger, record: JournalRecord): Ledger => applyRecords(ledger, [record]);

/** The same for several, in their order; when one throws, none of them counts. */
export function applyRecords(ledger: Ledger, records: readonly JournalRecord[]): Ledger {
  const draft = draftOf(ledger);
  for (const record of records) applyTo(draft, record);
  return draft;
}

/** The ledger that a journal's records add up to. */
export const ledgerFrom = (records: readonly JournalRecord[]): Ledger => applyRecords(emptyLedger, records);

/** The fewest records that add up to the same ledger. `now` dates them, milliseconds since the epoch. */
export function compact(ledger: Ledger, now: number): readonly JournalRecord[] {
  const uids = ledger.formerUids.map((uid): SpecVersion => ({ uid, generation: 0 }));
  const content = ledger.specContent === undefined ? {} : { content: ledger.specContent };
  const last: readonly JournalRecord[] =
    ledger.spec === undefined ? [] : [{ type: 'SpecSeen', at: now, spec: ledger.spec, ...content }];
  const released = [...ledger.cooling, ...[...ledger.rested].filter(([, at]) => now - at < REST_MEMORY_MS)];
  const bootAt = (ip: Ip): { readonly bootAt?: number } => {
    const since = ledger.coolingSinceBoot.get(ip);
    return since === undefined ? {} : { bootAt: since };
  };
  return [
    ...uids.map((spec): JournalRecord => ({ type: 'SpecSeen', at: now, spec })),
    ...last,
    ...released.map(
      ([ip, at]): JournalRecord => ({
        type: 'Released',
        at,
        ...bootAt(ip),
        sandbox: COMPACTED,
        addresses: [ip],
      }),
    ),
    ...rested(now, [...ledger.rested.keys()]),
    ...[...ledger.withdrawn].map(
      ([ip, generation]): JournalRecord => ({ type: 'Withdrawn', at: now, ip, generation }),
    ),
    ...[...ledger.allocations.values()].map(
      (allocation): JournalRecord => ({ type: 'Allocated', at: now, allocation }),
    ),
  ];
}

const rested = (at: number, addresses: readonly Ip[]): readonly JournalRecord[] =>
  addresses.length === 0 ? [] : [{ type: 'Rested', at, addresses }];

function applyTo(draft: Draft, record: JournalRecord): void {
  switch (record.type) {
    case 'Allocated':
      return applyAllocated(draft, record.allocation);
    case 'Released':
      return applyReleased(draft, record);
    case 'Rested':
      return applyRested(draft, record.addresses);
    case 'Withdrawn':
      assert(!draft.holders.has(record.ip), `IP-6: ${record.ip} is withdrawn while a pod holds it`);
      endRest(draft, record.ip);
      draft.rested.delete(record.ip);
      draft.withdrawn.set(record.ip, record.generation);
      return;
    case 'Forgotten':
      draft.withdrawn.delete(record.ip);
      return;
    case 'SpecSeen':
      return applySpecSeen(draft, record.spec, record.content);
  }
}

function applyAllocated(draft: Draft, allocation: Allocation): void {
  const id = sandboxId(allocation.sandbox);
  const before = draft.allocations.get(id);
  assert(
    before === undefined || before.addresses.join() === allocation.addresses.join(),
    `CNI-2: sandbox ${id} is given ${allocation.addresses.join()} on top of ${before?.addresses.join()}`,
  );
  for (const ip of allocation.addresses) {
    const holder = draft.holders.get(ip) ?? id;
    assert(holder === id, `IP-1: ${ip} is given to ${id} while ${holder} holds it`);
    assert(!draft.withdrawn.has(ip), `IP-6: ${ip} is given to ${id} after it was withdrawn`);
    endRest(draft, ip);
    draft.rested.delete(ip);
    draft.holders.set(ip, id);
  }
  draft.allocations.set(id, allocation);
}

function applyReleased(
  draft: Draft,
  { at, bootAt, sandbox, addresses }: Extract<JournalRecord, { readonly type: 'Released' }>,
): void {
  const id = sandboxId(sandbox);
  const held = draft.allocations.get(id)?.addresses ?? [];
  draft.allocations.delete(id);
  for (const ip of new Set([...held, ...addresses])) {
    const holder = draft.holders.get(ip) ?? id;
    // A late DEL names addresses from its prevResult, which may serve another pod, or nobody, by now.
    if (holder !== id || draft.withdrawn.has(ip)) continue;
    draft.holders.delete(ip);
    draft.rested.delete(ip);
    draft.cooling.set(ip, Math.max(at, draft.cooling.get(ip) ?? at));
    if (bootAt === undefined) draft.coolingSinceBoot.delete(ip);
    else draft.coolingSinceBoot.set(ip, bootAt);
  }
}

function endRest(draft: Draft, ip: Ip): void {
  draft.cooling.delete(ip);
  draft.coolingSinceBoot.delete(ip);
}

function applyRested(draft: Draft, addresses: readonly Ip[]): void {
  for (const ip of addresses) {
    const releasedAt = draft.cooling.get(ip);
    if (releasedAt === undefined) continue;
    endRest(draft, ip);
    draft.rested.set(ip, releasedAt);
  }
}

/** Before there were address families, there was IPv4. */
const completed = (content: JournalledSpec | undefined): NodeNetworkSpec | undefined =>
  content && { ...content, addressFamilies: content.addressFamilies ?? ['IPv4'] };

function applySpecSeen(draft: Draft, spec: SpecVersion, content: JournalledSpec | undefined): void {
  if (draft.spec === undefined || draft.spec.uid === spec.uid) {
    // A record of an older generation changes nothing: the newest content stays with the newest version.
    if (draft.spec !== undefined && spec.generation < draft.spec.generation) return;
    draft.spec = { uid: spec.uid, generation: spec.generation };
    draft.specContent = completed(content);
    return;
  }
  draft.formerUids = [...draft.formerUids, draft.spec.uid].slice(-FORMER_UID_COUNT_MAX);
  draft.spec = spec;
  draft.specContent = completed(content);
  // The count of generations began anew. What was let go stays so until a later spec of the new object answers it.
  for (const ip of draft.withdrawn.keys()) draft.withdrawn.set(ip, spec.generation);
}
