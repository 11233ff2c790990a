// Follows this node's NodeNetwork object as the API server has it.

import type { NodeNetworkRecord, Subscription, WatchEvent } from '../ports/cluster.ts';
import type { AgentContext } from './agent-context.ts';

/** Keeps `shared.record` and `shared.heard` up to date. */
export function followNodeNetwork(context: AgentContext, onChange: () => void): Subscription {
  return context.cluster.watch({
    kind: 'NodeNetwork',
    scope: { name: context.nodeName },
    onEvent: (event) => {
      const { heard, record: before } = context.shared;
      onNodeNetwork(context, event);
      // The echo of our own write, or an event that comes twice: whoever took the record in has told of it.
      if (!heard || !isSameVersion(before, context.shared.record)) onChange();
    },
  });
}

function onNodeNetwork({ shared, nodeName }: AgentContext, event: WatchEvent<NodeNetworkRecord>): void {
  shared.heard = true;
  switch (event.type) {
    case 'Snapshot':
      shared.record = event.objects.find(({ name }) => name === nodeName);
      return;
    case 'Applied':
      if (event.object.name === nodeName) shared.record = event.object;
      return;
    case 'Deleted':
      if (event.object.name === nodeName) shared.record = undefined;
      return;
  }
}

const isSameVersion = (a: NodeNetworkRecord | undefined, b: NodeNetworkRecord | undefined): boolean =>
  a !== undefined && a.uid === b?.uid && a.resourceVersion === b.resourceVersion;
