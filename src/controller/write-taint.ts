// One write of a node's taints, and what follows from its outcome.

import type { NodeName } from '../domain/ids.ts';
import type { ClusterOutcome, ClusterReader, NodeRecord } from '../ports/cluster.ts';
import type { Log } from '../ports/log.ts';
import { type ClusterView, expectNode } from './cluster-view.ts';

interface Deps {
  readonly cluster: Pick<ClusterReader, 'get'>;
  readonly clusterView: ClusterView;
  readonly log: Log;
}

interface TaintWrite {
  readonly write: () => Promise<ClusterOutcome<NodeRecord>>;
  /** For the log, when it worked. */
  readonly said: string;
  readonly fields: Readonly<Record<string, string>>;
}

const RETRY_MS = 1_000;

/** Answers when to try again after a write that failed, ms. */
export async function writeTaint(
  { cluster, clusterView, log }: Deps,
  name: NodeName,
  { write, said, fields }: TaintWrite,
): Promise<number | undefined> {
  const takeIn = expectNode(clusterView, name);
  const outcome = await write();
  if (outcome.kind === 'ok') {
    takeIn(outcome.value);
    log.info(said, { node: name, ...fields });
    return undefined;
  }
  const cause = outcome.kind === 'failed' ? outcome.failure.message : outcome.cause;
  log.info('the taints of the node were not written', { node: name, cause });
  // kubelet writes its node every few seconds, so the version in hand is easily an old one.
  const takeInFresh = expectNode(clusterView, name);
  const fresh = await cluster.get('Node', name);
  if (fresh.kind === 'ok' && fresh.value !== undefined) takeInFresh(fresh.value);
  return RETRY_MS;
}
