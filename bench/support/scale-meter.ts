// What is measured of the large cluster, at the ports of controller and agents.

import { performance } from 'node:perf_hooks';
import type { ControllerCluster } from '../../src/ports/cluster.ts';
import type { Random } from '../../src/ports/random.ts';

export interface MeterCounts {
  /** Of the controller: one decision for one node each. */
  readonly rounds: number;
  readonly podsStarted: number;
  /** Of NodeNetworks, by controller and agents. */
  readonly writes: number;
  readonly bytes: number;
}

export interface Meter {
  counts(): MeterCounts;
  podStarted(): void;
  /** Sorted milliseconds of the machine from a pod's event to the end of the decision that it led to. */
  decisionTimes(): Float64Array;
  resetTimes(): void;
  /** Counts what is written to NodeNetworks. */
  counted(client: ControllerCluster): ControllerCluster;
  /** Times what the controller does in the turn in which an event reaches it. */
  timed(client: ControllerCluster): ControllerCluster;
  /** Counts rounds. */
  drawing(random: Random): Random;
}

/** Words of randomness that the id takes which every round draws. */
const WORDS_PER_ROUND = 4;

export function createMeter(): Meter {
  let words = 0;
  let podsStarted = 0;
  let writes = 0;
  let bytes = 0;
  let times: number[] = [];
  const note = (object: unknown): void => {
    writes += 1;
    bytes += JSON.stringify(object).length;
  };
  return {
    counts: () => ({ rounds: Math.round(words / WORDS_PER_ROUND), podsStarted, writes, bytes }),
    podStarted: () => {
      podsStarted += 1;
    },
    decisionTimes: () => Float64Array.from(times).sort(),
    resetTimes: () => {
      times = [];
    },
    counted: (client) => ({
      ...client,
      createNodeNetwork: (name, owner, spec) => {
        note(spec);
        return client.createNodeNetwork(name, owner, spec);
      },
      updateNodeNetworkSpec: (record) => {
        note(record.spec);
        return client.updateNodeNetworkSpec(record);
      },
      updateNodeNetworkStatus: (record) => {
        note(record.status);
        return client.updateNodeNetworkStatus(record);
      },
    }),
    timed: (client) => ({
      ...client,
      watch: (request) =>
        client.watch({
          ...request,
          onEvent: (event) => {
            const startedAt = performance.now();
            request.onEvent(event);
            if (request.kind === 'Pod' && event.type === 'Applied') times.push(performance.now() - startedAt);
          },
        }),
    }),
    drawing: (random) => ({
      uint32: () => {
        words += 1;
        return random.uint32();
      },
    }),
  };
}
