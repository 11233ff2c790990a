// NetworkStack over a MemoryKernel: one agent's view of its node. A crash of the agent can fall between any two steps.

import type { HostDatapath } from '../../domain/datapath/host-datapath.ts';
import type { PodDatapath } from '../../domain/datapath/pod-datapath.ts';
import type { Result } from '../../domain/result.ts';
import type { Clock, Timer } from '../../ports/clock.ts';
import type { NetworkStack, StackFailure, StackOutcome } from '../../ports/network-stack.ts';
import { done, failed } from '../../ports/outcome.ts';
import { applyHost } from './memory-host.ts';
import type { MemoryKernel } from './memory-kernel.ts';
import {
  addVeth,
  inspectPod,
  listPodLinks,
  removeOrphanRoutes,
  removeVeth,
  wireHostSide,
  wirePodSide,
} from './memory-pod.ts';

export type MemoryStackStep =
  | 'listLinks'
  | 'applyHost'
  | 'addVeth'
  | 'wirePodSide'
  | 'wireHostSide'
  | 'removeVeth'
  | 'inspectPod'
  | 'listPodLinks';

export interface MemoryStackOptions {
  readonly kernel: MemoryKernel;
  /** The agent's clock: once its incarnation has died, no later step of a call happens. */
  readonly clock: Clock;
  /** Milliseconds that a step takes. None when absent: each call is then done at once. */
  readonly delayMs?: (step: MemoryStackStep) => number;
  /** The kernel refuses this step with what is answered, as it might out of memory or permission. */
  readonly refuse?: (step: MemoryStackStep) => StackFailure | undefined;
}

/** Changes closer together than this reach a subscriber as one, as on Linux. */
const NOTIFY_INTERVAL_MS = 20;

export function createMemoryStack(options: MemoryStackOptions): NetworkStack {
  const { kernel, clock } = options;
  const inTurn = createTurns();
  const subscriptions = new Set<{ close(): void }>();

  /** Waits for the step's time, then does it, unless the world refuses. */
  const take = async <T>(
    step: MemoryStackStep,
    run: () => Result<T, StackFailure>,
  ): Promise<Result<T, StackFailure>> => {
    const ms = options.delayMs?.(step) ?? 0;
    if (ms > 0) await clock.sleep(ms, step);
    const refused = options.refuse?.(step);
    return refused === undefined ? run() : { ok: false, error: refused };
  };
  const read = async <T>(step: MemoryStackStep, run: () => T): Promise<StackOutcome<T>> =>
    outcomeOf(await take(step, () => ({ ok: true, value: run() })));

  const wirePod = async (pod: PodDatapath): Promise<StackOutcome<void>> => {
    const added = await take('addVeth', () => addVeth(kernel, pod));
    if (!added.ok) return failed(added.error);
    let wired = await take('wirePodSide', () => wirePodSide(kernel, pod));
    if (wired.ok) wired = await take('wireHostSide', () => wireHostSide(kernel, pod));
    // Undoing is not one of the steps that a fault can refuse: the real one is a single message.
    if (!wired.ok) removeVeth(kernel, pod.hostLink);
    return outcomeOf(wired);
  };

  const unwirePod: NetworkStack['unwirePod'] = async ({ hostLink, addresses }) =>
    outcomeOf(
      await take('removeVeth', () => {
        const removed = removeVeth(kernel, hostLink);
        if (removed.ok) removeOrphanRoutes(kernel, addresses);
        return removed;
      }),
    );

  return {
    listLinks: () =>
      read('listLinks', () =>
        kernel.host.links.map(({ index, name, mac, up, mtu }) => ({ index, name, mac, up, mtu })),
      ),
    applyHost: async (desired: HostDatapath) => {
      const applied = await take('applyHost', () => ({ ok: true, value: applyHost(kernel, desired) }));
      return applied.ok ? applied.value : failed(applied.error);
    },
    wirePod: (pod) => inTurn(pod.hostLink, () => wirePod(pod)),
    unwirePod: (pod) => inTurn(pod.hostLink, () => unwirePod(pod)),
    inspectPod: (pod) => read('inspectPod', () => inspectPod(kernel, pod)),
    listPodLinks: (vethPrefix) => read('listPodLinks', () => listPodLinks(kernel.host, vethPrefix)),
    onChange: (notify) => {
      const subscription = subscribe(kernel, clock, notify);
      subscriptions.add(subscription);
      return {
        close: () => {
          subscriptions.delete(subscription);
          subscription.close();
        },
      };
    },
    close: async () => {
      for (const subscription of subscriptions) subscription.close();
      subscriptions.clear();
    },
  };
}

function subscribe(kernel: MemoryKernel, clock: Clock, notify: () => void): { close(): void } {
  let pending: Timer | undefined;
  const subscription = kernel.onChange(() => {
    pending ??= clock.timer(NOTIFY_INTERVAL_MS, 'network changed', () => {
      pending = undefined;
      notify();
    });
  });
  return {
    close: () => {
      subscription.close();
      pending?.cancel();
    },
  };
}

const outcomeOf = <T>(result: Result<T, StackFailure>): StackOutcome<T> =>
  result.ok ? done(result.value) : failed(result.error);

/** Calls for one link take effect in the order of calls, as on Linux. */
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
