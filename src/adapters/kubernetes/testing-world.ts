// A cluster over the test API server: what the tests of this folder start from.

import type { Clock } from '../../ports/clock.ts';
import type { AgentCluster } from '../../ports/cluster.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type { FieldManager } from './apply.ts';
import type { KubernetesConnection } from './connection.ts';
import {
  createKubernetesCluster,
  type KubernetesCluster,
  type KubernetesTimings,
} from './create-kubernetes-cluster.ts';
import { startTestApiServer, type TestApiServer } from './testing-api-server.ts';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Real sockets need real time; what waits here waits a `speed`th of it. */
export const fastClock = (speed: number): Clock => ({
  now: () => Date.now() * speed,
  bootNow: () => performance.now() * speed,
  timer: (ms, _label, run) => {
    const timeout = setTimeout(run, ms / speed);
    return { cancel: () => clearTimeout(timeout) };
  },
  sleep: (ms) => new Promise((resolve) => void setTimeout(resolve, ms / speed)),
});

/** A small multiplicative generator: enough for jitter. */
export function testRandom(seed = 1): Random {
  let state = seed;
  return {
    uint32: () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state;
    },
  };
}

export function recordingLog(lines: LogLine[]): Log {
  const write =
    (level: LogLine['level']): Log['info'] =>
    (message, fields = {}) =>
      void lines.push({ level, message, fields });
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    mark: () => undefined,
  };
}

export const openConnection = (server: string): KubernetesConnection => ({
  server,
  insecureSkipTlsVerify: false,
  credentials: async () => ({}),
  refused: () => undefined,
});

export interface World extends KubernetesCluster {
  readonly agent: AgentCluster;
  readonly api: TestApiServer;
  readonly clock: Clock;
  readonly log: readonly LogLine[];
}

export interface WorldOptions {
  readonly timings?: Partial<KubernetesTimings>;
  readonly connection?: (url: string) => KubernetesConnection;
}

/** Faster than life, with time-outs that a busy machine does not reach. Ends with the test. */
export async function createWorld(
  after: (end: () => Promise<void>) => void,
  { timings = {}, connection = openConnection }: WorldOptions = {},
): Promise<World> {
  const api = await startTestApiServer();
  const clock = fastClock(20);
  const lines: LogLine[] = [];
  const clientOf = (fieldManager: FieldManager): KubernetesCluster =>
    createKubernetesCluster({
      connection: connection(api.url),
      clock,
      random: testRandom(),
      log: recordingLog(lines),
      fieldManager,
      reportingInstance: 'test',
      version: '0.0.0',
      timings: { requestTimeoutMs: 200_000, listTimeoutMs: 200_000, watchSilenceMs: 400_000, ...timings },
    });
  const [client, agent] = [clientOf('eniwhere-controller'), clientOf('eniwhere-agent')];
  after(async () => {
    client.close();
    agent.close();
    await api.close();
  });
  return { ...client, agent: agent.cluster, api, clock, log: lines };
}
