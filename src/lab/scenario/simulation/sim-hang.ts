// A process' connections to the API server that hang for minutes: no error, no answer, no event.

import type { Clock } from '../../../ports/clock.ts';
import type { ControllerCluster, Kind, KindMap, WatchEvent } from '../../../ports/cluster.ts';
import { unknown } from '../../../ports/outcome.ts';
import type { Random } from '../../../ports/random.ts';
import { drawBetween } from '../../kernel/draw.ts';

export interface SimHang {
  /** The client over these connections. */
  cluster(client: ControllerCluster): ControllerCluster;
  /** Another port over them, all of whose methods are calls. */
  calls<Port extends object>(port: Port): Port;
  /** For a while, unless they hang already. */
  begin(): void;
  /** What has been waiting comes, and calls are answered again. */
  end(): void;
}

export interface HangDeps {
  /** Of the process. */
  readonly clock: Clock;
  readonly world: Clock;
  readonly random: Random;
  /** After which a client gives up waiting for an answer. */
  readonly timeoutMs: () => number;
  readonly tell: (text: string) => void;
}

export const HANG_MS = { min: 5_000, max: 240_000 };

type Call = (...values: readonly unknown[]) => Promise<unknown>;

export function createHang({ clock, world, random, timeoutMs, tell }: HangDeps): SimHang {
  let current: symbol | undefined;
  const waiting: (() => void)[] = [];
  const isHanging = (): boolean => current !== undefined;
  /** What is sent while they hang never arrives; what was under way gets no answer. */
  const hung = (call: Call): Call => {
    return async (...values) => {
      const sentAt = clock.bootNow();
      const answer = isHanging() ? undefined : await call(...values);
      if (answer !== undefined && !isHanging()) return answer;
      const restMs = Math.max(0, timeoutMs() - (clock.bootNow() - sentAt));
      await clock.sleep(restMs, 'connection hangs');
      return unknown(`the API server did not answer within ${timeoutMs()} ms`);
    };
  };
  const calls = <Port extends object>(port: Port, others: readonly string[] = []): Port => {
    const entries = Object.entries(port).map(([name, method]) => [
      name,
      others.includes(name) ? method : hung(method as Call),
    ]);
    return Object.fromEntries(entries) as Port;
  };
  const end = (): void => {
    if (current === undefined) return;
    current = undefined;
    tell('goes on');
    // In the process' own time: it may be stopped, or dead.
    clock.timer(0, 'connection goes on', () => {
      if (isHanging()) return;
      for (const deliver of waiting.splice(0)) deliver();
    });
  };
  return {
    cluster: (client) => ({
      ...calls(client, ['watch', 'emit']),
      watch: waitingWatch(client, waiting, isHanging),
      emit: (event) => {
        if (!isHanging()) client.emit(event);
      },
    }),
    calls,
    begin: () => {
      if (current !== undefined) return;
      const hang = Symbol('hang');
      current = hang;
      const ms = drawBetween(random, HANG_MS);
      tell(`hangs for ${ms} ms`);
      world.timer(ms, 'connection goes on', () => {
        if (current === hang) end();
      });
    },
    end,
  };
}

/** Events of watches wait while the connections hang, in the order in which they came. */
function waitingWatch(
  client: ControllerCluster,
  waiting: (() => void)[],
  isHanging: () => boolean,
): ControllerCluster['watch'] {
  return <K extends Kind>(request: Parameters<typeof client.watch<K>>[0]) => {
    let isClosed = false;
    const deliver = (event: WatchEvent<KindMap[K]>): void => {
      if (!isClosed) request.onEvent(event);
    };
    const onEvent = (event: WatchEvent<KindMap[K]>): void => {
      if (isHanging() || waiting.length > 0) waiting.push(() => deliver(event));
      else deliver(event);
    };
    const watching = client.watch({ ...request, onEvent });
    return {
      close: () => {
        isClosed = true;
        watching.close();
      },
    };
  };
}
