// Follows this node's pods as the API server has them: what people wrote on a pod decides what it may do.

import { imdsAnnotationFault } from '../domain/datapath/imds-permission.ts';
import type { PodKey } from '../domain/ids.ts';
import type { PodRecord, Subscription, WatchEvent } from '../ports/cluster.ts';
import type { AgentContext } from './agent-context.ts';

/**
 * Keeps `shared.pods` up to date, and tells people of annotations that cannot be read. While the API server is away
 * the last that it said stands; before it has said anything, nothing is known of any pod.
 */
export function followPods(context: AgentContext, onChange: () => void): Subscription {
  const { cluster, shared, nodeName } = context;
  /** pod -> uid and fault that its Event has told: one Event for each. Holds only pods of this node. */
  const told = new Map<PodKey, string>();
  return cluster.watch({
    kind: 'Pod',
    scope: { nodeName },
    onEvent: (event) => {
      shared.pods = podsAfter(shared.pods, event);
      shared.podsHeard = true;
      for (const key of told.keys()) if (!shared.pods.has(key)) told.delete(key);
      const changed = event.type === 'Snapshot' ? event.objects : [event.object];
      for (const pod of changed) if (shared.pods.has(pod.key)) tellFault(context, pod, told);
      onChange();
    },
  });
}

function podsAfter(
  pods: ReadonlyMap<PodKey, PodRecord>,
  event: WatchEvent<PodRecord>,
): ReadonlyMap<PodKey, PodRecord> {
  if (event.type === 'Snapshot') return new Map(event.objects.map((pod) => [pod.key, pod]));
  const next = new Map(pods);
  if (event.type === 'Applied') next.set(event.object.key, event.object);
  else next.delete(event.object.key);
  return next;
}

function tellFault({ cluster }: AgentContext, pod: PodRecord, told: Map<PodKey, string>): void {
  const fault = imdsAnnotationFault(pod);
  if (fault === undefined) {
    told.delete(pod.key);
    return;
  }
  const text = `${pod.uid} ${fault}`;
  if (told.get(pod.key) === text) return;
  told.set(pod.key, text);
  cluster.emit({
    about: { kind: 'Pod', name: pod.name, namespace: pod.namespace },
    type: 'Warning',
    reason: 'AnnotationInvalid',
    message: fault,
  });
}
