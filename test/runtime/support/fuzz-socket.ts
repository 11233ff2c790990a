// Fuzzes the agent's socket: what is HTTP and what is not, what is JSON and what is not, and callers that hang up.

import { connect } from 'node:net';
import { join } from 'node:path';
import type { Agent } from '../../../src/agent/start-agent.ts';
import { serveAgentSocket } from '../../../src/adapters/system/agent-socket.ts';
import { podKey } from '../../../src/domain/ids.ts';
import { type SandboxKey, sandboxId } from '../../../src/domain/ipam/ledger.ts';
import { chance, drawBetween, pick } from '../../../src/lab/kernel/draw.ts';
import { type SeededRandom, seededRandom } from '../../../src/lab/kernel/seeded-random.ts';
import type { CniReply, CniRequest } from '../../../src/protocol/agent-socket/cni-message.ts';
import { decodeReply } from '../../../src/protocol/agent-socket/codec.ts';
import {
  drawNetns,
  podOf,
  drawResult,
  drawSandbox,
  hostileJson,
  mutateText,
  nasty,
  netnsPaths,
  or,
} from './fuzz-grammar.ts';
import { createTally, type FuzzFault, type FuzzReport, HANG_MS } from './fuzz-plugin.ts';
import { startMemoryAgent } from './memory-agent.ts';

const ADDRESS_COUNT = 8;
/** Inputs between two looks at whether the agent still answers and holds what it has said it does. */
const LOOK_EVERY = 100;

/**
 * Sends inputs number `first` and following to an agent in memory, whose socket is made in the directory. At the end all
 * that ADD gave is taken down by DEL, and nothing may be left.
 */
export async function fuzzSocket(directory: string, first: number, count: number): Promise<FuzzReport> {
  const { agent, kernel } = await startMemoryAgent(ADDRESS_COUNT, netnsPaths);
  const faults: FuzzFault[] = [];
  const tally = createTally();
  const watched = watchHandler(agent);
  const path = join(directory, 'agent.sock');
  const socket = await serveAgentSocket(path, watched.handle);
  for (let seed = first; seed < first + count; seed += 1) {
    const what = await sendOnce(path, seededRandom(seed), (end) => tally.add(end));
    if (what !== undefined) faults.push({ seed, what });
    // Whom a caller hung up on works on; a runtime asks for one pod at a time.
    await watched.settled();
    if (seed % LOOK_EVERY !== 0) continue;
    const wrong = await lookAt(path, agent, watched);
    if (wrong !== undefined) faults.push({ seed, what: wrong });
  }
  await watched.settled();
  const left = await takeAllDown(agent);
  if (left !== undefined) faults.push({ seed: first + count, what: left });
  const links = [...kernel.namespaces.values()].filter((one) => one.links.length > 0).length;
  if (links > 0) faults.push({ seed: first + count, what: `${links} namespaces have a link still` });
  await socket.close();
  await agent.stop();
  return { faults, ends: tally.counts() };
}

interface WatchedHandler {
  readonly handle: (request: CniRequest) => Promise<CniReply>;
  /** Resolves when no request is under way, also those whose callers have hung up. */
  settled(): Promise<void>;
  /** Sandboxes that ADD said it wired and that nothing has taken down since. */
  holders(): ReadonlySet<string>;
}

/** Keeps the ledger of what the agent answered. */
function watchHandler(agent: Agent): WatchedHandler {
  /** sandbox -> its pod */
  const holders = new Map<string, string>();
  const underWay = new Set<Promise<unknown>>();
  const note = (request: CniRequest, reply: CniReply): void => {
    if (request.command === 'ADD') {
      const pod = podKey(request.pod.namespace, request.pod.name);
      // Even one that fails has first removed the pod's old sandbox; of others it removes nothing.
      const alive = new Set<string>(agent.describe().allocations.map((one) => sandboxId(one.sandbox)));
      for (const [id, itsPod] of holders) if (itsPod === pod && !alive.has(id)) holders.delete(id);
      if (reply.kind === 'Result') holders.set(sandboxId(request.sandbox), pod);
    }
    if (request.command === 'DEL' && reply.kind === 'Done') holders.delete(sandboxId(request.sandbox));
    if (request.command === 'GC' && reply.kind === 'Done') {
      const valid = new Set<string>(request.validAttachments.map(sandboxId));
      for (const id of holders.keys()) if (!valid.has(id)) holders.delete(id);
    }
  };
  const handle = async (request: CniRequest): Promise<CniReply> => {
    const reply = await agent.handleCni(request);
    note(request, reply);
    return reply;
  };
  return {
    handle: (request) => {
      const handling = handle(request);
      underWay.add(handling);
      const over = (): void => {
        underWay.delete(handling);
      };
      handling.then(over, over);
      return handling;
    },
    settled: async () => {
      while (underWay.size > 0) await Promise.allSettled(underWay);
    },
    holders: () => new Set(holders.keys()),
  };
}

/** What is wrong with an agent that nobody is talking to. */
async function lookAt(path: string, agent: Agent, watched: WatchedHandler): Promise<string | undefined> {
  const answer = await exchange(path, post('{"command":"STATUS"}'), 'Wait');
  if (!answer.startsWith('HTTP/1.1 200')) return `STATUS is not answered any more: ${answer}`;
  // A request whose caller hung up at once may have been read only now, before this one.
  await watched.settled();
  const held = agent.describe().allocations.map((one): string => sandboxId(one.sandbox));
  const given = [...watched.holders()].sort().join();
  return held.sort().join() === given
    ? undefined
    : `the agent holds ${held.join()}, and has answered ${given}`;
}

