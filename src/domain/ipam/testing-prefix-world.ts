// A node in mode Prefix with an EC2 and an agent of its own, all without delay: what the planner does in the long run.

import assert from 'node:assert/strict';
import type { Ip } from '../address/ip.ts';
import { prefixAddresses } from '../address/prefix.ts';
import { type EniId, intentId, type PodKey } from '../ids.ts';
import { maxPods } from '../instance/max-pods.ts';
import { sameData } from '../same-data.ts';
import type { Action } from './action.ts';
import { allocate } from './allocate.ts';
import { applyRecord } from './apply-record.ts';
import { emptyLedger, type JournalRecord, type Ledger, sandboxId } from './ledger.ts';
import type { Mode } from './mode.ts';
import { emptyStatus, type NodeNetworkSpec, type NodeNetworkStatus } from './node-network.ts';
import type { EniView, NodeView } from './node-view.ts';
import { type Plan, plan } from './plan.ts';
import { addressesOf, createPrefixEc2, performOn, type PrefixEc2, takenOf } from './testing-prefix-enis.ts';
import { allocation, sandbox } from './testing-node.ts';
import { cidr, nodeView, POD_SUBNET, settings } from './testing.ts';
import type { WarmTargets } from './warm-targets.ts';
import { answerWithdrawals, forgettable } from './withdrawal.ts';

/** Short against the time after which a refused block is asked for again, so that one can come to rest between. */
const COOLDOWN_MS = 10_000;
const ROUNDS_MAX = 600;
const SLOTS_PER_ENI = 9;

export interface PrefixWorldOptions {
  readonly mode?: Mode;
  readonly targets?: WarmTargets;
  /** The pods' subnet: its first four addresses and the last are AWS's. */
  readonly subnet?: string;
  /** Addresses of it that others hold. */
  readonly foreign?: readonly Ip[];
}

/** The truth of one node of type m5.large, and what its controller and agent have written. */
interface State {
  now: number;
  mode: Mode;
  readonly targets: WarmTargets;
  readonly ec2: PrefixEc2;
  readonly pods: Set<PodKey>;
  readonly releasedAt: Map<Ip, number>;
  published: { readonly spec: NodeNetworkSpec; readonly status: NodeNetworkStatus } | undefined;
  generation: number;
  ledger: Ledger;
  intentCount: number;
  excessSince: number | undefined;
  lastPlan: Plan | undefined;
}

export interface PrefixWorld {
  readonly ec2: PrefixEc2;
  readonly setMode: (mode: Mode) => void;
  readonly mode: () => Mode;
  readonly ledger: () => Ledger;
  readonly enis: () => readonly EniView[];
  readonly lastPlan: () => Plan;
  readonly spec: () => NodeNetworkSpec;
  readonly addPod: (pod: PodKey) => void;
  readonly deletePod: (pod: PodKey) => void;
  readonly waitingCount: () => number;
  readonly tick: (ms: number) => void;
  /** One round of the controller: publishes, or does one action. False: it had nothing to do. */
  readonly controllerRound: () => boolean;
  /** One round of the agent. False: nothing came of it. */
  readonly agentRound: () => boolean;
  /** Rounds of both until neither has anything to do, letting time pass. */
  readonly settle: () => void;
}

/** A node without pods, of which nothing is published yet. */
export function createPrefixWorld(options: PrefixWorldOptions = {}): PrefixWorld {
  const state: State = {
    now: 1_000_000,
    mode: options.mode ?? 'Prefix',
    targets: options.targets ?? { warmEni: 1 },
    ec2: createPrefixEc2(cidr(options.subnet ?? '10.1.0.0/24'), options.foreign ?? []),
    pods: new Set(),
    releasedAt: new Map(),
    published: undefined,
    generation: 0,
    ledger: emptyLedger,
    intentCount: 0,
    excessSince: undefined,
    lastPlan: undefined,
  };
  return {
    ec2: state.ec2,
    setMode: (mode) => {
      state.mode = mode;
    },
    mode: () => state.mode,
    ledger: () => state.ledger,
    enis: () => state.ec2.enis,
    lastPlan: () => present(state.lastPlan),
    spec: () => present(state.published).spec,
    addPod: (pod) => {
      state.pods.add(pod);
    },
    deletePod: (pod) => deletePod(state, pod),
    waitingCount: () => state.pods.size - state.ledger.allocations.size,
    tick: (ms) => {
      state.now += ms;
    },
    controllerRound: () => controllerRound(state),
    agentRound: () => agentRound(state),
    settle: () => settle(state),
  };
}

