// Which ENIs of ours are leaked: made for an instance that is no node of the cluster any more, and held by nobody.

import type { AttachmentId, EniId, InstanceId, NodeName } from '../ids.ts';

/** One of our ENIs as a describe just showed it. */
export interface OwnEni {
  readonly eniId: EniId;
  /** Instance that it is attached to or, unattached, for which it was made; absent: its tags do not say. */
  readonly instanceId?: InstanceId;
  /** Node for which it was made, if its tags say. */
  readonly nodeName?: NodeName;
  /** Milliseconds since the epoch; absent: its tags do not say. */
  readonly createdAt?: number;
  readonly attachment?: {
    readonly attachmentId: AttachmentId;
    readonly deleteOnTermination: boolean;
    readonly state: 'attaching' | 'attached' | 'detaching';
  };
}

export interface LeakView {
  readonly now: number;
  /** Every own ENI, by one describe. */
  readonly enis: readonly OwnEni[];
  /** Instances that are nodes of the cluster. */
  readonly nodeInstances: ReadonlySet<InstanceId>;
  /** ENI -> when a describe before this one first showed it so, without a break. */
  readonly suspects: ReadonlyMap<EniId, number>;
  /** A younger ENI may belong to a node that only just joins, or to an intent that is still open. */
  readonly lifeMs: number;
  /** Two sightings are at least this far apart: longer than describes are stale. */
  readonly suspicionMs: number;
}

export type LeakStep =
  | { readonly do: 'DeleteEni'; readonly eni: OwnEni; readonly because: string }
  | {
      readonly do: 'SetDeleteOnTermination';
      readonly eni: OwnEni;
      readonly attachmentId: AttachmentId;
      readonly because: string;
    };

export interface Leaks {
  /** Suspects for the next look. */
  readonly suspects: ReadonlyMap<EniId, number>;
  readonly steps: readonly LeakStep[];
}

/**
 * Pure. An ENI that is attached is never taken off: its instance lives, and pods may live on it, whatever became of the
 * Node object; it only has to go when the instance does. Everything needs two sightings (ENI-5).
 */
export function findLeaks(view: LeakView): Leaks {
  const suspects = new Map<EniId, number>();
  const steps: LeakStep[] = [];
  for (const eni of view.enis) {
    const step = stepFor(view, eni);
    if (step === undefined) continue;
    const since = view.suspects.get(eni.eniId) ?? view.now;
    suspects.set(eni.eniId, since);
    const watchedMs = view.now - since;
    // The tag is by the clock of whoever made the ENI, which may have been hours ahead: what was watched counts as well.
    const isYoung = view.now - (eni.createdAt ?? 0) < view.lifeMs && watchedMs < view.lifeMs;
    if (!isYoung && watchedMs >= view.suspicionMs) steps.push(step);
  }
  return { suspects, steps };
}

/** What an ENI needs if it is still so at the second sighting; nothing while somebody else sees to it. */
function stepFor({ nodeInstances }: LeakView, eni: OwnEni): LeakStep | undefined {
  const { eniId, instanceId, attachment } = eni;
  if (instanceId !== undefined && nodeInstances.has(instanceId)) return undefined;
  const whose = instanceId ?? 'an instance that its tags do not name';
  if (attachment === undefined) {
    return { do: 'DeleteEni', eni, because: `${eniId} was made for ${whose}, which is no node any more` };
  }
  if (attachment.deleteOnTermination || attachment.state === 'detaching') return undefined;
  const { attachmentId } = attachment;
  return {
    do: 'SetDeleteOnTermination',
    eni,
    attachmentId,
    because: `${eniId} is on ${whose}, which is no node any more, and must go when the instance does`,
  };
}
