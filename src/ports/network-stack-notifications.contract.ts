// The part of NetworkStack's contract that is about notifications.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Subscription } from './cluster.ts';
import {
  appliedHost,
  type Current,
  ENI_LINK,
  type NetworkStackWorld,
} from './network-stack-world.contract.ts';

/** Far above what a notification takes, far below what a person would call soon. */
const NOTICE_TIMEOUT_MS = 2_000;
/** Longer than any stack gathers changes before it notifies. */
const QUIET_MS = 150;
const LOOK_MS = 10;
/** How often a stack may notify. */
const NOTIFY_INTERVAL_MS = 20;

/** A subscriber that counts. */
function subscribe({ stack, clock }: NetworkStackWorld): {
  readonly subscription: Subscription;
  readonly count: () => number;
  /** True once it has heard more than `before` notifications; false when none comes in time. */
  readonly heardMoreThan: (before: number) => Promise<boolean>;
} {
  let count = 0;
  const subscription = stack.onChange(() => {
    count += 1;
  });
  return {
    subscription,
    count: () => count,
    heardMoreThan: async (before) => {
      for (let waitedMs = 0; waitedMs < NOTICE_TIMEOUT_MS; waitedMs += LOOK_MS) {
        if (count > before) return true;
        await clock.sleep(LOOK_MS, 'notification');
      }
      return false;
    },
  };
}

export function notificationContract(world: Current): void {
  const changes: readonly {
    readonly title: string;
    readonly run: (it: NetworkStackWorld) => Promise<unknown>;
  }[] = [
    { title: 'a link appeared', run: (it) => it.plugLink('eth2') },
    { title: 'a link vanished', run: (it) => it.unplugLink(ENI_LINK) },
    { title: 'a rule was deleted', run: (it) => it.act('delete the rule to the pods') },
    { title: 'a route was deleted', run: (it) => it.act('delete an ENI route') },
    { title: 'an address was taken away', run: (it) => it.act('take away the ENI address') },
    { title: 'nftables were flushed', run: (it) => it.act('flush nftables') },
  ];
  for (const { title, run } of changes) {
    test(`a subscriber hears that ${title}`, async () => {
      await appliedHost(world());
      const { subscription, count, heardMoreThan } = subscribe(world());
      await world().clock.sleep(QUIET_MS, 'quiet');
      const before = count();
      await run(world());
      assert.equal(await heardMoreThan(before), true);
      subscription.close();
    });
  }

  test('many changes at once reach a subscriber as few notifications', async () => {
    const { plugLink, clock } = world();
    const { subscription, count } = subscribe(world());
    await clock.sleep(QUIET_MS, 'quiet');
    const before = count();
    const startedAt = clock.now();
    for (let number = 0; number < 10; number++) await plugLink(`eth${number}`);
    await clock.sleep(QUIET_MS, 'quiet');
    const elapsedMs = clock.now() - startedAt;
    const heard = count() - before;
    assert.ok(heard >= 1, 'some notification');
    assert.ok(heard <= elapsedMs / NOTIFY_INTERVAL_MS + 1, `${heard} notifications in ${elapsedMs} ms`);
    subscription.close();
  });

  test('after closing, a subscriber hears nothing', async () => {
    const { plugLink, clock } = world();
    const { subscription, count } = subscribe(world());
    subscription.close();
    await clock.sleep(QUIET_MS, 'quiet');
    const before = count();
    await plugLink(ENI_LINK);
    await clock.sleep(QUIET_MS, 'quiet');
    assert.equal(count(), before);
  });
}
