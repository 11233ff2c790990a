// A small kubelet: for each pod bound to its node it makes a sandbox, asks the CNI for an address, and undoes both.

import type { Ip } from '../../domain/address/ip.ts';
import type { NodeName, PodKey } from '../../domain/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ClusterReader, PodRecord, WatchEvent } from '../../ports/cluster.ts';
import type { Log } from '../../ports/log.ts';
import { type Random, randomHex } from '../../ports/random.ts';

export interface Sandbox {
  readonly containerId: string;
  readonly ifName: string;
  readonly pod: PodKey;
  readonly podUid: string;
  /** Path of the network namespace (CNI_NETNS). */
  readonly netnsPath: string;
}

export type AddAnswer =
  | { readonly kind: 'Added'; readonly addresses: readonly Ip[] }
  /** `code` is the CNI error code; 0 when the plugin could not be run or printed no answer. */
  | { readonly kind: 'Refused'; readonly code: number; readonly message: string };

export type DelAnswer =
  | { readonly kind: 'Deleted' }
  | { readonly kind: 'Refused'; readonly code: number; readonly message: string };

/** What a container runtime does for a kubelet. Calls reject only when the lab itself is broken. */
export interface PodRuntime {
  makeNamespace(pod: PodKey, containerId: string): Promise<string>;
  removeNamespace(pod: PodKey, netnsPath: string): Promise<void>;
  add(sandbox: Sandbox): Promise<AddAnswer>;
  del(sandbox: Sandbox): Promise<DelAnswer>;
}

export interface PodState {
  readonly pod: PodKey;
  readonly node: NodeName;
  readonly phase: 'Waiting' | 'Running' | 'Gone';
  /** While Running. */
  readonly sandbox?: Sandbox;
  /** From the first answered ADD on, also when gone: the first of `addresses`. */
  readonly address?: Ip;
  /** One of each family that the pod has. */
  readonly addresses?: readonly Ip[];
  readonly addCount: number;
  /** The CNI's last refusal, while waiting. */
  readonly refusal?: string;
}

export interface Kubelet {
  readonly pods: ReadonlyMap<PodKey, PodState>;
  /** Ends every loop, leaving sandboxes as they are; resolves when none is in the middle of a call. */
  stop(): Promise<void>;
}

