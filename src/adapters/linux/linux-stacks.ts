// NetworkStack over the Linux kernel, for any number of host namespaces: two Workers do the work of them all.

import type { HostDatapath } from '../../domain/datapath/host-datapath.ts';
import type { PodDatapath } from '../../domain/datapath/pod-datapath.ts';
import type { LinkView, NetworkStack, PodLinkView, StackOutcome } from '../../ports/network-stack.ts';
import { done } from '../../ports/outcome.ts';
import { startWorker, type WorkerClient } from './worker-client.ts';
import type { PodRemoval, StackAddress, StackOperation, StackOperations } from './worker-messages.ts';

export interface LinuxStacks {
  /**
   * The stack of the host namespace at `netnsPath` (`/proc/1/ns/net`, `/var/run/netns/NAME`). The path is opened at the
   * first request, which fails when it is no network namespace.
   */
  open(request: { readonly netnsPath: string }): NetworkStack;
  /** Closes the stacks and ends the Workers. */
  close(): Promise<void>;
}

/**
 * Starts the Workers. Deleting a veth blocks its thread for 16 to 24 ms in the kernel, so deletions, and with them the
 * host's own upkeep, have a Worker to themselves: making a pod never waits for unmaking one.
 */
export function createLinuxStacks(): LinuxStacks {
  const wiring = startWorker('stack-worker');
  const upkeep = startWorker('stack-worker');
  const stacks: NetworkStack[] = [];
  return {
    open: ({ netnsPath }) => {
      const stack = openStack({ wiring, upkeep, stack: { stackId: stacks.length, netnsPath } });
      stacks.push(stack);
      return stack;
    },
    close: async () => {
      await Promise.all(stacks.map((stack) => stack.close()));
      await Promise.all([wiring.close(), upkeep.close()]);
    },
  };
}

function openStack(parts: {
  readonly wiring: WorkerClient;
  readonly upkeep: WorkerClient;
  readonly stack: StackAddress;
}): NetworkStack {
  const { wiring, upkeep, stack } = parts;
  const inTurn = createTurns();
  const ask = async <Name extends StackOperation>(
    worker: WorkerClient,
    operation: Name,
    input: StackOperations[Name]['input'],
  ): Promise<StackOutcome<StackOperations[Name]['output']>> =>
    // The Worker answers each operation with the output that StackOperations gives it.
    (await worker.ask({ stack, operation, input })) as StackOutcome<StackOperations[Name]['output']>;

  return {
    listLinks: (): Promise<StackOutcome<readonly LinkView[]>> => ask(wiring, 'listLinks', null),
    applyHost: (desired: HostDatapath): Promise<StackOutcome<readonly string[]>> =>
      ask(upkeep, 'applyHost', desired),
    wirePod: (pod: PodDatapath): Promise<StackOutcome<void>> =>
      inTurn(pod.hostLink, async () => withoutValue(await ask(wiring, 'wirePod', pod))),
    unwirePod: (pod: PodRemoval): Promise<StackOutcome<void>> =>
      inTurn(pod.hostLink, async () => withoutValue(await ask(upkeep, 'unwirePod', pod))),
    inspectPod: (pod: PodDatapath): Promise<StackOutcome<readonly string[]>> =>
      ask(wiring, 'inspectPod', pod),
    listPodLinks: (vethPrefix: string): Promise<StackOutcome<readonly PodLinkView[]>> =>
      ask(wiring, 'listPodLinks', vethPrefix),
    onChange: () => ({ close: () => {} }),
    close: async (): Promise<void> => {
      await Promise.all([ask(wiring, 'closeStack', null), ask(upkeep, 'closeStack', null)]);
    },
  };
}

const withoutValue = (outcome: StackOutcome<null>): StackOutcome<void> =>
  outcome.kind === 'ok' ? done(undefined) : outcome;

/** Runs effects on one name one after the other, in the order of calls: two Workers must not make and unmake one link at once. */
function createTurns(): <T>(name: string, run: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return async (name, run) => {
    const before = last.get(name);
    const turn = before === undefined ? run() : before.then(run, run);
    last.set(name, turn);
    try {
      return await turn;
    } finally {
      if (last.get(name) === turn) last.delete(name);
    }
  };
}
