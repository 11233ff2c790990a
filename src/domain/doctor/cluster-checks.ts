// Checks of the cluster's own objects: what is installed, selected, published and waiting.

import { explainNode, listed, refusalsOf } from '../explain/explain-node.ts';
import { instanceOf, networkOf, type Picture, podsOn } from '../explain/picture.ts';
import { replaySelection } from '../explain/replay-selection.ts';
import { maxPods } from '../instance/max-pods.ts';
import { networkServes } from '../ipam/network-serves.ts';
import { ALLOW_IMDS_ANNOTATION } from '../datapath/imds-permission.ts';
import type { Found } from './finding.ts';

/** Nodes for which no ENIConfig applies, with the fix that also stands in the condition. */
export function checkSelection(picture: Picture): readonly Found[] {
  return picture.nodes.flatMap((node) => {
    const selection = replaySelection(picture, node)?.decision.selection;
    if (selection?.kind !== 'None') return [];
    return [
      {
        severity: 'error' as const,
        what: selection.message,
        why: `pods on node ${node.name} get no address until it is put right`,
        fix: selection.fix,
      },
    ];
  });
}

export function checkPublished(picture: Picture): readonly Found[] {
  const bare = picture.nodes.filter((node) => networkOf(picture, node.name) === undefined);
  if (bare.length === 0) return [];
  const all = bare.length === picture.nodes.length;
  return [
    {
      severity: 'error',
      what: `${bare.length} of ${picture.nodes.length} nodes have no NodeNetwork: ${listed(bare.map((one) => one.name))}`,
      why: all
        ? 'the controller is not installed or does not run: no pod gets an address'
        : 'the controller has not come to these nodes, or cannot see their instances',
      fix: all
        ? 'kubectl --namespace kube-system get deployments,pods -l app.kubernetes.io/name=eniwhere'
        : `eniwhere explain node ${bare[0]?.name ?? ''}`,
    },
  ];
}

/** The AWS CNI's own DaemonSet: two programs would configure the same interfaces. */
export function checkAwsCni(picture: Picture): readonly Found[] {
  const running = picture.pods.filter(
    (pod) => pod.namespace === 'kube-system' && /^aws-node-[a-z0-9]{5}$/.test(pod.name) && !pod.finished,
  );
  if (running.length === 0) return [];
  const both = picture.networks.length > 0;
  return [
    {
      severity: both ? 'error' : 'info',
      what: `the AWS VPC CNI runs on ${running.length} nodes (DaemonSet kube-system/aws-node)`,
      why: both
        ? 'it and Eniwhere would both create ENIs and write rules on the same nodes'
        : 'it has to go from a node before Eniwhere serves it',
      fix: 'kubectl --namespace kube-system delete daemonset aws-node',
    },
  ];
}

export function checkAgents(picture: Picture): readonly Found[] {
  return picture.networks.flatMap(({ name, status }) => {
    const ready = status.conditions.find((one) => one.type === 'AgentReady');
    if (ready?.status === 'True') return [];
    return [
      {
        severity: 'error' as const,
        what: `the agent of node ${name} does not serve: ${ready?.message ?? 'it has never reported'}`,
        why: 'new pods on the node are not wired; those that run go on',
        fix: `kubectl --namespace kube-system logs --selector app.kubernetes.io/component=agent --field-selector spec.nodeName=${name}`,
      },
    ];
  });
}

/** What EC2 refuses to the controller, by the conditions that it keeps: before any pod has to wait for it. */
export function checkRefusals(picture: Picture): readonly Found[] {
  const nodes = new Map<string, string[]>();
  for (const network of picture.networks)
    for (const message of refusalsOf(network)) {
      // The same for many nodes, but for the instance that it was about.
      const text = message.replaceAll(network.spec.instance.instanceId, 'INSTANCE');
      nodes.set(text, [...(nodes.get(text) ?? []), network.name]);
    }
  return [...nodes].map(([text, names]) => {
    const at = text.lastIndexOf('; ');
    return {
      severity: 'error' as const,
      what: `${text.slice(0, at)} (${listed(names)})`,
      why: 'the nodes get no further addresses: pods on them wait, or will',
      fix: text.slice(at + 2),
    };
  });
}

