// What the agent answers on its local ports: introspection, health and readiness.

import { introspection } from './introspection.ts';
import type { AgentSnapshot } from './agent-snapshot.ts';

export interface RouteAnswer {
  readonly status: number;
  readonly body: string;
}

export type Routes = ReadonlyMap<string, () => RouteAnswer>;

export interface RouteSources {
  readonly describe: () => AgentSnapshot;
  /** Why the runtime does not use the agent; undefined when it does. */
  readonly notInstalled: () => string | undefined;
}

const json = (status: number, value: unknown): RouteAnswer => ({
  status,
  body: `${JSON.stringify(value, undefined, 2)}\n`,
});

/**
 * `/healthz` says that the process answers, and no more: nothing that it waits for gets better by a restart. `/readyz`
 * is for people and rollouts: whether pods can be served here.
 */
export function agentRoutes({ describe, notInstalled }: RouteSources): Routes {
  const views = [...introspection].map(([path, view]): [string, () => RouteAnswer] => [
    path,
    () => {
      const answer = view(describe());
      return answer === undefined ? json(404, { message: `this node has none` }) : json(200, answer);
    },
  ]);
  return new Map([
    ...views,
    ['/healthz', () => json(200, 'ok')],
    [
      '/readyz',
      () => {
        const why = describe().notServing ?? notInstalled();
        return why === undefined ? json(200, 'ok') : json(503, why);
      },
    ],
  ]);
}
