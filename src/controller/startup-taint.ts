// Takes the startup taint from a node once its network serves, and never before.

import type { NodeName } from '../domain/ids.ts';
import { networkServes } from '../domain/ipam/network-serves.ts';
import type { WarmTargets } from '../domain/ipam/warm-targets.ts';
import type { ClusterReader, ClusterWriter, NodeRecord } from '../ports/cluster.ts';
import type { Log } from '../ports/log.ts';
import { type ClusterView, recordEvent } from './cluster-view.ts';

interface Deps {
  readonly cluster: Pick<ClusterReader, 'get'> & Pick<ClusterWriter, 'removeNodeTaint'>;
  readonly clusterView: ClusterView;
  readonly log: Log;
  readonly settings: { readonly startupTaint: string };
}

const RETRY_MS = 1_000;

/** Removes the taint if it is there and may go. Answers when to try again after a write that failed, ms. */
export async function removeStartupTaint(
  deps: Deps,
  name: NodeName,
  targets: WarmTargets,
): Promise<number | undefined> {
  const { clusterView, settings, log } = deps;
  const node = clusterView.nodes.get(name);
  const published = clusterView.nodeNetworks.get(name);
  if (node === undefined || published === undefined || !hasTaint(node, settings.startupTaint))
    return undefined;
  const verdict = networkServes(published, targets);
  if (!verdict.serves) {
    log.debug('the startup taint stays', { node: name, because: verdict.because });
    return undefined;
  }
  const outcome = await deps.cluster.removeNodeTaint(node, settings.startupTaint);
  if (outcome.kind === 'ok') {
    recordEvent(clusterView, 'Node', { type: 'Applied', object: outcome.value });
    log.info('the network serves: startup taint removed', { node: name, taint: settings.startupTaint });
    return undefined;
  }
  const cause = outcome.kind === 'failed' ? outcome.failure.message : outcome.cause;
  log.info('the startup taint was not removed', { node: name, cause });
  // kubelet writes its node every few seconds, so the version in hand is easily an old one.
  const fresh = await deps.cluster.get('Node', name);
  if (fresh.kind === 'ok' && fresh.value !== undefined)
    recordEvent(clusterView, 'Node', { type: 'Applied', object: fresh.value });
  return RETRY_MS;
}

const hasTaint = ({ taints }: NodeRecord, key: string): boolean => taints.some((taint) => taint.key === key);
