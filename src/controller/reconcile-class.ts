// Keeps a NodeNetworkClass: the ENIConfigs made for it, and its status: whom it claims, and what is wrong with it.

import { classOfNode } from '../domain/eniconfig/class-of-node.ts';
import { candidateNames } from '../domain/eniconfig/select-by-class.ts';
import { unsupportedOf } from '../domain/eniconfig/node-network-class.ts';
import { sameData } from '../domain/same-data.ts';
import type { NodeNetworkClassRecord, NodeNetworkClassStatus } from '../ports/cluster.ts';
import { knownValue } from './ec2-view.ts';
import { carryOut, type OwnEniConfigDeps, planFor } from './own-eni-configs.ts';
import { resolveEniConfigs } from './resolve-eni-configs.ts';
import { selectionNodeOf } from './select-for-node.ts';

const RETRY_MS = 5_000;

type Deps = OwnEniConfigDeps;

/** Makes the ENIConfigs of the class and writes its status. Answers when to look again, ms; undefined: when told. */
export async function reconcileClass(deps: Deps, name: string): Promise<number | undefined> {
  const plan = planFor(deps, name);
  const isDone = await carryOut(deps, plan);
  const reported = await reportClass(deps, name, plan.problem);
  return isDone ? reported : RETRY_MS;
}

async function reportClass(
  deps: Deps,
  name: string,
  ownProblem: string | undefined,
): Promise<number | undefined> {
  const record = deps.clusterView.classes.get(name);
  if (record === undefined) return undefined;
  const status = statusOf(deps, record, ownProblem);
  if (record.status !== undefined && sameData(record.status, status)) return undefined;
  const outcome = await deps.cluster.updateNodeNetworkClassStatus(record, status);
  if (outcome.kind === 'ok') return undefined;
  const cause = outcome.kind === 'failed' ? outcome.failure.message : outcome.cause;
  deps.log.info('NodeNetworkClass status was not written', { class: name, cause });
  return RETRY_MS;
}

function statusOf(
  deps: Deps,
  { name, spec }: NodeNetworkClassRecord,
  ownProblem: string | undefined,
): NodeNetworkClassStatus {
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
  const all = ownProblem === undefined ? problems : [ownProblem, ...problems];
  const message = all.length === 0 ? what : all.join('; ');
  return { ready: all.length === 0, message, nodeCount, eniConfigs };
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
