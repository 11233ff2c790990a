// Hands out addresses, and lets ADD wait a while for one.

import type { Ip } from '../domain/address/ip.ts';
import {
  type AllocationChoice,
  type AllocationRequest,
  chooseAddress,
  countFailure,
  describeFailure,
} from '../domain/ipam/allocate.ts';
import { type SandboxKey, sandboxId } from '../domain/ipam/ledger.ts';
import type { NodeNetworkSpec, SpecEni } from '../domain/ipam/node-network.ts';
import { isOfEni } from '../domain/ipam/pod-addresses.ts';
import { allowanceOf, enisFor, type PodAtAdd } from '../domain/ipam/pod-allowance.ts';
import { err, ok, type Result } from '../domain/result.ts';
import { type AcceptedSpec, type AgentContext, notServing, type SharedState } from './agent-context.ts';
import { explainNoAddress } from './explain-no-address.ts';

export interface PoolChoice {
  readonly choice: AllocationChoice;
  /** The spec that it was taken from. */
  readonly spec: NodeNetworkSpec;
}

export interface TakeRequest<T> {
  readonly sandbox: SandboxKey;
  /** Whose sandbox it is, as the runtime says; its annotations are absent where the runtime does not pass them. */
  readonly pod: PodAtAdd;
  /** Milliseconds. */
  readonly waitMs: number;
  /** Puts the chosen address into the ledger. Called in the same turn as the choice: nobody else can choose it between. */
  readonly hold: (choice: PoolChoice) => T;
}

export interface Pool {
  /** An address for the sandbox, now or after a while: what `hold` made of it. `err` says why there is none, for people. */
  take<T>(request: TakeRequest<T>): Promise<Result<T, string>>;
  /** Something changed: those who wait look again, in the order in which they came. */
  notify(): void;
  /** The runtime has given up on the sandbox: its ADD, if it waits, waits no longer. */
  giveUp(sandbox: SandboxKey): void;
  waitingCount(): number;
  /** Sandboxes that got none within their time, since the start. */
  noAddressCount(): number;
}

interface Waiter {
  readonly sandbox: SandboxKey;
  /** Why it waits no longer; undefined while it waits. */
  over: 'TimeIsUp' | 'GivenUp' | undefined;
  wake: () => void;
}

export function createPool(context: AgentContext): Pool {
  /** In the order in which they came; those that look for an address at this very moment included. */
  const waiters = new Set<Waiter>();
  let noAddressCount = 0;

  const end = (waiter: Waiter, over: 'TimeIsUp' | 'GivenUp'): void => {
    waiter.over = over;
    waiter.wake();
  };

  async function take<T>({ sandbox, pod, waitMs, hold }: TakeRequest<T>): Promise<Result<T, string>> {
    const attemptNow = (): Result<T, Why> => {
      const choice = choose(context, sandbox, pod);
      return choice.ok ? ok(hold(choice.value)) : choice;
    };
    let attempt = attemptNow();
    if (attempt.ok) return attempt;
    if (waitMs <= 0) {
      noAddressCount += 1;
      return err(attempt.error());
    }
    context.log.mark('add-waits');
    const waiter: Waiter = { sandbox, over: undefined, wake: () => {} };
    waiters.add(waiter);
    const timer = context.clock.timer(waitMs, 'wait for an address', () => end(waiter, 'TimeIsUp'));
    // Bounded by the timer, however often something changes meanwhile.
    while (!attempt.ok && waiter.over === undefined) {
      await new Promise<void>((resolve) => {
        waiter.wake = resolve;
      });
      if (waiter.over !== 'GivenUp') attempt = attemptNow();
    }
    timer.cancel();
    waiters.delete(waiter);
    if (attempt.ok) return attempt;
    noAddressCount += 1;
    if (waiter.over !== 'GivenUp') return err(attempt.error());
    return err('the runtime has given the pod up meanwhile (DEL)');
  }

  return {
    take,
    notify: () => {
      for (const waiter of waiters) waiter.wake();
    },
    giveUp: (sandbox) => {
      const id = sandboxId(sandbox);
      for (const waiter of waiters) if (sandboxId(waiter.sandbox) === id) end(waiter, 'GivenUp');
    },
    waitingCount: () => waiters.size,
    noAddressCount: () => noAddressCount,
  };
}

/** Tells people why there is no address, by what holds in this turn. A text is worth its price only at the end of a wait. */
type Why = () => string;

function choose(context: AgentContext, sandbox: SandboxKey, pod: PodAtAdd): Result<PoolChoice, Why> {
  const { shared, store, nodeName } = context;
  const why = notServing(context);
  if (why !== undefined || shared.accepted === undefined) return err(() => why ?? 'no spec');
  const { spec } = shared.accepted;
  const allowance = allowanceOf(spec.choosing, withAnnotations(shared, pod));
  const offered = shared.offered ? enisFor(spec.enis, allowance) : [];
  const enis = offered.map((eni) => withoutLedElsewhere(eni, shared));
  const request: AllocationRequest = {
    ledger: store.ledger(),
    enis,
    families: spec.addressFamilies,
    routed: routedOf(shared.accepted, shared),
    sandbox,
  };
  const choice = chooseAddress(request);
  if (choice !== undefined) return ok({ choice, spec });
  return err(() => {
    if (!shared.offered) return `NodeNetwork ${nodeName} is gone, so no address may be handed out`;
    if (allowance.kind === 'Wait' || allowance.kind === 'Refused') return allowance.because;
    const because = explainNoAddress(spec, allowance, shared.record?.status.conditions ?? []);
    return [describeFailure(countFailure(request)), ...because].join('; ');
  });
}

/** What the runtime passed goes first; else what the API server has told of the pod with this very uid. */
function withAnnotations({ pods }: SharedState, pod: PodAtAdd): PodAtAdd {
  if (pod.annotations !== undefined) return pod;
  const record = pods.get(pod.key);
  return record === undefined || record.uid !== pod.uid ? pod : { ...pod, annotations: record.annotations };
}

/**
 * An address that moved to another ENI is routed by the old one until the host's datapath has been written again; and
 * one whose last holder might reach instance metadata waits until the kernel has forgotten that; and one that the
 * object still lists as let go, until it has been told otherwise.
 */
function routedOf({ spec }: AcceptedSpec, shared: SharedState): AllocationRequest['routed'] {
  const { routed, imdsOpen, toldWithdrawn } = shared;
  return {
    has: (ip) => {
      const eniId = routed.get(ip);
      if (eniId === undefined || imdsOpen.has(ip) || toldWithdrawn.has(ip)) return false;
      return spec.enis.some((eni) => eni.eniId === eniId && isOfEni(eni, ip));
    },
  };
}

/** Of an address that the spec has on two ENIs, since it moved from one to the other, the host leads pods by one alone. */
function withoutLedElsewhere(eni: SpecEni, { routed }: SharedState): SpecEni {
  const isElsewhere = (ip: Ip): boolean => (routed.get(ip) ?? eni.eniId) !== eni.eniId;
  if (!eni.addresses.some(isElsewhere)) return eni;
  return { ...eni, addresses: eni.addresses.filter((ip) => !isElsewhere(ip)) };
}
