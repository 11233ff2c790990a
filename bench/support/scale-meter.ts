// What is measured of the large cluster, at the ports of controller and agents.

import type { PodKey } from '../../src/domain/ids.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { ControllerCluster } from '../../src/ports/cluster.ts';
import { type BacklogMeter, createBacklogMeter, type Waits } from './backlog-meter.ts';

/** Who wrote what of NodeNetworks. */
export const WRITES = ['objects made', 'specs', 'conditions of the controller', 'status of agents'] as const;
export type Write = (typeof WRITES)[number];

export interface MeterCounts {
  /** Of the controller: one decision for one node each. */
  readonly decisions: number;
  readonly podsStarted: number;
  readonly writes: Readonly<Record<Write, number>>;
  readonly bytes: number;
  /** Of the controller's own turns, milliseconds of the machine. */
  readonly controllerMs: number;
}

export interface Meter {
  counts(): MeterCounts;
  podBound(pod: PodKey): void;
  podStarted(pod: PodKey): void;
  /** Sorted milliseconds from a pod's binding to the answer of the ADD that gave it its address. */
  startTimes(): Float64Array;
  waits(): Waits;
  /** Forgets `startTimes` and `waits`. */
  resetWaits(): void;
  /** For the controller, and for the clients that answer it. */
  clock(clock: Clock): Clock;
  readonly rounds: BacklogMeter['rounds'];
  /** The event of the kernel that ran last is over, and all that followed from it at once. */
  turnEnded(): void;
  ofController(client: ControllerCluster): ControllerCluster;
  ofAgent(client: ControllerCluster): ControllerCluster;
}

export function createMeter(now: () => number): Meter {
  const writes: Record<Write, number> = {
    'objects made': 0,
    specs: 0,
    'conditions of the controller': 0,
    'status of agents': 0,
  };
  const backlog = createBacklogMeter(now);
  const starts = createStarts(now);
  let bytes = 0;
  const note = (write: Write, object: unknown): void => {
    writes[write] += 1;
    backlog.leaveOut(() => {
      bytes += JSON.stringify(object).length;
    });
  };
  return {
    counts: () => ({
      decisions: backlog.decisionCount(),
      podsStarted: starts.count(),
      writes: { ...writes },
      bytes,
      controllerMs: backlog.busyMs(),
    }),
    podBound: starts.bound,
    podStarted: starts.started,
    startTimes: starts.times,
    waits: () => backlog.waits(),
    resetWaits: () => {
      starts.reset();
      backlog.reset();
    },
    clock: (clock) => backlog.clock(clock),
    rounds: backlog.rounds,
    turnEnded: () => backlog.turnEnded(),
    ofController: (client) => ({
      ...client,
      createNodeNetwork: (name, owner, spec) => {
        note('objects made', spec);
        return client.createNodeNetwork(name, owner, spec);
      },
      updateNodeNetworkSpec: (record) => {
        note('specs', record.spec);
        return client.updateNodeNetworkSpec(record);
      },
      updateNodeNetworkStatus: (record) => {
        note('conditions of the controller', record.status);
        return client.updateNodeNetworkStatus(record);
      },
      watch: (request) =>
        client.watch({
          ...request,
          onEvent: (event) => {
            // Noted first: the decision may fall before the handler returns.
            if (request.kind === 'Pod' && event.type === 'Applied' && 'nodeName' in event.object)
              backlog.arrived(event.object.nodeName);
            request.onEvent(event);
          },
        }),
    }),
    ofAgent: (client) => ({
      ...client,
      updateNodeNetworkStatus: (record) => {
        note('status of agents', record.status);
        return client.updateNodeNetworkStatus(record);
      },
    }),
  };
}

interface Starts {
  bound(pod: PodKey): void;
  started(pod: PodKey): void;
  /** Since the beginning. */
  count(): number;
  times(): Float64Array;
  reset(): void;
}

function createStarts(now: () => number): Starts {
  const boundAt = new Map<PodKey, number>();
  let times: number[] = [];
  let count = 0;
  return {
    bound: (pod) => {
      boundAt.set(pod, now());
    },
    started: (pod) => {
      count += 1;
      times.push(now() - (boundAt.get(pod) ?? Number.NaN));
      boundAt.delete(pod);
    },
    count: () => count,
    times: () => Float64Array.from(times).sort(),
    reset: () => {
      times = [];
    },
  };
}
