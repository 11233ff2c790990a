// Tells people: the controller's conditions on the NodeNetwork, and Events on the node and on waiting pods.

import type { NodeName } from '../domain/ids.ts';
import {
  type Condition,
  CONDITION_OWNERS,
  type ConditionType,
  type NodeNetworkStatus,
} from '../domain/ipam/node-network.ts';
import type { Action } from '../domain/ipam/action.ts';
import type { Obstacle, OwnCondition } from '../domain/ipam/node-view.ts';
import type { Plan } from '../domain/ipam/plan.ts';
import type { EventWriter } from '../ports/cluster.ts';
import type { NodeMemory } from './node-memory.ts';
import type { ReadTrouble } from './read-trouble.ts';

/** Waiting pods that get an Event of their own in one reconcile; the node's Event speaks for the rest. */
const POD_EVENTS_MAX = 20;

/** One of these that is not said any more, such as after a change of the mode, goes. */
const OWN_TYPES: readonly ConditionType[] = (Object.keys(CONDITION_OWNERS) as ConditionType[]).filter(
  (type) => CONDITION_OWNERS[type] === 'controller',
);

/**
 * The status with the controller's own conditions in it, or `undefined` when it says that already. Others' conditions
 * stay as they are; the time moves only when the status of a condition changes.
 */
export function withOwnConditions(
  status: NodeNetworkStatus,
  own: readonly OwnCondition[],
  now: number,
): NodeNetworkStatus | undefined {
  const before = new Map(status.conditions.map((one) => [one.type, one]));
  const wanted = new Set<ConditionType>(own.map((one) => one.type));
  const isSame =
    !OWN_TYPES.some((type) => before.has(type) && !wanted.has(type)) &&
    own.every((one) => {
      const old = before.get(one.type);
      return (
        old !== undefined &&
        old.status === one.status &&
        old.reason === one.reason &&
        old.message === one.message
      );
    });
  if (isSame) return undefined;
  const mine = own.map((one): Condition => {
    const old = before.get(one.type);
    const lastTransitionAt = old?.status === one.status ? old.lastTransitionAt : now;
    return { ...one, lastTransitionAt };
  });
  const types = new Set<ConditionType>([...OWN_TYPES, ...own.map((one) => one.type)]);
  return { ...status, conditions: [...status.conditions.filter((one) => !types.has(one.type)), ...mine] };
}

/** A node that cannot be decided because EC2 refuses to answer has no NodeNetwork to say it on: it gets an Event. */
export function tellTrouble(
  events: EventWriter,
  name: NodeName,
  memory: NodeMemory,
  { code, message, fix }: ReadTrouble,
): void {
  const text = `the node's network cannot be decided: ${message}; ${fix}`;
  if (memory.nodeEvent === text) return;
  memory.nodeEvent = text;
  events.emit({ about: { kind: 'Node', name }, type: 'Warning', reason: code, message: text });
}

/** Emits what has changed since the last report, and remembers it. `trouble` is what EC2 refuses to tell, if anything. */
export function emitEvents(
  events: EventWriter,
  name: NodeName,
  { plan, trouble }: { readonly plan: Plan; readonly trouble: ReadTrouble | undefined },
  memory: NodeMemory,
): void {
  const wrong = plan.conditions.find((one) => one.status === 'False');
  if (wrong?.reason === 'EniConfigUnresolved') {
    // At every start EC2 has not answered yet for a moment: that is a condition, but no news for anybody.
    if (trouble !== undefined) tellTrouble(events, name, memory, trouble);
    return;
  }
  if (wrong === undefined) {
    if (memory.nodeEvent !== undefined) {
      const selected = plan.conditions.find((one) => one.type === 'EniConfigSelected');
      const message = `the node's network is in order again: ${selected?.message ?? ''}`;
      events.emit({ about: { kind: 'Node', name }, type: 'Normal', reason: 'NetworkRecovered', message });
    }
    delete memory.nodeEvent;
  } else if (memory.nodeEvent !== wrong.message) {
    memory.nodeEvent = wrong.message;
    events.emit({
      about: { kind: 'Node', name },
      type: 'Warning',
      reason: wrong.reason,
      message: wrong.message,
    });
  }
  emitPodEvents(events, name, plan, memory);
}

function emitPodEvents(events: EventWriter, name: NodeName, plan: Plan, memory: NodeMemory): void {
  const waiting = new Map(
    plan.stuck.flatMap(({ pods, blocked }) => pods.map((pod) => [pod, blocked] as const)),
  );
  for (const pod of memory.podEvents.keys()) if (!waiting.has(pod)) memory.podEvents.delete(pod);
  for (const [pod, blocked] of [...waiting].slice(0, POD_EVENTS_MAX)) {
    if (memory.podEvents.get(pod) === blocked.message) continue;
    memory.podEvents.set(pod, blocked.message);
    const [namespace = '', podName = ''] = pod.split('/');
    events.emit({
      about: { kind: 'Pod', namespace, name: podName },
      type: 'Warning',
      reason: blocked.reason,
      message: `waits for an address on node ${name}: ${blocked.message}`,
    });
  }
}

/** Security groups are somebody's protection: that they changed is an Event on the node. */
export function tellGroups(events: EventWriter, name: NodeName, action: Action): void {
  if (action.do !== 'SetSecurityGroups') return;
  const about = { kind: 'Node', name } as const;
  const message = `${action.eniId} now has security groups ${action.securityGroupIds.join(', ')}: ${action.because}`;
  events.emit({ about, type: 'Normal', reason: 'SecurityGroupsChanged', message });
}

/** What keeps a node from growing stands in its condition, which has an Event of its own; everything else gets one here. */
export function tellRefusal(events: EventWriter, name: NodeName, { of, code, message, fix }: Obstacle): void {
  if (of === 'Growth') return;
  const about = { kind: 'Node', name } as const;
  events.emit({ about, type: 'Warning', reason: code, message: `${message}; ${fix}` });
}
