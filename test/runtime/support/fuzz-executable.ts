// Fuzzes the compiled plugin against its own source: with the same input and the same agent, both send and print the same.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { PLUGIN } from './skip.ts';
import { type CniOutput, runCni, type SendOutcome } from '../../../src/cni/run-cni.ts';
import { seededRandom } from '../../../src/lab/kernel/seeded-random.ts';
import {
  createTally,
  drawAnswer,
  drawConfiguration,
  drawEnvironment,
  endOf,
  type FuzzReport,
  HANG_MS,
} from './fuzz-plugin.ts';
import { hostileJson } from './fuzz-grammar.ts';

/** An agent that reads one request to its end and gives the answer that is set. */
interface Puppet {
  readonly path: string;
  answer: string;
  /** The body of the last request; undefined when there was none. */
  received: string | undefined;
  close(): void;
}

async function startPuppet(directory: string): Promise<Puppet> {
  const sockets = new Set<Socket>();
  const puppet: Puppet = {
    path: join(directory, 'puppet.sock'),
    answer: '',
    received: undefined,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    let request = Buffer.alloc(0);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      request = Buffer.concat([request, chunk]);
      const bodyAt = request.indexOf('\r\n\r\n') + 4;
      const length = Number(/content-length: (\d+)/.exec(request.toString('latin1'))?.[1]);
      if (bodyAt < 4 || request.length < bodyAt + length) return;
      puppet.received = request.toString('utf8', bodyAt);
      socket.end(puppet.answer);
    });
  });
  server.listen(puppet.path);
  await once(server, 'listening');
  return puppet;
}

/** Text as it is after a way through bytes; an environment holds no zero. */
const throughBytes = (text: string): string =>
  Buffer.from(text, 'utf8').toString('utf8').replaceAll('\0', '');

async function runExecutable(
  env: Readonly<Record<string, string>>,
  stdin: string,
): Promise<CniOutput & { readonly tookMs: number }> {
  const begun = performance.now();
  const child = spawn(PLUGIN, [], { env, stdio: ['pipe', 'pipe', 'pipe'], timeout: 2 * HANG_MS });
  const printed = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (printed.stderr += text));
  child.stdin.end(stdin);
  await once(child, 'close');
  // A code of null is a signal's: equal to nothing that the source answers.
  const exitCode = child.exitCode === 0 ? 0 : child.exitCode === 1 ? 1 : (-1 as 0);
  return { ...printed, exitCode, tookMs: performance.now() - begun };
}

/** Runs inputs number `first` and following, one process each. */
export async function fuzzExecutable(directory: string, first: number, count: number): Promise<FuzzReport> {
  const tally = createTally();
  const faults = [];
  const puppet = await startPuppet(directory);
  try {
    for (let seed = first; seed < first + count; seed += 1) {
      const what = await compareOnce(puppet, seed, (end) => tally.add(end));
      if (what !== undefined) faults.push({ seed, what });
    }
  } finally {
    puppet.close();
  }
  return { faults, ends: tally.counts() };
}

async function compareOnce(
  puppet: Puppet,
  seed: number,
  end: (name: string) => void,
): Promise<string | undefined> {
  const random = seededRandom(seed);
  const env = Object.fromEntries(
    Object.entries(drawEnvironment(random)).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, throughBytes(value)]],
    ),
  );
  const stdin = Buffer.from(
    hostileJson(random, { ...drawConfiguration(random), agentSocket: puppet.path }),
    'utf8',
  ).toString('utf8');
  const outcome = onTheWire(drawAnswer(random));
  puppet.answer = outcome.kind === 'Answered' ? `HTTP/1.0 ${outcome.status} x\r\n\r\n${outcome.body}` : '';
  puppet.received = undefined;
  let sent: string | undefined;
  let isElsewhere = false;
  const send = (request: { readonly body: string; readonly socketPath: string }): Promise<SendOutcome> => {
    isElsewhere = request.socketPath !== puppet.path;
    if (!isElsewhere) sent = request.body;
    return Promise.resolve(isElsewhere ? { kind: 'Unreachable', cause: 'it is elsewhere' } : outcome);
  };
  const source = await runCni({ env, stdin, send });
  const { tookMs, ...printed } = await runExecutable(env, stdin);
  end(endOf(source, sent));
  // Whoever answers, or does not, at another path is not known here.
  if (isElsewhere)
    return printed.exitCode === source.exitCode ? undefined : `it ended with ${printed.exitCode}`;
  if (tookMs > HANG_MS) return `it took ${tookMs} ms`;
  const expected = { stdout: source.stdout, stderr: source.stderr ?? '', exitCode: source.exitCode };
  const [ours, theirs] = [
    { ...expected, sent },
    { ...printed, sent: puppet.received },
  ].map((one) => Buffer.from(JSON.stringify(one)).toString('utf8'));
  return ours === theirs ? undefined : `the source: ${ours}\nthe executable: ${theirs}\nstdin ${stdin}`;
}

/** What of a drawn outcome an agent can bring about by its answer. */
function onTheWire(outcome: SendOutcome): SendOutcome {
  const closed = 'the connection was closed before an answer came';
  if (outcome.kind !== 'Answered' || outcome.status < 100) return { kind: 'NoAnswer', cause: closed };
  return { ...outcome, body: Buffer.from(outcome.body, 'utf8').toString('utf8') };
}
