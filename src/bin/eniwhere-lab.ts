// Opens a lab on this machine: in namespaces here, in a child under a user namespace, or in memory.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createLinuxStacks } from '../adapters/linux/linux-stacks.ts';
import { createNamespaceSockets } from '../adapters/linux/namespace-sockets.ts';
import { serveAgentSocket } from '../adapters/system/agent-socket.ts';
import { systemClock } from '../adapters/system/clock.ts';
import { createFileJournal } from '../adapters/system/file-journal.ts';
import { createLog } from '../adapters/system/log.ts';
import { systemRandom } from '../adapters/system/random.ts';
import { ok } from '../domain/result.ts';
import type { LabAnswer, LabHandBook, LabRequest } from '../cli/context.ts';
import { canMakeNamespaces } from '../lab/fabric/can-make-namespaces.ts';
import type { LabEc2 } from '../lab/ec2/lab-ec2.ts';
import {
  bringUpLoopback,
  listNamespaces,
  prepareNetnsDirectory,
  removeNamespaces,
} from '../lab/fabric/namespaces.ts';
import { openFabricLab, openMemoryLab, openMemoryLabInRealTime } from '../lab/scenario/open-lab.ts';
import type { Log } from '../ports/log.ts';
import { startLabEc2Process } from './lab-ec2.ts';
import type { PluginEnd, PluginRun } from '../lab/scenario/plugin-runtime.ts';

export interface CommandLine {
  /** The program's path and its arguments, as this process was started with. */
  readonly program: readonly string[];
  readonly whenInterrupted: Promise<void>;
  readonly version: string;
}

const PLUGIN = join(fileURLToPath(new URL('../..', import.meta.url)), 'build/eniwhere-cni');

/** Set for the child under unshare, which must not look for another. */
const CHILD_VARIABLE = 'ENIWHERE_LAB_CHILD';
const MEMORY_SEED = 1;
const REAL = { clock: systemClock, random: systemRandom };
/** Namespaces and directories of labs have the process id in their names. */
const NAMESPACE_OF_LAB = /^lab([0-9]+)-/;
const DIRECTORY_OF_LAB = /^eniwhere-lab-([0-9]+)-/;

export async function openLabHere(request: LabRequest, commandLine: CommandLine): Promise<LabAnswer> {
  if (request.network === 'memory') return openInMemory(request, commandLine, 'as asked');
  const means = await canMakeNamespaces();
  const isChild = process.env[CHILD_VARIABLE] !== undefined;
  if (means.kind === 'UnderUnshare' && !isChild) return runInChild(means.argv, commandLine);
  if (means.kind === 'Here') return openInNamespaces(request, commandLine, isChild);
  const why = means.kind === 'Nowhere' ? means.failure.message : 'unshare gave no right to make namespaces';
  if (request.network === 'auto') return openInMemory(request, commandLine, why);
  return { kind: 'Impossible', message: `no network namespaces: ${why}` };
}

async function openInMemory(request: LabRequest, { version }: CommandLine, why: string): Promise<LabAnswer> {
  const logs = logsOf(request);
  if (request.ec2 === 'http') {
    const ec2 = await startLabEc2Process(version);
    // Another process lives in real time, so the lab does, too.
    const open = await openMemoryLabInRealTime(request.scenario, { ...logs, ...REAL, ec2, why });
    return { kind: 'Open', open };
  }
  const drain = (): Promise<void> => setImmediate();
  return {
    kind: 'Open',
    open: await openMemoryLab(request.scenario, { seed: MEMORY_SEED, ...logs, why, drain }),
  };
}

/** Without --verbose the report speaks for controller and agents; a fault of the lab itself is always told. */
function logsOf({ verbose }: LabRequest): { readonly log: Log; readonly labLog: Log } {
  return {
    log: createLog({ level: verbose ? 'debug' : 'silent', fd: 2 }),
    labLog: createLog({ level: verbose ? 'debug' : 'error', fd: 2, fields: { component: 'lab' } }),
  };
}

