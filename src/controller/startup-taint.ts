// Takes the startup taint from a node once its network serves, and never before.

import type { NodeName } from '../domain/ids.ts';
import { networkServes } from '../domain/ipam/network-serves.ts';
import type { WarmTargets } from '../domain/ipam/warm-targets.ts';
import type { ClusterReader, ClusterWriter, NodeRecord } from '../ports/cluster.ts';
import type { Log } from '../ports/log.ts';
import type { ClusterView } from './cluster-view.ts';
import { writeTaint } from './write-taint.ts';

interface Deps {
  readonly cluster: Pick<ClusterReader, 'get'> & Pick<ClusterWriter, 'removeNodeTaint'>;
  readonly clusterView: ClusterView;
  readonly log: Log;
  readonly settings: { readonly startupTaint: string };
}

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
  return writeTaint(deps, name, {
    write: () => deps.cluster.removeNodeTaint(node, settings.startupTaint),
    said: 'the network serves: startup taint removed',
    fields: { taint: settings.startupTaint },
  });
}

const hasTaint = ({ taints }: NodeRecord, key: string): boolean => taints.some((taint) => taint.key === key);