export interface KubeletDeps {
  readonly node: NodeName;
  readonly cluster: Pick<ClusterReader, 'watch'>;
  /** Whether the CNI can serve: kubelet starts no pod before. */
  readonly isReady: () => boolean;
  /** How often it looks whether it can, milliseconds; 200 when absent. */
  readonly readyPollMs?: () => number;
  readonly runtime: PodRuntime;
  /** The pod's sandbox is gone after a deletion: what a kubelet tells the API server, which then drops the object. */
  readonly onGone?: (pod: PodKey) => void;
  /** The longest pause after a refused ADD, milliseconds; two seconds when absent. */
  readonly backoffMaxMs?: () => number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const READY_POLL_MS = 200;
/** After a refused ADD; doubles up to the maximum. A kubelet's own is 10 s and more, too slow to watch. */
const BACKOFF_MIN_MS = 250;
const BACKOFF_MAX_MS = 2_000;
/** A refused DEL is repeated so many times before the sandbox is removed regardless, as after a node's loss. */
const DEL_TRY_MAX = 20;

const CONTAINER_ID_LENGTH = 64;

/** One pod object's life on the node, from its binding to its deletion. */
interface Life {
  readonly uid: string;
  ended: boolean;
  /** Resolves when the pod is deleted or the kubelet stops. */
  readonly whenEnded: Promise<void>;
  end(): void;
  /** Resolves when nothing of it is left to do. */
  done: Promise<void>;
}

function createLife(uid: string): Life {
  const { promise, resolve } = Promise.withResolvers<void>();
  const life: Life = {
    uid,
    ended: false,
    whenEnded: promise,
    end: () => {
      life.ended = true;
      resolve();
    },
    done: Promise.resolve(),
  };
  return life;
}

export function startKubelet(deps: KubeletDeps): Kubelet {
  const states = new Map<PodKey, PodState>();
  const lives = new Map<PodKey, Life>();
  let stopping = false;

  const live = async (pod: PodRecord, life: Life, before: Life | undefined): Promise<void> => {
    // A pod made again under the same name starts when the old one is gone.
    await before?.done;
    const update = (change: Partial<PodState>): void => {
      const state = states.get(pod.key);
      if (state !== undefined) states.set(pod.key, { ...state, ...change });
    };
    states.set(pod.key, { pod: pod.key, node: deps.node, phase: 'Waiting', addCount: 0 });
    const sandbox = await startPod(deps, { pod, life, update });
    await life.whenEnded;
    if (stopping) return;
    if (sandbox !== undefined) await removeSandbox(deps, sandbox);
    update({ phase: 'Gone' });
    deps.onGone?.(pod.key);
  };
  const follow = (pod: PodRecord): void => {
    const life = lives.get(pod.key);
    if (pod.deleting || pod.finished) {
      if (life?.uid === pod.uid) life.end();
      return;
    }
    if (life?.uid === pod.uid || pod.hostNetwork || stopping) return;
    life?.end();
    const next = createLife(pod.uid);
    lives.set(pod.key, next);
    next.done = live(pod, next, life).catch((error: unknown) => {
      // Only a broken lab gets here. The pod is given up, the others go on, and the run's report shows it.
      const cause = error instanceof Error ? error.message : String(error);
      deps.log.error('kubelet gave a pod up', { pod: pod.key, cause });
      const state = states.get(pod.key);
      if (state !== undefined) states.set(pod.key, { ...state, refusal: cause });
    });
  };
  const onEvent = (event: WatchEvent<PodRecord>): void => {
    switch (event.type) {
      case 'Applied':
        return follow(event.object);
      case 'Deleted': {
        const life = lives.get(event.object.key);
        if (life?.uid === event.object.uid) life.end();
        return;
      }
      case 'Snapshot': {
        const present = new Set(event.objects.map(({ uid }) => uid));
        for (const life of lives.values()) if (!present.has(life.uid)) life.end();
        for (const pod of event.objects) follow(pod);
      }
    }
  };
  const watch = deps.cluster.watch({ kind: 'Pod', scope: { nodeName: deps.node }, onEvent });

  return {
    pods: states,
    stop: async () => {
      stopping = true;
      watch.close();
      for (const life of lives.values()) life.end();
      await Promise.all([...lives.values()].map(({ done }) => done));
    },
  };
}

interface Start {
  readonly pod: PodRecord;
  readonly life: Life;
  readonly update: (change: Partial<PodState>) => void;
}

/** Makes sandboxes until one gets an address; undefined when the pod's life ends before. */
async function startPod(deps: KubeletDeps, { pod, life, update }: Start): Promise<Sandbox | undefined> {
  const { clock, log } = deps;
  let backoffMs = BACKOFF_MIN_MS;
  let addCount = 0;
  // Ends with the pod's life: a kubelet never gives a pod up.
  while (!life.ended) {
    if (!deps.isReady()) {
      await clock.sleep(deps.readyPollMs?.() ?? READY_POLL_MS, `${pod.name}:node not ready`);
      continue;
    }
    const sandbox = await makeSandbox(deps, pod);
    addCount += 1;
    update({ addCount });
    const answer = await deps.runtime.add(sandbox);
    if (answer.kind === 'Added') {
      const [address] = answer.addresses;
      update({
        phase: 'Running',
        sandbox,
        ...(address === undefined ? {} : { address, addresses: answer.addresses }),
      });
      return sandbox;
    }
    log.debug('ADD refused', { pod: pod.key, code: answer.code, message: answer.message });
    update({ refusal: answer.message });
    // As containerd does: a failed ADD is undone, and the next try has a new sandbox.
    await removeSandbox(deps, sandbox);
    await Promise.race([clock.sleep(backoffMs, `${pod.name}:back-off`), life.whenEnded]);
    backoffMs = Math.min(backoffMs * 2, deps.backoffMaxMs?.() ?? BACKOFF_MAX_MS);
  }
  return undefined;
}

async function makeSandbox(deps: KubeletDeps, pod: PodRecord): Promise<Sandbox> {
  const containerId = randomHex(deps.random, CONTAINER_ID_LENGTH);
  const netnsPath = await deps.runtime.makeNamespace(pod.key, containerId);
  return { containerId, ifName: 'eth0', pod: pod.key, podUid: pod.uid, netnsPath };
}

async function removeSandbox(deps: KubeletDeps, sandbox: Sandbox): Promise<void> {
  const { clock, log, runtime } = deps;
  for (let attempt = 1; attempt <= DEL_TRY_MAX; attempt++) {
    const answer = await runtime.del(sandbox);
    if (answer.kind === 'Deleted') break;
    log.warn('DEL refused', { pod: sandbox.pod, attempt, code: answer.code, message: answer.message });
    await clock.sleep(BACKOFF_MIN_MS, `${sandbox.pod}:DEL again`);
  }
  await runtime.removeNamespace(sandbox.pod, sandbox.netnsPath);
}
