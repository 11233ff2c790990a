// Publishes the extended resource of each ENIConfig that pods ask for by name, on every node that could serve it.

import type { EniConfigView } from '../domain/eniconfig/eni-config.ts';
import type { NodeName } from '../domain/ids.ts';
import { ipResources, type UsableEniConfig } from '../domain/ipam/ip-resources.ts';
import type { NodeView } from '../domain/ipam/node-view.ts';
import { sameData } from '../domain/same-data.ts';
import type { ClusterReader, ClusterWriter } from '../ports/cluster.ts';
import type { Log } from '../ports/log.ts';
import { type ClusterView, expectNode } from './cluster-view.ts';
import type { Ec2View } from './ec2-view.ts';
import { resolveEniConfig } from './resolve-eni-configs.ts';

interface Deps {
  readonly cluster: Pick<ClusterReader, 'get'> & Pick<ClusterWriter, 'setExtendedResources'>;
  readonly clusterView: ClusterView;
  readonly ec2View: Ec2View;
  readonly log: Log;
}

const RETRY_MS = 1_000;

/** Sets the node's resources if they are not so. Answers when to try again after a write that failed, ms. */
export async function publishIpResources(
  deps: Deps,
  name: NodeName,
  view: NodeView,
): Promise<number | undefined> {
  const node = deps.clusterView.nodes.get(name);
  if (node === undefined) return undefined;
  const wanted = view.choosing === undefined ? {} : ipResources(view, usableOf(deps, view));
  if (sameData(node.extendedResources, wanted)) return undefined;
  const takeIn = expectNode(deps.clusterView, name);
  const outcome = await deps.cluster.setExtendedResources(node, wanted);
  if (outcome.kind === 'ok') {
    takeIn(outcome.value);
    return undefined;
  }
  const cause = outcome.kind === 'failed' ? outcome.failure.message : outcome.cause;
  deps.log.info('extended resources were not written', { node: name, cause });
  const takeInFresh = expectNode(deps.clusterView, name);
  const fresh = await deps.cluster.get('Node', name);
  if (fresh.kind === 'ok' && fresh.value !== undefined) takeInFresh(fresh.value);
  return RETRY_MS;
}

/** Only what somebody asks for: nodes of clusters where nobody chooses are left as they are. */
function usableOf({ clusterView, ec2View }: Deps, view: NodeView): readonly UsableEniConfig[] {
  return [...clusterView.wishedNames.keys()].sort().flatMap((name) => {
    const record = clusterView.eniConfigs.get(name);
    const resolved: EniConfigView | undefined = record && resolveEniConfig(record, ec2View);
    if (resolved?.kind !== 'Valid') return [];
    const { zone, vpcId, freeAddressCount } = resolved.subnet;
    const isInReach = zone === view.instance.zone && vpcId === view.instance.vpcId;
    return isInReach ? [{ name, freeAddressCount }] : [];
  });
}
