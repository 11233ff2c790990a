// What we believe of one ENI: EC2's answers overlaid with our own recent writes and sightings. Describes may be stale
// and may go back in time, so what was written or seen stands until staleness can no longer explain its absence.

import { type Cidr, familyOf, type Ip } from '../domain/address/ip.ts';
import type { AttachmentId, SecurityGroupId } from '../domain/ids.ts';
import { sameData } from '../domain/same-data.ts';
import type { Ec2Eni, EniAttachment } from '../ports/ec2.ts';

/** How long a write or a sighting outweighs an answer that contradicts it, ms: well above EC2's staleness of some seconds. */
export const BELIEF_MS = 60_000;

/** What takes a slot of an ENI: an address, or a prefix; an ENI's IPv6 prefixes too. */
export type SlotContent = Ip | Cidr;

export interface EniBelief {
  readonly eni: Ec2Eni;
  /** Last time a describe or an answer to our own call showed it. */
  readonly seenAt: number;
  readonly contentSeenAt: ReadonlyMap<SlotContent, number>;
  /** What the answer to a call of ours named: no stale describe can have made it up. */
  readonly ownContent: ReadonlySet<SlotContent>;
  /** What we unassigned, and when. */
  readonly removedAt: ReadonlyMap<SlotContent, number>;
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

/** All that takes a slot of the ENI. */
export const contentOf = (eni: Ec2Eni): readonly SlotContent[] => [
  ...eni.addresses,
  ...eni.prefixes,
  ...eni.ipv6Prefixes,
];

/** The ENI with what takes its slots put in the place of what it had there. */
function withContent(eni: Ec2Eni, content: Iterable<SlotContent>): Ec2Eni {
  const addresses: Ip[] = [];
  const prefixes: Cidr[] = [];
  const ipv6Prefixes: Cidr[] = [];
  for (const one of content) {
    if (!isPrefix(one)) addresses.push(one);
    else if (familyOf(one) === 4) prefixes.push(one);
    else ipv6Prefixes.push(one);
  }
  return { ...eni, addresses, prefixes, ipv6Prefixes };
}

/** A block, not a single address. */
export const isPrefix = (content: SlotContent): content is Cidr => content.includes('/');

const isRecent = (at: number | undefined, now: number): boolean => at !== undefined && now - at < BELIEF_MS;

/** Takes in an ENI that a describe or a create answered. */
export function sighted(previous: EniBelief | undefined, eni: Ec2Eni, now: number): EniBelief {
  if (previous === undefined) {
    return {
      eni,
      seenAt: now,
      contentSeenAt: new Map(contentOf(eni).map((one) => [one, now])),
      ownContent: new Set(),
      removedAt: new Map(),
      attachmentSeenAt: now,
    };
  }
  if (isRecent(previous.deletedAt, now)) return previous;
  if (isUnchanged(previous, eni)) {
    // Nearly all ENIs of a large cluster, every time.
    const contentSeenAt = new Map<SlotContent, number>();
    for (const one of previous.contentSeenAt.keys()) contentSeenAt.set(one, now);
    return { ...previous, seenAt: now, attachmentSeenAt: now, contentSeenAt };
  }
  const removedAt = new Map([...previous.removedAt].filter(([, at]) => isRecent(at, now)));
  const contentSeenAt = new Map([...previous.contentSeenAt].filter(([, at]) => isRecent(at, now)));
  for (const one of contentOf(eni)) if (!removedAt.has(one)) contentSeenAt.set(one, now);
  const { attachment, attachmentSeenAt } = mergeAttachment(previous, eni.attachment, now);
  const { deletedAt: _, ...kept } = previous;
  const groups = isRecent(previous.groups?.at, now) ? previous.groups : undefined;
  return {
    ...kept,
    eni: withAttachment(
      withContent({ ...eni, securityGroupIds: groups?.ids ?? eni.securityGroupIds }, contentSeenAt.keys()),
      attachment,
    ),
    seenAt: now,
    contentSeenAt,
    removedAt,
    attachmentSeenAt,
  };
}

/** Whether the answer says what is believed, and nothing that was written is left to be outlived. */
function isUnchanged(previous: EniBelief, eni: Ec2Eni): boolean {
  const { deletedAt, detached, groups, removedAt } = previous;
  const isSettled =
    deletedAt === undefined && detached === undefined && groups === undefined && removedAt.size === 0;
  return isSettled && sameData(previous.eni, eni);
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
export function contentAdded(previous: EniBelief, added: readonly SlotContent[], now: number): EniBelief {
  const contentSeenAt = new Map(previous.contentSeenAt);
  const removedAt = new Map(previous.removedAt);
  for (const one of added) {
    contentSeenAt.set(one, now);
    removedAt.delete(one);
  }
  return {
    ...previous,
    eni: withContent(previous.eni, contentSeenAt.keys()),
    contentSeenAt,
    ownContent: new Set([...previous.ownContent, ...added]),
    removedAt,
  };
}

/** Our own unassign took effect. */
export function contentRemoved(previous: EniBelief, removed: readonly SlotContent[], now: number): EniBelief {
  const contentSeenAt = new Map(previous.contentSeenAt);
  const removedAt = new Map(previous.removedAt);
  const ownContent = new Set(previous.ownContent);
  for (const one of removed) {
    contentSeenAt.delete(one);
    ownContent.delete(one);
    removedAt.set(one, now);
  }
  return {
    ...previous,
    eni: withContent(previous.eni, contentSeenAt.keys()),
    contentSeenAt,
    ownContent,
    removedAt,
  };
}