async function takeAllDown(agent: Agent): Promise<string | undefined> {
  for (const { sandbox } of agent.describe().allocations) await agent.handleCni({ command: 'DEL', sandbox });
  const left: readonly SandboxKey[] = agent.describe().allocations.map((one) => one.sandbox);
  return left.length === 0 ? undefined : `left behind: ${left.map(sandboxId).join()}`;
}

const post = (body: string, path = '/cni'): string =>
  `POST ${path} HTTP/1.1\r\nhost: agent\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

async function sendOnce(
  path: string,
  random: SeededRandom,
  end: (name: string) => void,
): Promise<string | undefined> {
  const { bytes, isFramed } = drawBytes(random);
  const stop = chance(random, 0.1) ? drawBetween(random, { min: 0, max: bytes.length }) : undefined;
  const answer = await exchange(path, bytes, stop ?? (isFramed ? 'Wait' : 'End'));
  const said = (fault: string): string => `${fault}; sent ${JSON.stringify(bytes.slice(0, 2000))}`;
  if (answer === HUNG) return said('no answer and no end within 5 s');
  if (stop !== undefined || (!isFramed && !answer.includes('\r\n\r\n'))) {
    end('hung up');
    return undefined;
  }
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1];
  if (status === undefined) return said(`no HTTP: ${answer}`);
  if (status.startsWith('5') || answer.includes('this is a bug')) return said(answer);
  const ended = status === '200' ? endOf(answer) : status;
  if (isFramed && ended === NO_REPLY) return said(`no reply: ${answer}`);
  end(ended);
  return undefined;
}

const NO_REPLY = 'no reply';

/** The answer comes in chunks (RFC 9112, section 7.1) or plain, and is JSON of one line. */
function endOf(answer: string): string {
  const json = answer
    .slice(answer.indexOf('\r\n\r\n'))
    .split('\r\n')
    .find((line) => line.startsWith('{'));
  const reply = decodeReply(json ?? '');
  if (!reply.ok) return NO_REPLY;
  return reply.value.kind === 'Error' ? `error ${reply.value.error.code}` : reply.value.kind;
}

interface Bytes {
  readonly bytes: string;
  /** Whether it is HTTP of a known length, so that there must be an answer. */
  readonly isFramed: boolean;
}

const LENGTH = /content-length: \d+/;
const LENGTHS = ['-1', '0', '1', '1e9', '99999999999'];

function drawBytes(random: SeededRandom): Bytes {
  const path = or(random, 0.03, '/cni', () => pick(random, ['/', '/cni/', '//cni', '/../cni', '*']));
  // Half of them are what the plugin may send: only those get far.
  const request = drawRequest(random);
  const whole = post(chance(random, 0.5) ? JSON.stringify(request) : hostileJson(random, request), path);
  const broken = (bytes: string): Bytes => ({ bytes, isFramed: false });
  switch (drawBetween(random, { min: 0, max: 19 })) {
    case 0:
      return broken(mutateText(random, whole));
    case 1:
      return broken(
        whole.replace(
          'POST',
          or(random, 0.5, 'GET', () => nasty(random)),
        ),
      );
    case 2:
      return broken(whole.replace(LENGTH, `content-length: ${pick(random, LENGTHS)}`));
    case 3:
      return broken(whole.replace(LENGTH, 'transfer-encoding: chunked'));
    case 4:
      return broken(nasty(random));
    default:
      return { bytes: whole, isFramed: true };
  }
}

function drawRequest(random: SeededRandom): unknown {
  const sandbox = drawSandbox(random);
  const pod = podOf(sandbox.containerId);
  switch (pick(random, ['ADD', 'ADD', 'ADD', 'DEL', 'DEL', 'CHECK', 'GC', 'STATUS'])) {
    case 'ADD':
      return { command: 'ADD', sandbox, netnsPath: drawNetns(random), pod };
    case 'DEL':
      return {
        command: 'DEL',
        sandbox,
        ...(chance(random, 0.5) && { pod }),
        ...(chance(random, 0.5) && { prevResult: drawResult(random) }),
      };
    case 'CHECK':
      return { command: 'CHECK', sandbox, netnsPath: drawNetns(random), prevResult: drawResult(random) };
    case 'GC':
      return { command: 'GC', validAttachments: [drawSandbox(random), drawSandbox(random)] };
    default:
      return { command: 'STATUS' };
  }
}

const HUNG = 'hung';

/**
 * Sends the text, then waits for the answer with the connection open, or closes its own half, or hangs up after so many
 * characters; answers what came back.
 */
function exchange(path: string, text: string, then: 'Wait' | 'End' | number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(path);
    let answer = '';
    const timer = setTimeout(() => {
      socket.destroy();
      resolve(HUNG);
    }, HANG_MS);
    socket.setEncoding('utf8').on('data', (more: string) => {
      answer += more;
    });
    // The agent may hang up on what it does not understand before it has read all of it.
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(answer);
    });
    if (then === 'End') socket.end(text);
    else if (then === 'Wait') socket.write(text);
    else socket.write(text.slice(0, then), () => socket.destroy());
  });
}
