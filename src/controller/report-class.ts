// Keeps the status of a NodeNetworkClass: whom it claims, what it chooses among, and what is wrong with it.

import { classOfNode } from '../domain/eniconfig/class-of-node.ts';
import { candidateNames } from '../domain/eniconfig/select-by-class.ts';
import { unsupportedOf } from '../domain/eniconfig/node-network-class.ts';
import { sameData } from '../domain/same-data.ts';
import type { ClusterWriter, NodeNetworkClassRecord, NodeNetworkClassStatus } from '../ports/cluster.ts';
import type { Log } from '../ports/log.ts';
import type { ClusterView } from './cluster-view.ts';
import { type Ec2View, knownValue } from './ec2-view.ts';
import { resolveEniConfigs } from './resolve-eni-configs.ts';
import { selectionNodeOf } from './select-for-node.ts';

const RETRY_MS = 5_000;

interface Deps {
  readonly cluster: ClusterWriter;
  readonly clusterView: ClusterView;
  readonly ec2View: Ec2View;
  readonly log: Log;
}

/** Writes the status if it changed. Answers when to try again after a write that failed, ms. */
export async function reportClass(deps: Deps, name: string): Promise<number | undefined> {
  const record = deps.clusterView.classes.get(name);
  if (record === undefined) return undefined;
  const status = statusOf(deps, record);
  if (record.status !== undefined && sameData(record.status, status)) return undefined;
  const outcome = await deps.cluster.updateNodeNetworkClassStatus(record, status);
  if (outcome.kind === 'ok') return undefined;
  const cause = outcome.kind === 'failed' ? outcome.failure.message : outcome.cause;
  deps.log.info('NodeNetworkClass status was not written', { class: name, cause });
  return RETRY_MS;
}

function statusOf(deps: Deps, { name, spec }: NodeNetworkClassRecord): NodeNetworkClassStatus {
  const nodeCount = nodeCountOf(deps, name);
  const wrong = (message: string, fix: string): NodeNetworkClassStatus => ({
    ready: false,
    message: `${message}; ${fix}`,
    nodeCount,
    eniConfigs: [],
  });
  if (spec.kind === 'Malformed') return wrong(spec.message, spec.fix);
  const { nodeNetworkClass } = spec;
  const unsupported = unsupportedOf(nodeNetworkClass);
  if (unsupported !== undefined) return wrong(unsupported.message, unsupported.fix);
  const views = resolveEniConfigs(deps.clusterView, deps.ec2View);
  const eniConfigs = candidateNames(nodeNetworkClass, views);
  const problems = eniConfigs.flatMap((one) => {
    const view = views.get(one);
    if (view === undefined) return [`ENIConfig "${one}" does not exist`];
    return view.kind === 'Invalid' ? [`${view.message}; ${view.fix}`] : [];
  });
  const what =
    nodeNetworkClass.candidates === undefined
      ? 'names no ENIConfigs: the rules after it do'
      : `chooses by ${nodeNetworkClass.strategy}`;
  const message = problems.length === 0 ? what : problems.join('; ');
  return { ready: problems.length === 0, message, nodeCount, eniConfigs };
}

/** Nodes that EC2 has been heard of, and that no other class claims. */
function nodeCountOf({ clusterView, ec2View }: Deps, name: string): number {
  const classes = [...clusterView.classes.values()];
  return [...clusterView.nodes.values()].filter((node) => {
    const instance =
      node.instanceId === undefined ? undefined : knownValue(ec2View.instances, node.instanceId);
    return instance !== undefined && classOfNode(classes, selectionNodeOf(node, instance))?.name === name;
  }).length;
}
