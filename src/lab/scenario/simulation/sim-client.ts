// Clients of the simulated APIs as a process that may die holds them.

import type { ControllerCluster, Subscription } from '../../../ports/cluster.ts';

export interface MortalClient {
  readonly client: ControllerCluster;
  /** The process is dead: its connections break, so that nobody goes on counting its watches. */
  end(): void;
}

export function mortalClient(client: ControllerCluster): MortalClient {
  const watches = new Set<Subscription>();
  return {
    client: {
      ...client,
      watch: (request) => {
        const watch = client.watch(request);
        watches.add(watch);
        return {
          close: () => {
            watches.delete(watch);
            watch.close();
          },
        };
      },
    },
    end: () => {
      for (const watch of watches) watch.close();
      watches.clear();
    },
  };
}

/** The same port, with `before` called ahead of every call of one of the methods. */
export function overheard<Port extends object>(
  port: Port,
  methods: readonly (keyof Port)[],
  before: () => void,
): Port {
  const copy: Port = { ...port };
  for (const name of methods) {
    const method = port[name];
    if (typeof method !== 'function') continue;
    const heard = (...values: readonly unknown[]): unknown => {
      before();
      return Reflect.apply(method, port, values) as unknown;
    };
    copy[name] = heard as Port[typeof name];
  }
  return copy;
}
