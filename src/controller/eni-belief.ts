// What we believe of one ENI: EC2's answers overlaid with our own recent writes and sightings. Describes may be stale
// and may go back in time, so what was written or seen stands until staleness can no longer explain its absence.

import type { Ip } from '../domain/address/ip.ts';
import type { AttachmentId, SecurityGroupId } from '../domain/ids.ts';
import type { Ec2Eni, EniAttachment } from '../ports/ec2.ts';

/** How long a write or a sighting outweighs an answer that contradicts it, ms: well above EC2's staleness of some seconds. */
export const BELIEF_MS = 60_000;

export interface EniBelief {
  readonly eni: Ec2Eni;
  /** Last time a describe or an answer to our own call showed it. */
  readonly seenAt: number;
  readonly addressSeenAt: ReadonlyMap<Ip, number>;
  /** Addresses that the answer to a call of ours named: no stale describe can have made them up. */
  readonly ownAddresses: ReadonlySet<Ip>;
  /** Addresses that we unassigned, and when. */
  readonly removedAt: ReadonlyMap<Ip, number>;
  /** Last time the present attachment was seen or written. */
  readonly attachmentSeenAt: number;
  /** The last detach that we asked for: a describe that shows this attachment once it has ended is stale. */
  readonly detached?: { readonly attachmentId: AttachmentId; readonly at: number };
  /** Groups that we set: a describe that shows others is from before, or somebody else's change that will be seen later. */
  readonly groups?: { readonly ids: readonly SecurityGroupId[]; readonly at: number };
  /** We deleted it: a describe that still shows it is stale. */
  readonly deletedAt?: number;
  /** No assign before this time. */
  readonly heldUntil?: number;
}

const isRecent = (at: number | undefined, now: number): boolean => at !== undefined && now - at < BELIEF_MS;

/** Takes in an ENI that a describe or a create answered. */
export function sighted(previous: EniBelief | undefined, eni: Ec2Eni, now: number): EniBelief {
  if (previous === undefined) {
    return {
      eni,
      seenAt: now,
      addressSeenAt: new Map(eni.addresses.map((ip) => [ip, now])),
      ownAddresses: new Set(),
      removedAt: new Map(),
      attachmentSeenAt: now,
    };
  }
  if (isRecent(previous.deletedAt, now)) return previous;
  const removedAt = new Map([...previous.removedAt].filter(([, at]) => isRecent(at, now)));
  const addressSeenAt = new Map([...previous.addressSeenAt].filter(([, at]) => isRecent(at, now)));
  for (const ip of eni.addresses) if (!removedAt.has(ip)) addressSeenAt.set(ip, now);
  const { attachment, attachmentSeenAt } = mergeAttachment(previous, eni.attachment, now);
  const { deletedAt: _, ...kept } = previous;
  const groups = isRecent(previous.groups?.at, now) ? previous.groups : undefined;
  return {
    ...kept,
    eni: withAttachment(
      {
        ...eni,
        addresses: [...addressSeenAt.keys()],
        securityGroupIds: groups?.ids ?? eni.securityGroupIds,
      },
      attachment,
    ),
    seenAt: now,
    addressSeenAt,
    removedAt,
    attachmentSeenAt,
  };
}

function mergeAttachment(
  previous: EniBelief,
  described: EniAttachment | undefined,
  now: number,
): { attachment: EniAttachment | undefined; attachmentSeenAt: number } {
  const ours = previous.eni.attachment;
  const { detached } = previous;
  const hasEnded = ours === undefined && detached !== undefined && isRecent(detached.at, now);
  if (hasEnded && described?.attachmentId === detached.attachmentId) {
    return { attachment: undefined, attachmentSeenAt: previous.attachmentSeenAt };
  }
  if (ours === undefined || !isRecent(previous.attachmentSeenAt, now)) {
    return { attachment: described, attachmentSeenAt: now };
  }
  const kept = { attachment: ours, attachmentSeenAt: previous.attachmentSeenAt };
  // A detach that was asked for ends in no attachment; an answer that shows it attached is from before.
  if (ours.status === 'detaching') {
    if (described === undefined) return { attachment: undefined, attachmentSeenAt: now };
    return described.status === 'detaching' ? { attachment: described, attachmentSeenAt: now } : kept;
  }
  if (described === undefined || described.attachmentId !== ours.attachmentId) return kept;
  const status =
    ours.status === 'attached' && described.status === 'attaching' ? ours.status : described.status;
  const deleteOnTermination = ours.deleteOnTermination || described.deleteOnTermination;
  return { attachment: { ...described, status, deleteOnTermination }, attachmentSeenAt: now };
}

function withAttachment(eni: Ec2Eni, attachment: EniAttachment | undefined): Ec2Eni {
  const { attachment: _, ...rest } = eni;
  return attachment === undefined ? rest : { ...rest, attachment };
}

/** A describe that should have shown it did not: still believed while staleness can explain that. */
export function missed(previous: EniBelief, now: number): EniBelief | undefined {
  if (previous.deletedAt !== undefined) return isRecent(previous.deletedAt, now) ? previous : undefined;
  return isRecent(previous.seenAt, now) ? previous : undefined;
}

/** Our own attach or detach took effect. */
export function attachmentWritten(previous: EniBelief, attachment: EniAttachment, now: number): EniBelief {
  const { attachmentId } = attachment;
  return {
    ...previous,
    eni: withAttachment(previous.eni, attachment),
    attachmentSeenAt: now,
    seenAt: now,
    ...(attachment.status === 'detaching' ? { detached: { attachmentId, at: now } } : {}),
  };
}

/** Our own change of the groups took effect. */
export const groupsWritten = (
  previous: EniBelief,
  ids: readonly SecurityGroupId[],
  now: number,
): EniBelief => ({
  ...previous,
  eni: { ...previous.eni, securityGroupIds: ids },
  groups: { ids, at: now },
});

/** Our own assign took effect. */
export function addressesAdded(previous: EniBelief, added: readonly Ip[], now: number): EniBelief {
  const addressSeenAt = new Map(previous.addressSeenAt);
  const removedAt = new Map(previous.removedAt);
  for (const ip of added) {
    addressSeenAt.set(ip, now);
    removedAt.delete(ip);
  }
  return {
    ...previous,
    eni: { ...previous.eni, addresses: [...addressSeenAt.keys()] },
    addressSeenAt,
    ownAddresses: new Set([...previous.ownAddresses, ...added]),
    removedAt,
  };
}

/** Our own unassign took effect. */
export function addressesRemoved(previous: EniBelief, removed: readonly Ip[], now: number): EniBelief {
  const addressSeenAt = new Map(previous.addressSeenAt);
  const removedAt = new Map(previous.removedAt);
  const ownAddresses = new Set(previous.ownAddresses);
  for (const ip of removed) {
    addressSeenAt.delete(ip);
    ownAddresses.delete(ip);
    removedAt.set(ip, now);
  }
  return {
    ...previous,
    eni: { ...previous.eni, addresses: [...addressSeenAt.keys()] },
    addressSeenAt,
    ownAddresses,
    removedAt,
  };
}
