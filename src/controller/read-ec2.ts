// The one reader of EC2: a describe loop for the whole cluster, and at once what is new, changed or missing.

import type { InstanceId, SubnetId } from '../domain/ids.ts';
import { type DescribeDeps, readAll, readEnisOf, readMissing, readSubnets } from './describe-ec2.ts';
import { type Ec2News, type Ec2View, takeNews } from './ec2-view.ts';
import { createWakeup } from './wakeup.ts';

/** Everything is read again this often. */
const RESYNC_MS = 30_000;
/** And with every so many of those all nodes are looked at, also those for which nothing has changed. */
const LOOK_AT_ALL_EVERY = 10;
/** What hardly ever changes is read with every so many of those. */
const THOROUGH_EVERY = 2;
/** Between two reads of single instances, so that a busy controller gathers many in one. */
const INSTANCE_READ_GAP_MS = 500;
/** Subnets that somebody waits for are read again this often. */
const SUBNET_POLL_MS = 5_000;
/** Requests that come within this time are answered by one describe. */
const GATHER_MS = 50;
/** After a describe that failed, or that does not know an instance which has just become a node. */
const RETRY_MS = 2_000;
/** A node whose instance EC2 does not show is asked for early this often; afterwards the resync has to do. */
const EARLY_RETRY_COUNT_MAX = 5;

export interface Ec2ReaderDeps extends DescribeDeps {
  /** Called after a read, with what it has brought. */
  readonly onRead: (news: Readonly<Ec2News>) => void;
}

export interface Ec2ReadLoop {
  /** Reads the ENIs of one instance soon. */
  readInstance(id: InstanceId, delayMs: number): void;
  /** Reads what the cluster names and the view does not know yet. */
  readMissing(): void;
  /** Somebody waits for an address of this subnet: reads it every few seconds until the next resync. */
  pollSubnet(id: SubnetId): void;
  stop(): Promise<void>;
}

/** When which read is due, milliseconds since the epoch. */
interface Due {
  full: number;
  /** What is named and not known. */
  missing: number;
  missingNotBefore: number;
  readonly instances: Map<InstanceId, number>;
  instancesNotBefore: number;
  fullCount: number;
  /** Full reads that show nothing older than this process. */
  trustedReadCount: number;
  readonly subnets: Map<SubnetId, number>;
  /** Instance that EC2 did not show -> times asked early. */
  readonly earlyRetries: Map<InstanceId, number>;
}

/** Starts the loop. Failed describes are logged and tried again; the view then stays as it was. */
export function startEc2ReadLoop(deps: Ec2ReaderDeps): Ec2ReadLoop {
  const { clock } = deps;
  const wakeup = createWakeup(clock, 'ec2 read loop');
  const due: Due = {
    full: clock.now(),
    missing: Infinity,
    missingNotBefore: 0,
    instances: new Map(),
    instancesNotBefore: 0,
    fullCount: 0,
    trustedReadCount: 0,
    subnets: new Map(),
    earlyRetries: new Map(),
  };
  const state = { stopped: false };
  const loop = async (): Promise<void> => {
    while (!state.stopped) {
      await readDue(deps, due);
      if (!state.stopped) await wakeup.wait(Math.max(0, nextDue(due) - clock.now()));
    }
  };
  const running = loop();
  return {
    readInstance: (id, delayMs) => {
      const at = clock.now() + Math.max(GATHER_MS, delayMs);
      due.instances.set(id, Math.min(at, due.instances.get(id) ?? Infinity));
      wakeup.wake();
    },
    readMissing: () => {
      const at = Math.max(clock.now() + GATHER_MS, due.missingNotBefore);
      if (due.missing <= at) return;
      due.missing = at;
      wakeup.wake();
    },
    pollSubnet: (id) => {
      if (due.subnets.has(id)) return;
      due.subnets.set(id, clock.now() + SUBNET_POLL_MS);
      wakeup.wake();
    },
    stop: async () => {
      state.stopped = true;
      wakeup.wake();
      await running;
    },
  };
}