function present<T>(value: T | undefined): T {
  assert.ok(value !== undefined, 'there is one by now');
  return value;
}

const containerOf = (pod: PodKey): string => pod.replace('/', '-');

function commit(state: State, record: JournalRecord): void {
  state.ledger = applyRecord(state.ledger, record);
}

function deletePod(state: State, pod: PodKey): void {
  state.pods.delete(pod);
  const held = state.ledger.allocations.get(sandboxId(sandbox(containerOf(pod))));
  if (held === undefined) return;
  for (const ip of held.addresses) state.releasedAt.set(ip, state.now);
  commit(state, { type: 'Released', at: state.now, sandbox: held.sandbox, addresses: held.addresses });
}

function viewOf(state: State): NodeView {
  const base = nodeView();
  const { ec2, mode, targets, published, excessSince } = state;
  const subnet = present(base.subnets.get(POD_SUBNET));
  const freeAddressCount = ec2.size - takenOf(ec2).size;
  if (ec2.refusal !== undefined && freeAddressCount < ec2.refusal.freeAddressCount)
    ec2.refusal = { ...ec2.refusal, freeAddressCount };
  return {
    ...base,
    now: state.now,
    enis: [...base.enis, ...ec2.enis],
    subnets: new Map([...base.subnets, [POD_SUBNET, { ...subnet, cidr: ec2.subnet, freeAddressCount }]]),
    settings: { ...settings, excessHoldMs: COOLDOWN_MS, mode, targets },
    maxPods: maxPods({ limits: base.limits, customNetworking: true, prefix: mode === 'Prefix' }).maxPods,
    pods: [...state.pods],
    ...(published === undefined ? {} : { published }),
    ...(ec2.refusal === undefined ? {} : { blockRefusals: new Map([[POD_SUBNET, ec2.refusal]]) }),
    ...(excessSince === undefined ? {} : { excessSince }),
    failedIntents: ec2.failedIntents,
    freshIntentId: intentId(`intent-${state.intentCount}`),
  };
}

function controllerRound(state: State): boolean {
  const view = viewOf(state);
  const planned = present(plan(view));
  state.lastPlan = planned;
  if (planned.excessCount === 0) state.excessSince = undefined;
  else state.excessSince ??= state.now;
  check(state, planned);
  const { published } = state;
  if (published === undefined || !sameData(published.spec, planned.spec)) {
    if (planned.spec.intents.some(({ id }) => id === view.freshIntentId)) state.intentCount += 1;
    state.published = { spec: planned.spec, status: published?.status ?? emptyStatus };
    state.generation += 1;
    return true;
  }
  const [action] = planned.actions;
  if (action === undefined) return false;
  checkGivenBack(state, action);
  performOn(state.ec2, action, state.now);
  return true;
}

function check({ ec2, ledger, published }: State, { spec }: Plan): void {
  for (const { addresses, prefixes } of ec2.enis)
    assert.ok(addresses.length + prefixes.length <= SLOTS_PER_ENI, 'ENI-1: an ENI holds more than it can');
  const granted = new Set(spec.enis.flatMap((eni) => eni.addresses));
  const asked = new Set(spec.enis.flatMap((eni) => eni.withdrawing));
  for (const ip of published?.status.withdrawn ?? [])
    assert.ok(!granted.has(ip) || asked.has(ip), `WD-3: ${ip} is withdrawn, and granted`);
  for (const ip of ledger.holders.keys()) assert.ok(granted.has(ip), `IP-2: ${ip} is not granted any more`);
}

