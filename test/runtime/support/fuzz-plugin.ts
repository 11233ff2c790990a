// Fuzzes a run of the plugin: its environment, its standard input, and what the socket answers.

import { runCni, type CniOutput, type SendOutcome } from '../../../src/cni/run-cni.ts';
import { chance, drawBetween, pick } from '../../../src/lab/kernel/draw.ts';
import { type SeededRandom, seededRandom } from '../../../src/lab/kernel/seeded-random.ts';
import { decodeRequest } from '../../../src/protocol/agent-socket/codec.ts';
import { CNI_VERSIONS, isCniVersion } from '../../../src/protocol/cni/version.ts';
import { drawNetns, podOf, drawResult, drawSandbox, hostileJson, nasty, or } from './fuzz-grammar.ts';

/** What was wrong, with the seed that makes it again. */
export interface FuzzFault {
  readonly seed: number;
  readonly what: string;
}

/** An input that takes longer is a hang, milliseconds. */
export const HANG_MS = 5000;

const COMMANDS = ['ADD', 'DEL', 'CHECK', 'GC', 'STATUS', 'VERSION'];

export interface FuzzReport {
  readonly faults: readonly FuzzFault[];
  /** How often inputs came to which end: a run that reaches only a few of them proves little. */
  readonly ends: Readonly<Record<string, number>>;
}

/** Counts the ends that inputs came to. */
export function createTally(): { add(end: string): void; counts(): Readonly<Record<string, number>> } {
  const counts = new Map<string, number>();
  return {
    add: (end) => counts.set(end, (counts.get(end) ?? 0) + 1),
    counts: () => Object.fromEntries([...counts].sort(([, a], [, b]) => b - a)),
  };
}

/** Runs inputs number `first` and following. */
export async function fuzzPlugin(first: number, count: number): Promise<FuzzReport> {
  const faults: FuzzFault[] = [];
  const tally = createTally();
  for (let seed = first; seed < first + count; seed += 1) {
    const what = await fuzzOnce(seededRandom(seed), (end) => tally.add(end)).catch(
      (error: unknown) => `it threw: ${error instanceof Error ? error.stack : String(error)}`,
    );
    if (what !== undefined) faults.push({ seed, what });
  }
  return { faults, ends: tally.counts() };
}

async function fuzzOnce(random: SeededRandom, end: (name: string) => void): Promise<string | undefined> {
  const env = drawEnvironment(random);
  const stdin = hostileJson(random, drawConfiguration(random));
  let sent: string | undefined;
  const begun = performance.now();
  const output = await runCni({
    env,
    stdin,
    send: async ({ body }) => {
      sent = body;
      return drawAnswer(random);
    },
  });
  const tookMs = performance.now() - begun;
  end(endOf(output, sent));
  const fault = tookMs > HANG_MS ? `it took ${tookMs} ms` : faultOf(output, sent);
  return fault && `${fault}; environment ${JSON.stringify(env)}, stdin ${JSON.stringify(stdin)}`;
}

export function drawEnvironment(random: SeededRandom): Readonly<Record<string, string | undefined>> {
  const odds = pick(random, [0, 0.05, 0.3]);
  const maybe = (value: string): string | undefined =>
    or(random, odds, value, () => or(random, 0.3, nasty(random), () => undefined));
  const { containerId, ifName } = drawSandbox(random);
  const { namespace, name } = podOf(containerId);
  return {
    CNI_COMMAND: maybe(pick(random, COMMANDS)),
    CNI_CONTAINERID: maybe(containerId),
    CNI_NETNS: maybe(drawNetns(random)),
    CNI_IFNAME: maybe(ifName),
    CNI_PATH: maybe('/opt/cni/bin'),
    CNI_ARGS: maybe(
      [
        or(random, odds, 'IgnoreUnknown=1', () => nasty(random)),
        `K8S_POD_NAMESPACE=${maybe(namespace) ?? ''}`,
        `K8S_POD_NAME=${maybe(name) ?? ''}`,
      ].join(';'),
    ),
  };
}

export function drawConfiguration(random: SeededRandom): object {
  const attachments = [{ containerID: 'c0', ifname: 'eth0' }];
  return {
    cniVersion: pick(random, CNI_VERSIONS),
    name: 'eniwhere',
    type: 'eniwhere-cni',
    agentSocket: '/run/eniwhere/agent.sock',
    ...(chance(random, 0.4) && { prevResult: drawResult(random) }),
    ...(chance(random, 0.3) && { 'cni.dev/valid-attachments': attachments }),
    ...(chance(random, 0.1) && { 'cni.dev/attachments': attachments }),
  };
}

export function drawAnswer(random: SeededRandom): SendOutcome {
  const reply = pick<unknown>(random, [
    { kind: 'Done' },
    { kind: 'Result', result: drawResult(random) },
    { kind: 'Error', error: { code: 11, msg: 'later', details: 'busy' } },
  ]);
  switch (drawBetween(random, { min: 0, max: 9 })) {
    case 0:
      return { kind: 'Unreachable', cause: nasty(random) };
    case 1:
      return { kind: 'NoAnswer', cause: nasty(random) };
    default:
      return {
        kind: 'Answered',
        status: or(random, 0.1, 200, () => pick(random, [0, 204, 400, 404, 413, 500])),
        body: hostileJson(random, reply),
      };
  }
}

export function endOf({ stdout, exitCode }: CniOutput, sent: string | undefined): string {
  const where = sent === undefined ? 'not sent' : 'sent';
  if (exitCode === 0) return `${where}, success`;
  return `${where}, error ${String((JSON.parse(stdout) as { readonly code?: unknown }).code)}`;
}

/** What breaks the promise of CNI-6, if anything does. */
function faultOf({ stdout, exitCode }: CniOutput, sent: string | undefined): string | undefined {
  if (sent !== undefined && !decodeRequest(sent).ok)
    return `the agent would not understand what was sent: ${sent}`;
  if (exitCode === 0 && stdout === '')
    return sent === undefined ? 'it did nothing, and said nothing' : undefined;
  const printed = JSON.parse(stdout) as Readonly<Record<string, unknown>>;
  const { cniVersion } = printed;
  if (typeof cniVersion !== 'string' || !isCniVersion(cniVersion))
    return `it printed version ${String(cniVersion)}`;
  if (exitCode === 0) return Object.keys(printed).length > 1 ? undefined : `an empty answer: ${stdout}`;
  const isError =
    Number.isInteger(printed['code']) &&
    typeof printed['msg'] === 'string' &&
    typeof printed['details'] === 'string';
  return isError ? undefined : `no CNI error: ${stdout}`;
}