const nextDue = (due: Due): number =>
  Math.min(
    due.full,
    due.missing,
    Math.max(earliest(due.instances), due.instancesNotBefore),
    earliest(due.subnets),
  );

function earliest(times: ReadonlyMap<unknown, number>): number {
  let first = Infinity;
  for (const at of times.values()) first = Math.min(first, at);
  return first;
}

async function readDue(deps: Ec2ReaderDeps, due: Due): Promise<void> {
  const now = deps.clock.now();
  if (due.full <= now) return resync(deps, due);
  const instances = due.instancesNotBefore <= now ? takeDue(due.instances, now) : [];
  const subnets = takeDue(due.subnets, now);
  if (due.missing <= now) await readWhatIsMissing(deps, due);
  if (instances.length > 0) {
    const wholly = await readEnisOf(deps, instances);
    due.instancesNotBefore = deps.clock.now() + INSTANCE_READ_GAP_MS;
    if (!wholly) for (const id of instances) due.instances.set(id, deps.clock.now() + RETRY_MS);
    const news = takeNews(deps.view);
    for (const id of instances) news.instances.add(id);
    deps.onRead(news);
  }
  if (subnets.length > 0) {
    await readSubnets(deps, subnets);
    for (const id of subnets) due.subnets.set(id, deps.clock.now() + SUBNET_POLL_MS);
    deps.onRead(takeNews(deps.view));
  }
}

async function resync(deps: Ec2ReaderDeps, due: Due): Promise<void> {
  due.full = deps.clock.now() + RESYNC_MS;
  due.missing = Infinity;
  const startedAt = deps.clock.now();
  const isAwaited = due.subnets.size > 0;
  due.instances.clear();
  due.subnets.clear();
  const wholly = await readAll(deps, due.fullCount % THOROUGH_EVERY === 0);
  // What an earlier process may have undone is believed from the first read after that time, though it shows nothing new.
  const isTrusted = due.trustedReadCount > 0;
  if (startedAt >= deps.view.trustedFrom) due.trustedReadCount += 1;
  const isThorough = !isTrusted || isAwaited || due.fullCount % LOOK_AT_ALL_EVERY === 0;
  due.fullCount += 1;
  if (!wholly || asksEarly(deps.view, due)) due.full = Math.min(due.full, deps.clock.now() + RETRY_MS);
  const news = takeNews(deps.view);
  deps.onRead({ ...news, ofEniConfigs: true, ofAll: news.ofAll || isThorough });
}

async function readWhatIsMissing(deps: Ec2ReaderDeps, due: Due): Promise<void> {
  due.missing = Infinity;
  const read = await readMissing(deps);
  const again = deps.clock.now() + RETRY_MS;
  // What failed, or is not there, is not asked for in a circle.
  if (read !== 'All') due.missingNotBefore = again;
  if (read === 'Partly' || asksEarly(deps.view, due)) due.full = Math.min(due.full, again);
  // A node that joins is no reason to look at all others again.
  if (read !== 'Nothing') deps.onRead(takeNews(deps.view));
}

/** EC2 may not show an instance yet that has just become a node. */
function asksEarly(view: Ec2View, { earlyRetries }: Due): boolean {
  const missing = [...view.instances].filter(([, known]) => known.kind === 'Missing').map(([id]) => id);
  const early = missing.filter((id) => (earlyRetries.get(id) ?? 0) < EARLY_RETRY_COUNT_MAX);
  for (const id of early) earlyRetries.set(id, (earlyRetries.get(id) ?? 0) + 1);
  return early.length > 0;
}

function takeDue<Key>(times: Map<Key, number>, now: number): readonly Key[] {
  const keys = [...times].filter(([, at]) => at <= now).map(([key]) => key);
  for (const key of keys) times.delete(key);
  return keys;
}
