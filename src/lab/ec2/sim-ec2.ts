// EC2 with AWS's semantics, in process: what the product runs against where there is no AWS.

import type { InstanceId } from '../../domain/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Subscription } from '../../ports/cluster.ts';
import type { Ec2 } from '../../ports/ec2.ts';
import type { Random } from '../../ports/random.ts';
import { seededRandom } from '../kernel/seeded-random.ts';
import { createApi } from './api.ts';
import { type CallLog, createCallLog } from './call-log.ts';
import { createEc2Admin, type Ec2Admin } from './ec2-admin.ts';
import { createEc2Faults } from './ec2-fault.ts';
import type { Ec2Profile } from './ec2-profile.ts';
import { createEc2Truth, type Ec2Truth } from './ec2-truth.ts';
import { createRegion, type Ec2Change } from './region.ts';
import { createSimEc2Client } from './sim-ec2-client.ts';
import { createTokenBuckets, type Ec2Action } from './token-bucket.ts';

export interface SimEc2Options {
  /** The world's clock, virtual or real. */
  readonly clock: Clock;
  readonly random: Random;
  /** The profile in force now; it may change while the world runs. */
  readonly profile: () => Ec2Profile;
  /** Told of each fault, by the profile's field, when it strikes. */
  readonly onFault?: (fault: keyof Ec2Profile) => void;
}

export interface SimEc2ClientOptions {
  /** Who calls, for the log and for changes. */
  readonly name?: string;
  /** The caller's own clock, by which it hears answers: one that has died hears none. The world's when absent. */
  readonly clock?: Clock;
}

export type AttachmentChange = Extract<Ec2Change, { kind: 'AttachmentChanged' }>;

export interface SimEc2 {
  client(options?: SimEc2ClientOptions): Ec2;
  readonly admin: Ec2Admin;
  readonly truth: Ec2Truth;
  readonly calls: CallLog;
  /** Requests that are late, and still on their way, arrive now. */
  landLateRequests(): void;
  /** Calls back in the same turn in which the truth changed. */
  onChange(notify: (change: Ec2Change) => void): Subscription;
  /** The part of `onChange` that a fabric plugs and unplugs links by: `attached` and `detached` and the steps between. */
  onAttachment(notify: (change: AttachmentChange) => void): Subscription;
  /** The same for one instance, at no cost to changes of others. */
  onAttachmentAt(instanceId: InstanceId, notify: (change: AttachmentChange) => void): Subscription;
}

export function createSimEc2({ clock, random, profile, onFault }: SimEc2Options): SimEc2 {
  const root = seededRandom(random.uint32());
  const region = createRegion({
    clock,
    profile,
    struck: onFault ?? (() => {}),
    draws: { ids: root.fork('ids'), addresses: root.fork('addresses'), delays: root.fork('delays') },
  });
  const buckets = createTokenBuckets(() => clock.now());
  const calls = createCallLog();
  const denied = new Set<Ec2Action>();
  const faults = createEc2Faults(root.fork('faults'));
  const api = createApi({ region, buckets, log: calls, denied, faults, random: root.fork('calls') });
  // instance -> who wants to hear of its attachments
  const listeners = new Map<InstanceId, Set<(change: AttachmentChange) => void>>();
  region.onChange((change) => {
    if (change.kind !== 'AttachmentChanged') return;
    for (const notify of listeners.get(change.attachment.instanceId) ?? []) notify(change);
  });
  let clientCount = 0;
  return {
    client: (options = {}) => {
      clientCount += 1;
      return createSimEc2Client({
        api,
        region,
        random: root.fork(`client-${clientCount}`),
        caller: { name: options.name ?? 'client', clock: options.clock ?? clock },
      });
    },
    admin: createEc2Admin({ region, buckets, denied, faults }),
    truth: createEc2Truth(region),
    calls,
    landLateRequests: api.landLate,
    onChange: (notify) => region.onChange(notify),
    onAttachment: (notify) =>
      region.onChange((change) => {
        if (change.kind === 'AttachmentChanged') notify(change);
      }),
    onAttachmentAt: (instanceId, notify) => {
      const ofInstance = listeners.get(instanceId) ?? new Set();
      listeners.set(instanceId, ofInstance.add(notify));
      return {
        close: () => {
          ofInstance.delete(notify);
          if (ofInstance.size === 0) listeners.delete(instanceId);
        },
      };
    },
  };
}
