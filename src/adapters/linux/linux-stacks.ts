// NetworkStack over the Linux kernel, for any number of host namespaces: the same two Workers serve them all.

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
  /** Closes the stacks and ends the Workers. */
  close(): Promise<void>;
}

interface StackParts {
  readonly stack: StackAddress;
  readonly wiring: WorkerClient;
  readonly upkeep: WorkerClient;
  readonly watch: ChangeWatch;
}

/**
 * Starts the Workers. Deletions, and the host's own upkeep, have a Worker to themselves: making a pod never waits for
 * unmaking one. The second also hears the kernel's notifications, to which its work is the answer.
 */
export function createLinuxStacks(): LinuxStacks {
  const wiring = startWorker('stack-worker');
  const upkeep = startWorker('stack-worker');
  const watch = createChangeWatch(upkeep);
  const stacks: LinuxStack[] = [];
  return {
    open: ({ netnsPath }) => {
      const opened = openStack({ wiring, upkeep, watch, stack: { stackId: stacks.length, netnsPath } });
      stacks.push(opened);
      return opened;
    },
    close: async () => {
      await Promise.all(stacks.map((stack) => stack.close()));
      await watch.close();
      await Promise.all([wiring.close(), upkeep.close()]);
    },
  };
}

function openStack({ stack, wiring, upkeep, watch }: StackParts): LinuxStack {
  // Two Workers must not make and unmake one link at once.
  const inTurn = createTurns();
  const subscriptions = new Set<Subscription>();
  const ask = async <Name extends StackOperation>(
    worker: WorkerClient,
    operation: Name,
    input: StackOperations[Name]['input'],
  ): Promise<StackOutcome<StackOperations[Name]['output']>> =>
    // The Worker answers each operation with the output that StackOperations gives it.
    (await worker.ask({ stack, operation, input })) as StackOutcome<StackOperations[Name]['output']>;

  return {
    listLinks: () => ask(wiring, 'listLinks', null),
    applyHost: (desired) => ask(upkeep, 'applyHost', desired),
    wirePod: (pod) => inTurn(pod.hostLink, async () => withoutValue(await ask(wiring, 'wirePod', pod))),
    unwirePod: (pod) => inTurn(pod.hostLink, async () => withoutValue(await ask(upkeep, 'unwirePod', pod))),
    inspectPod: (pod) => ask(wiring, 'inspectPod', pod),
    listPodLinks: (vethPrefix) => ask(wiring, 'listPodLinks', vethPrefix),
    findAwsCniLeftovers: (vethPrefix) => ask(upkeep, 'reportAwsCni', vethPrefix),
    removeAwsCniLeftovers: (vethPrefix) => ask(upkeep, 'cleanAwsCni', vethPrefix),
    describeNetwork: () => ask(upkeep, 'describeNetwork', null),
    onChange: (notify) => {
      const subscription = watch.subscribe(stack, notify);
      subscriptions.add(subscription);
      return subscription;
    },
    close: async () => {
      for (const subscription of subscriptions) subscription.close();
      await Promise.all([ask(wiring, 'closeStack', null), ask(upkeep, 'closeStack', null)]);
    },
  };
}

const withoutValue = (outcome: StackOutcome<null>): StackOutcome<void> =>
  outcome.kind === 'ok' ? done(undefined) : outcome;