/** The worst that could happen: an address that a pod has, or that the agent has not let go of, goes back to EC2. */
function checkGivenBack({ ec2, ledger, published }: State, action: Action): void {
  const goes = givenBackBy(ec2, action);
  if (goes === undefined) return;
  const asked = new Set(published?.spec.enis.find((eni) => eni.eniId === goes.eniId)?.withdrawing);
  const withdrawn = new Set(published?.status.withdrawn);
  for (const ip of goes.addresses) {
    assert.ok(!ledger.holders.has(ip), `IP-2: a pod has ${ip}, and it is given back`);
    assert.ok(asked.has(ip) && withdrawn.has(ip), `WD-4: ${ip} is not both withdrawing and withdrawn`);
  }
}

function givenBackBy(
  ec2: PrefixEc2,
  action: Action,
): { readonly eniId: EniId; readonly addresses: readonly Ip[] } | undefined {
  switch (action.do) {
    case 'UnassignAddresses':
      return action;
    case 'UnassignPrefixes':
      return { eniId: action.eniId, addresses: action.prefixes.flatMap(prefixAddresses) };
    case 'DetachEni': {
      const eni = ec2.enis.find((one) => one.eniId === action.eniId);
      return { eniId: action.eniId, addresses: eni === undefined ? [] : addressesOf(eni) };
    }
    default:
      return undefined;
  }
}

function agentRound(state: State): boolean {
  const { published, generation, now } = state;
  if (published === undefined) return false;
  const before = state.ledger;
  const { enis } = published.spec;
  for (const ip of forgettable(state.ledger, { enis, generation }))
    commit(state, { type: 'Forgotten', at: now, ip });
  const rested = [...state.ledger.cooling].filter(([, at]) => now - at >= COOLDOWN_MS).map(([ip]) => ip);
  if (rested.length > 0) commit(state, { type: 'Rested', at: now, addresses: rested });
  for (const ip of answerWithdrawals(state.ledger, enis))
    commit(state, { type: 'Withdrawn', at: now, ip, generation });
  for (const pod of state.pods) startPod(state, pod);
  const { allocations, cooling, withdrawn } = state.ledger;
  const status: NodeNetworkStatus = {
    ...emptyStatus,
    observedGeneration: generation,
    used: [...allocations.values()].flatMap(({ addresses, pod }) => addresses.map((ip) => ({ ip, pod }))),
    cooling: [...cooling.keys()],
    withdrawn: [...withdrawn.keys()],
  };
  state.published = { ...published, status };
  return state.ledger !== before || !sameData(published.status, status);
}

function startPod(state: State, pod: PodKey): void {
  const { ledger, now, ec2, releasedAt } = state;
  const enis = present(state.published).spec.enis;
  const container = containerOf(pod);
  const routed = new Set(enis.flatMap((eni) => eni.addresses));
  const result = allocate({ ledger, enis, routed, families: ['IPv4'], sandbox: sandbox(container) });
  if (!result.ok || result.value.kind !== 'New') return;
  const [ip] = result.value.addresses;
  assert.ok(ip !== undefined);
  assert.ok(
    ec2.enis.some((eni) => eni.attachment !== undefined && addressesOf(eni).includes(ip)),
    `IP-2: ${ip} is not on an attached ENI`,
  );
  const restedMs = now - (releasedAt.get(ip) ?? Number.NEGATIVE_INFINITY);
  assert.ok(restedMs >= COOLDOWN_MS, `IP-5: ${ip} still rests`);
  commit(state, { type: 'Allocated', at: now, allocation: { ...allocation(container, ip), pod } });
}

/** Rounds without anything to do, a cooldown apart, after which nothing is to be expected any more. */
const QUIET_ROUNDS = 3;

function settle(state: State): void {
  let quiet = 0;
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const isBusy = controllerRound(state);
    quiet = agentRound(state) || isBusy ? 0 : quiet + 1;
    if (quiet > QUIET_ROUNDS) return;
    if (quiet > 0) state.now += COOLDOWN_MS;
  }
  assert.fail('LV-2: controller and agent do not come to rest');
}
