// NetworkStack over the Linux kernel, for any number of host namespaces: one Worker serves them all.

import type { AwsCniCleaner } from '../../ports/aws-cni.ts';
import type { Subscription } from '../../ports/cluster.ts';
import type { NetworkStack, StackOutcome } from '../../ports/network-stack.ts';
import { done } from '../../ports/outcome.ts';
import { type ChangeWatch, createChangeWatch } from './change-watch.ts';
import { createTurns } from './turns.ts';
import { startWorker, type WorkerClient } from './worker-client.ts';
import type { StackAddress, StackOperation, StackOperations } from './worker-messages.ts';

export interface LinuxStack extends NetworkStack, AwsCniCleaner {
  /** Links, rules, routes and our nftables table as text, for people who look for a fault. */
  describeNetwork(): Promise<StackOutcome<string>>;
}

export interface LinuxStacks {
  /**
   * The stack of the host namespace at `netnsPath` (`/proc/1/ns/net`, `/var/run/netns/NAME`). The path is opened at the
   * first request, which fails when it is no network namespace.
   */
  open(request: { readonly netnsPath: string }): LinuxStack;
  /** Closes the stacks and ends the Worker. */
  close(): Promise<void>;
}

interface StackParts {
  readonly stack: StackAddress;
  readonly worker: WorkerClient;
  readonly watch: ChangeWatch;
}

/**
 * Starts the Worker. One is enough, and each takes a dozen MB: what the kernel does long, the end of a deletion and the
 * wait for a notification, is on libuv's pool, and a look at the whole host takes milliseconds, seldom. What may take
 * seconds gets a Worker for as long as it lasts.
 */
export function createLinuxStacks(): LinuxStacks {
  const worker = startWorker('stack-worker');
  const watch = createChangeWatch(worker);
  const stacks: LinuxStack[] = [];
  return {
    open: ({ netnsPath }) => {
      const opened = openStack({ worker, watch, stack: { stackId: stacks.length, netnsPath } });
      stacks.push(opened);
      return opened;
    },
    close: async () => {
      await Promise.all(stacks.map((stack) => stack.close()));
      await watch.close();
      await worker.close();
    },
  };
}

function openStack({ stack, worker, watch }: StackParts): LinuxStack {
  // A link must not be made again while it is being unmade.
  const inTurn = createTurns();
  const subscriptions = new Set<Subscription>();
  const askOf = async <Name extends StackOperation>(
    asked: WorkerClient,
    operation: Name,
    input: StackOperations[Name]['input'],
  ): Promise<StackOutcome<StackOperations[Name]['output']>> =>
    // The Worker answers each operation with the output that StackOperations gives it.
    (await asked.ask({ stack, operation, input })) as StackOutcome<StackOperations[Name]['output']>;
  const ask = <Name extends StackOperation>(
    operation: Name,
    input: StackOperations[Name]['input'],
  ): Promise<StackOutcome<StackOperations[Name]['output']>> => askOf(worker, operation, input);
  /** What reads firewalls of thousands of rules takes seconds, and is seldom: no pod waits for it. */
  const askApart: typeof ask = async (operation, input) => {
    const apart = startWorker('stack-worker');
    try {
      return await askOf(apart, operation, input);
    } finally {
      await askOf(apart, 'closeStack', null);
      await apart.close();
    }
  };

  return {
    listLinks: () => ask('listLinks', null),
    applyHost: (desired) => ask('applyHost', desired),
    wirePod: (pod) => inTurn(pod.hostLink, async () => withoutValue(await ask('wirePod', pod))),
    unwirePod: (pod) => inTurn(pod.hostLink, async () => withoutValue(await ask('unwirePod', pod))),
    inspectPod: (pod) => ask('inspectPod', pod),
    listPodLinks: (vethPrefix) => ask('listPodLinks', vethPrefix),
    findAwsCniLeftovers: (vethPrefix) => askApart('reportAwsCni', vethPrefix),
    removeAwsCniLeftovers: (vethPrefix) => askApart('cleanAwsCni', vethPrefix),
    describeNetwork: () => askApart('describeNetwork', null),
    onChange: (notify) => {
      const subscription = watch.subscribe(stack, notify);
      subscriptions.add(subscription);
      return subscription;
    },
    close: async () => {
      for (const subscription of subscriptions) subscription.close();
      await ask('closeStack', null);
    },
  };
}

const withoutValue = (outcome: StackOutcome<null>): StackOutcome<void> =>
  outcome.kind === 'ok' ? done(undefined) : outcome;
