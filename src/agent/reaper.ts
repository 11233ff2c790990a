// Releases addresses of pods that have ended without a DEL.
//
// A runtime may give a DEL up, after the agent was down for too long, and throw the pod's namespace away (U32). With the
// namespace the kernel takes the pod's link, and then nobody can use its address. A link that is missing once proves
// little: an ADD may be at work, or a DEL on its way. One that is missing for minutes, in looks that all succeeded, with
// nobody at work on the pod, is knowledge and no lack of it (RST-1).

import { type Allocation, allocationOf, type SandboxId, sandboxId } from '../domain/ipam/ledger.ts';
import { type AgentContext, notServing } from './agent-context.ts';
import type { KeyedLock } from './keyed-lock.ts';
import { releasePod } from './release-pod.ts';
import { createWorker, type Worker } from './worker.ts';

const LOOK_MS = 30_000;
/** Looks in a row that must miss the link. Counted, not timed: a clock that jumps must not shorten it. */
const MISSED_LOOK_COUNT = 5;

export function createReaper(context: AgentContext, lock: KeyedLock): Worker {
  const { clock, log } = context;
  /** sandbox -> looks in a row that missed its link, since the start of this process */
  let missed: ReadonlyMap<SandboxId, number> = new Map();
  const run = async (): Promise<number> => {
    const gone = await linkless(context);
    // A look that failed says nothing, and those before it stand.
    if (gone === undefined) return LOOK_MS;
    missed = new Map(
      gone.map(({ sandbox }) => {
        const id = sandboxId(sandbox);
        return [id, (missed.get(id) ?? 0) + 1];
      }),
    );
    for (const allocation of gone) {
      const count = missed.get(sandboxId(allocation.sandbox)) ?? 0;
      if (count >= MISSED_LOOK_COUNT) await lock(allocation.pod, () => reap(context, allocation));
    }
    return LOOK_MS;
  };
  return createWorker({ clock, log, label: 'reaper', run });
}

/** Allocations without a host link; undefined when that cannot be told now. */
async function linkless(context: AgentContext): Promise<readonly Allocation[] | undefined> {
  if (notServing(context) !== undefined) return undefined;
  const links = await context.stack.listLinks();
  if (links.kind !== 'ok') return undefined;
  const names = new Set(links.value.map(({ name }) => name));
  return [...context.store.ledger().allocations.values()].filter(({ hostLink }) => !names.has(hostLink));
}

async function reap(context: AgentContext, allocation: Allocation): Promise<void> {
  // While this waited for the pod's lock, an ADD may have wired the pod, or a DEL taken it down.
  if (allocationOf(context.store.ledger(), allocation.sandbox) !== allocation) return;
  const gone = await linkless(context);
  if (gone?.includes(allocation) !== true) return;
  const { pod, addresses } = allocation;
  const released = await releasePod(context, allocation);
  if (!released.ok) return;
  context.log.mark('linkless-released');
  context.log.warn('a pod has lost its link and was never deleted; its address is released', {
    pod,
    addresses,
  });
}