export function checkWaiting(picture: Picture): readonly Found[] {
  return picture.nodes.flatMap((node) => {
    const { addresses, selection, missing } = explainNode(picture, node.name);
    const waiting = addresses?.waiting ?? [];
    // A node without a selection has its own finding.
    if (waiting.length === 0 || missing.length === 0 || selection?.kind === 'None') return [];
    return [
      {
        severity: 'error' as const,
        what: `${waiting.length} pods wait for an address on node ${node.name}: ${listed(waiting)}`,
        why: missing.join('; '),
        fix: `eniwhere explain node ${node.name}`,
      },
    ];
  });
}

/** Whether kubelet was told a number of pods that the node has addresses for (U01, U86). */
export function checkMaxPods(picture: Picture): readonly Found[] {
  return picture.nodes.flatMap((node) => {
    const type = instanceOf(picture, node)?.instanceType;
    const limits = picture.limits.get(type ?? '');
    const told = node.podCapacity;
    if (limits === undefined || told === undefined) return [];
    // What the node really holds its addresses in, not what somebody wished for (U86).
    const prefix = networkOf(picture, node.name)?.spec.mode === 'Prefix';
    const { addressSum, maxPods: right } = maxPods({ limits, customNetworking: true, prefix });
    if (told <= addressSum) return [];
    return [
      {
        severity: 'warning' as const,
        what: `kubelet on node ${node.name} takes ${told} pods, and ${type} has addresses for ${addressSum}`,
        why: `the scheduler binds up to ${told - addressSum} pods to it that will never get an address there`,
        fix: `set max pods to ${right}: eniwhere userdata --instance-type ${type} --help`,
      },
    ];
  });
}

export function checkStartupTaint(picture: Picture): readonly Found[] {
  const { startupTaint, targets } = picture.settings;
  return picture.nodes.flatMap((node): readonly Found[] => {
    const network = networkOf(picture, node.name);
    if (network === undefined || !node.taints.some((one) => one.key === startupTaint)) return [];
    const serves = networkServes(network, targets);
    if (!serves.serves)
      return [
        {
          severity: 'info' as const,
          what: `node ${node.name} still has its startup taint: ${serves.because}`,
          why: 'no pod is scheduled onto it until its network serves',
          fix: `eniwhere explain node ${node.name}`,
        },
      ];
    return [
      {
        severity: 'warning' as const,
        what: `node ${node.name} serves and still has the startup taint ${startupTaint}`,
        why: 'no pod is scheduled onto it; the controller takes the taint away within seconds when it runs',
        fix: `kubectl taint node ${node.name} ${startupTaint}-`,
      },
    ];
  });
}

/** The label that selection goes by, on nodes where nothing else decides before it. */
export function checkLabels(picture: Picture): readonly Found[] {
  const { customNetworking, labelKey } = picture.settings.selection;
  if (!customNetworking || labelKey === 'k8s.amazonaws.com/eniConfig') return [];
  const without = picture.nodes.filter((node) => !Object.hasOwn(node.labels, labelKey));
  if (without.length === 0) return [];
  return [
    {
      severity: 'warning',
      what: `${without.length} nodes have no label ${labelKey}, by which ENI_CONFIG_LABEL_DEF selects: ${listed(without.map((one) => one.name))}`,
      why: 'for them the rules after the label decide, and so perhaps another subnet than is meant',
      fix: `kubectl label node ${without[0]?.name ?? 'NAME'} ${labelKey}=ENICONFIG`,
    },
  ];
}

/** Pods that may read instance metadata need one hop more than the node itself. */
export const metadataPods = (picture: Picture): readonly string[] =>
  picture.nodes.flatMap((node) =>
    podsOn(picture, node.name)
      .filter((pod) => pod.annotations[ALLOW_IMDS_ANNOTATION] === 'true')
      .map((pod) => pod.key),
  );
