// The agent's own executable, as a DaemonSet runs it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { copyFileSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { SecureApi } from './secure-api.ts';
import type { TestNode } from './node.ts';
import { PLUGIN, TOP } from './skip.ts';

const PLUGINS = '/usr/lib/cni';

export interface Executable {
  readonly pluginDirectory: string;
  readonly configDirectory: string;
  readonly introspection: string;
  readonly metrics: string;
  /** Starts the daemon; it need not serve yet. */
  start(env?: Readonly<Record<string, string>>): Daemon;
  /** Runs a command of it to its end. */
  run(...args: readonly string[]): Promise<Ended>;
  log(): string;
}

export interface Daemon {
  readonly pid: number;
  /** SIGTERM, and its exit code. */
  stop(): Promise<number | null>;
  kill(): Promise<void>;
}

export interface Ended {
  readonly exitCode: number | null;
  readonly out: string;
}

/** How it is started: a program and its first arguments. */
export type Start = readonly [string, ...string[]];

export const FROM_SOURCES: Start = [process.execPath, `${TOP}src/bin/eniwhere-agent.ts`];
/** As in the image; `npm run build:agent` must have been run. */
export const AS_SHIPPED: Start = [`${TOP}src/bin/eniwhere-agent.sh`];

/** `ports` for introspection and metrics. */
export function prepareExecutable(
  node: TestNode,
  api: SecureApi,
  ports: readonly [number, number],
  [program, ...first]: Start = FROM_SOURCES,
): Executable {
  const at = (name: string): string => join(node.directory, name);
  const [pluginDirectory, configDirectory, logPath] = [at('opt-bin'), at('net.d'), at('executable.log')];
  for (const directory of [pluginDirectory, configDirectory]) mkdirSync(directory);
  copyFileSync(join(PLUGINS, 'portmap'), join(pluginDirectory, 'portmap'));
  const env = {
    PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
    MY_NODE_NAME: 'n0',
    CLUSTER_ENDPOINT: api.endpoint,
    ENIWHERE_SERVICE_ACCOUNT_DIRECTORY: api.accountDirectory,
    ENIWHERE_AGENT_SOCKET: node.socketPath,
    ENIWHERE_JOURNAL: node.journalPath,
    ENIWHERE_NETNS: node.host.path,
    ENIWHERE_PLUGIN_SOURCE: PLUGIN,
    ENIWHERE_ADD_WAIT_SECONDS: '2',
    HOST_CNI_BIN_PATH: pluginDirectory,
    HOST_CNI_CONFDIR_PATH: configDirectory,
    INTROSPECTION_BIND_ADDRESS: `127.0.0.1:${ports[0]}`,
    ENIWHERE_METRICS_BIND_ADDRESS: `127.0.0.1:${ports[1]}`,
  };
  const spawnWith = (args: readonly string[], more: Readonly<Record<string, string>>, out: 'pipe' | number) =>
    spawn(program, [...first, ...args], {
      env: { ...env, ...more },
      stdio: ['ignore', out, out],
    });
  return {
    pluginDirectory,
    configDirectory,
    introspection: `http://127.0.0.1:${ports[0]}`,
    metrics: `http://127.0.0.1:${ports[1]}/metrics`,
    start: (more = {}) => {
      const log = openSync(logPath, 'a');
      const child = spawnWith([], more, log);
      closeSync(log);
      const ended = once(child, 'exit') as Promise<[number | null]>;
      const end = async (signal: NodeJS.Signals): Promise<number | null> => {
        child.kill(signal);
        const [exitCode] = await ended;
        return exitCode;
      };
      return {
        pid: child.pid ?? 0,
        stop: () => end('SIGTERM'),
        kill: async () => void (await end('SIGKILL')),
      };
    },
    run: async (...args) => {
      const child = spawnWith(args, {}, 'pipe');
      let out = '';
      for (const stream of [child.stdout, child.stderr])
        stream?.setEncoding('utf8').on('data', (text: string) => {
          out += text;
        });
      const [exitCode] = (await once(child, 'close')) as [number | null];
      return { exitCode, out };
    },
    log: () => readFileSync(logPath, 'utf8'),
  };
}
