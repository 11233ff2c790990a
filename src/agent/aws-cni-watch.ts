// Tells people of what the AWS VPC CNI left on the node, which can lead pods' packets astray.

import type { NodeName } from '../domain/ids.ts';
import type { AwsCniFinder, AwsCniReport } from '../ports/aws-cni.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventWriter } from '../ports/cluster.ts';
import type { Log } from '../ports/log.ts';
import { describeStackOutcome } from './describe-stack-outcome.ts';
import { createWorker } from './worker.ts';

/** As long as something is found, looked for again this often, so that the count falls once it is removed; milliseconds. */
const LOOK_MS = 10 * 60_000;
const RETRY_MS = 30_000;
/** Sentences that go into one log message; the command shows all. */
const LOGGED_COUNT_MAX = 20;

export interface AwsCniWatchDeps {
  readonly nodeName: NodeName;
  readonly finder: AwsCniFinder;
  readonly vethPrefix: string;
  readonly cluster: EventWriter;
  readonly clock: Clock;
  readonly log: Log;
}

export interface AwsCniWatch {
  /** What was found last; undefined before the first look. */
  report(): AwsCniReport | undefined;
  stop(): Promise<void>;
}

/** Looks at the start, and again as long as there is something. It removes nothing: that is for a person to ask. */
export function startAwsCniWatch(deps: AwsCniWatchDeps): AwsCniWatch {
  const { finder, vethPrefix, clock, log } = deps;
  let found: AwsCniReport | undefined;
  const run = async (): Promise<number | undefined> => {
    const outcome = await finder.findAwsCniLeftovers(vethPrefix);
    if (outcome.kind !== 'ok') {
      log.warn('leftovers of the AWS CNI cannot be looked for', { failure: describeStackOutcome(outcome) });
      return RETRY_MS;
    }
    const before = found;
    found = outcome.value;
    if (!isSame(before, found)) tell(deps, found);
    return isNothing(found) ? undefined : LOOK_MS;
  };
  const worker = createWorker({ clock, log, label: 'aws cni leftovers', run });
  worker.wake();
  return { report: () => found, stop: () => worker.stop() };
}

const isNothing = ({ leftovers, livePods }: AwsCniReport): boolean =>
  leftovers.length === 0 && livePods.length === 0;

const isSame = (before: AwsCniReport | undefined, now: AwsCniReport): boolean =>
  (before?.leftovers.length ?? 0) === now.leftovers.length &&
  (before?.livePods.length ?? 0) === now.livePods.length;

function tell({ nodeName, cluster, log }: AwsCniWatchDeps, report: AwsCniReport): void {
  const { leftovers, livePods, notes } = report;
  if (isNothing(report)) {
    log.info('nothing of the AWS CNI is left on this node');
    return;
  }
  const living =
    livePods.length === 0
      ? ''
      : `${livePods.length} of its pods still run here: drain the node first, what they need is kept. `;
  const message = `the AWS CNI left ${leftovers.length} rules, routes and firewall rules on this node. ${living}Remove them with: eniwhere agent --clean-aws-cni`;
  log.warn('the AWS CNI has left things on this node', {
    leftoverCount: leftovers.length,
    leftovers: leftovers.slice(0, LOGGED_COUNT_MAX),
    livePodCount: livePods.length,
    notes,
  });
  cluster.emit({
    about: { kind: 'Node', name: nodeName },
    type: 'Warning',
    reason: 'AwsCniLeftovers',
    message,
  });
}