async function openInNamespaces(
  request: LabRequest,
  { version }: CommandLine,
  isChild: boolean,
): Promise<LabAnswer> {
  if (!existsSync(PLUGIN))
    return { kind: 'Impossible', message: `${PLUGIN} is missing; build it with: npm run build:cni` };
  await removeDeadLabs();
  const directory = await mkdtemp(join(tmpdir(), `eniwhere-lab-${process.pid}-`));
  const stacks = createLinuxStacks();
  const sockets = createNamespaceSockets();
  const agentSocketOf = (node: string): string => join(directory, `${node}.sock`);
  const closeAll = async (): Promise<void> => {
    await sockets.close();
    await stacks.close();
    await rm(directory, { recursive: true, force: true });
  };
  let ec2: LabEc2 | undefined;
  try {
    ec2 = request.ec2 === 'http' ? await remoteEc2(version, isChild) : undefined;
    const open = await openFabricLab(request.scenario, {
      ...REAL,
      ...logsOf(request),
      ...(ec2 === undefined ? {} : { ec2 }),
      prefix: `lab${process.pid}`,
      journalOf: (node) => createFileJournal(join(directory, `${node}.journal`)),
      openStack: (namespace) => stacks.open(namespace),
      sockets,
      agentSocketOf,
      serveAgent: serveAgentSocket,
      runPlugin,
      nodePath: process.execPath,
    });
    const lab = {
      ...open.lab,
      close: async () => {
        await open.lab.close();
        await closeAll();
      },
    };
    return { kind: 'Open', open: { ...open, lab }, handBook: handBook(agentSocketOf, isChild) };
  } catch (error) {
    await closeAll();
    await ec2?.close();
    return { kind: 'Impossible', message: error instanceof Error ? error.message : String(error) };
  }
}

/** In a user namespace of its own the lab also has a network of its own, whose loopback is down at first. */
async function remoteEc2(version: string, isChild: boolean): Promise<LabEc2> {
  const up = isChild ? await bringUpLoopback() : ok(undefined);
  if (!up.ok) throw new Error(up.error.message);
  return startLabEc2Process(version);
}

/** Removes what labs left that were killed. What belongs to another user stays. */
async function removeDeadLabs(): Promise<void> {
  const isDead = (name: string, pattern: RegExp): boolean => {
    const processId = pattern.exec(name)?.[1];
    return processId !== undefined && !existsSync(`/proc/${processId}`);
  };
  const prepared = await prepareNetnsDirectory();
  if (prepared.ok) {
    const names = await listNamespaces();
    await removeNamespaces(names.filter((name) => isDead(name, NAMESPACE_OF_LAB)));
  }
  for (const name of await readdir(tmpdir())) {
    if (!isDead(name, DIRECTORY_OF_LAB)) continue;
    const path = join(tmpdir(), name);
    // Another lab that starts now may be removing it too: then it has no owner any more.
    const owner = await stat(path).then(
      ({ uid }) => uid,
      () => undefined,
    );
    if (owner === process.getuid?.()) await rm(path, { recursive: true, force: true });
  }
}

function handBook(agentSocketOf: (node: string) => string, isChild: boolean): LabHandBook {
  return {
    ...(isChild
      ? { enterFirst: `nsenter --target ${process.pid} --user --preserve-credentials --net --mount` }
      : {}),
    inNamespace: (path) => `ip netns exec ${path.slice(path.lastIndexOf('/') + 1)}`,
    agentSocketOf,
    pluginPath: PLUGIN,
  };
}

function runPlugin({ env, input }: PluginRun): Promise<PluginEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(PLUGIN, [], { env, stdio: ['pipe', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('error', reject);
    child.once('close', (exitCode, signal) => {
      resolve({ exitCode: exitCode ?? 1, stdout, stderr: signal === null ? stderr : `stopped by ${signal}` });
    });
    // A plugin that ends before it has read its input closes the pipe; what it printed tells why.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

/** The same command line again, as root of a user namespace of its own. */
function runInChild(
  prefix: readonly string[],
  { program: again, whenInterrupted }: CommandLine,
): Promise<LabAnswer> {
  const [program = '', ...values] = [...prefix, process.execPath, ...process.execArgv, ...again];
  return new Promise((resolve, reject) => {
    const child = spawn(program, values, {
      stdio: 'inherit',
      env: { ...process.env, [CHILD_VARIABLE]: String(process.pid) },
    });
    // Not SIGINT again: Ctrl-C has reached the child already, and its second one would end it unclean.
    void whenInterrupted.then(() => child.kill('SIGTERM'));
    child.once('error', reject);
    child.once('close', (exitCode) => resolve({ kind: 'RanInChild', exitCode: exitCode ?? 1 }));
  });
}
