// The agent's process on a simulated node: it serves, crashes, and is started again by its DaemonSet.

import { type Agent, startAgent } from '../../../agent/start-agent.ts';
import type { NodeName } from '../../../domain/ids.ts';
import type { JournalRecord } from '../../../domain/ipam/ledger.ts';
import type { Log } from '../../../ports/log.ts';
import type { StackFailure } from '../../../ports/network-stack.ts';
import type { Random } from '../../../ports/random.ts';
import type { CniReply, CniRequest } from '../../../protocol/agent-socket/cni-message.ts';
import type { SimCluster } from '../../cluster/sim-cluster.ts';
import type { NodeProfile } from '../../faults/fault-profile.ts';
import { createMemoryJournal, type MemoryJournal } from '../../journal/memory-journal.ts';
import { chance, drawBetween, drawClockErrorMs } from '../../kernel/draw.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { SeededRandom } from '../../kernel/seeded-random.ts';
import type { MemoryKernel } from '../../linux/memory-kernel.ts';
import { createMemoryStack } from '../../linux/memory-stack.ts';
import { createHang, type SimHang } from './sim-hang.ts';
import { type MortalClient, mortalClient } from './sim-client.ts';

export interface SimAgentDeps {
  readonly nodeName: NodeName;
  readonly kernel: Kernel;
  readonly cluster: SimCluster;
  readonly host: MemoryKernel;
  readonly profile: () => NodeProfile;
  readonly log: Log;
  /** Told of each fault, as `world.field`, when it strikes. */
  readonly struck: (fault: string) => void;
}

export interface SimAgent {
  /** Of its events. */
  readonly owner: string;
  start(): void;
  isUp(): boolean;
  isWanted(): boolean;
  /** Whether its DaemonSet wants it on the node; else it ends, and is not started. */
  setWanted(isWanted: boolean): void;
  /** SIGKILL; it is started again after a pause. */
  crash(): void;
  /** Its connections to the API server hang for a while. */
  hang(): void;
  /** They go on. */
  goOn(): void;
  /** Somebody sets the wall clock. */
  setClock(): void;
  /** The power goes. The disk may lose what was being written, and with `diskLost` everything. */
  powerOff(diskLost: boolean): void;
  /** Undefined: nobody answers, or the agent died meanwhile. */
  ask(request: CniRequest): Promise<CniReply | undefined>;
  /** What is durable of its journal. */
  records(): readonly JournalRecord[];
}

/** How long a DaemonSet needs to start a dead agent again. */
const RESTART_MS = { min: 200, max: 5_000 };
/** After which its client gives up waiting for an answer. */
const API_TIMEOUT_MS = 10_000;
const CRASH_IN_REQUEST_ODDS = 0.02;
/** About as long as an ADD takes: journal, wiring in steps, answer. */
const REQUEST_MS = 8;

interface Life {
  readonly agent: Promise<Agent>;
  readonly connection: MortalClient;
  readonly hang: SimHang;
  /** What its death means for those who wait for an answer. */
  readonly onDeath: Set<() => void>;
}

export function createSimAgent(deps: SimAgentDeps): SimAgent {
  const { nodeName, kernel, profile, struck } = deps;
  const owner = `agent/${nodeName}`;
  const random = kernel.random.fork(owner);
  const clockDraws = random.fork('clock is set');
  const syncMs = (): number => drawBetween(random, { min: 1, max: profile().diskMaxMs });
  let journal = createMemoryJournal(syncMs);
  let life: Life | undefined;
  let lifeCount = 0;
  let isWanted = true;
  const start = (): void => {
    if (!isWanted || life !== undefined) return;
    lifeCount += 1;
    const skewMs = profile().agentClockSkewMaxMs;
    kernel.skew(owner, drawBetween(random, { min: -skewMs, max: skewMs }));
    if (skewMs > 0) struck('node.agentClockSkewMaxMs');
    life = beginLife(deps, { owner, random, number: lifeCount, journal });
  };
  /** False: it was dead already. */
  const kill = (tear: boolean): boolean => {
    if (life === undefined) return false;
    kernel.kill(owner);
    life.connection.end();
    journal.crash(tear);
    if (tear) struck('node.tornJournalOdds');
    for (const tell of life.onDeath) tell();
    life = undefined;
    return true;
  };
  const crash = (): void => {
    struck('node.agentCrashesPerHour');
    if (kill(chance(random, profile().tornJournalOdds)))
      kernel.clock(`node/${nodeName}`).timer(drawBetween(random, RESTART_MS), 'agent restart', start);
  };
  return {
    owner,
    start,
    isUp: () => life !== undefined,
    isWanted: () => isWanted,
    setWanted: (wanted) => {
      isWanted = wanted;
      if (!wanted) kill(false);
    },
    crash,
    hang: () => life?.hang.begin(),
    goOn: () => life?.hang.end(),
    setClock: () => kernel.skew(owner, drawClockErrorMs(clockDraws)),
    powerOff: (diskLost) => {
      kill(chance(random, profile().tornJournalOdds));
      kernel.boot(owner);
      if (diskLost) journal = createMemoryJournal(syncMs);
    },
    ask: async (request) => {
      if (life === undefined) return undefined;
      // A request takes some milliseconds of an hour: crashes at any time would hardly ever fall between its steps.
      if (profile().agentCrashesPerHour > 0 && chance(random, CRASH_IN_REQUEST_ODDS)) {
        const inMs = drawBetween(random, { min: 0, max: REQUEST_MS });
        kernel.clock(`node/${nodeName}`).timer(inMs, 'crash in a request', crash);
      }
      return answerOf(life, request);
    },
    records: () => journal.records(),
  };
}

interface Birth {
  readonly owner: string;
  readonly random: SeededRandom;
  /** Of all lives of the agent. */
  readonly number: number;
  readonly journal: MemoryJournal;
}

function beginLife(deps: SimAgentDeps, { owner, random, number, journal }: Birth): Life {
  const { nodeName, kernel, cluster, host, log } = deps;
  const clock = kernel.clock(owner);
  const connection = mortalClient(cluster.client({ clock }));
  const hang = createHang({
    clock,
    world: kernel.clock('world'),
    random: random.fork(`hangs-${number}`),
    timeoutMs: () => API_TIMEOUT_MS,
    tell: (what) => log.info(`the connection of ${owner} to the API server ${what}`),
  });
  const agent = startAgent({
    nodeName,
    cluster: hang.cluster(connection.client),
    stack: createMemoryStack({
      kernel: host,
      clock,
      delayMs: () => 1,
      refuse: () => refusal(deps, random),
    }),
    journal: journal.open(clock),
    clock,
    random: random.fork(`life-${number}`),
    log,
  });
  return { agent, connection, hang, onDeath: new Set() };
}

/** Undefined: the agent died before it answered. */
async function answerOf({ agent, onDeath }: Life, request: CniRequest): Promise<CniReply | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<CniReply | undefined>();
  const tellDeath = (): void => resolve(undefined);
  onDeath.add(tellDeath);
  const answer = (await agent).handleCni(request).finally(() => onDeath.delete(tellDeath));
  answer.then(resolve, reject);
  return promise;
}

/** Why the kernel refuses a call of the network stack, if it does. */
function refusal({ profile, struck }: SimAgentDeps, random: Random): StackFailure | undefined {
  if (!chance(random, profile().stackErrorOdds)) return undefined;
  struck('node.stackErrorOdds');
  return { step: 'simulated', errno: 'ENOBUFS', message: 'the simulated kernel is out of buffers' };
}
