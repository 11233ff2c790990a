// Amazon Linux 2023: NodeConfig for nodeadm. https://awslabs.github.io/amazon-eks-ami/nodeadm/

import { chooseFunctions, chooseHere } from './choose-script.ts';
import { type MimePart, mimeDocument, nodeConfigPart, shellPart } from './mime.ts';
import {
  type ClusterAccess,
  limitNotes,
  smallest,
  STARTUP_TAINT,
  type UserDataAnswer,
  type UserDataRequest,
} from './request.ts';
import { indent, labelList, quoted } from './words.ts';

/**
 * Files here are merged after all user data and take precedence, EKS's own part included (awslabs/amazon-eks-ami
 * PR 2427, AMIs from October 2025). cloud-init runs the script before nodeadm-run.service reads the folder.
 */
const DROP_IN = '/etc/eks/nodeadm.d/50-eniwhere.yaml';

/** EKS's own NodeConfig follows ours in a managed node group without an AMI id, and of two the later one holds. */
export function al2023Document(request: UserDataRequest, access: ClusterAccess | undefined): UserDataAnswer {
  const least = smallest(request.maxPods);
  const maxPods = least?.maxPods ?? 0;
  const dropIn = request.starter === 'managed' || request.byAddress.length > 0;
  return {
    kind: 'Document',
    format: 'mime',
    text: mimeDocument([
      ...(access === undefined ? [] : [nodeConfigPart(nodeConfig({ ...request, access, maxPods }))]),
      ...(dropIn ? [dropInPart(request, maxPods)] : []),
    ]),
    effectiveMaxPods: maxPods,
    notes: [
      ...limitNotes(request.maxPods),
      ...(dropIn
        ? ['needs an AMI of October 2025 or later: earlier ones do not read /etc/eks/nodeadm.d']
        : []),
      ...memoryNotes(request),
    ],
  };
}

/** nodeadm reserves memory for the pods of its own sum, not for the max pods that it is told. */
export function memoryNotes({ maxPods }: Pick<UserDataRequest, 'maxPods'>): readonly string[] {
  const least = smallest(maxPods);
  if (least === undefined || least.unaware >= least.maxPods) return [];
  return [
    `nodeadm reserves memory for the ${least.unaware} pods that it counts itself; for ${least.maxPods} pods set kubelet's kubeReserved memory to ${255 + 11 * least.maxPods}Mi`,
  ];
}

interface NodeConfigFields {
  readonly access?: ClusterAccess;
  readonly maxPods: number;
  readonly labels: ReadonlyMap<string, string>;
  readonly startupTaint: boolean;
}

function nodeConfig({ access, maxPods, labels, startupTaint }: NodeConfigFields): string {
  const { key, value, effect } = STARTUP_TAINT;
  const flags = [
    ...(labels.size === 0 ? [] : [`--node-labels=${labelList(labels)}`]),
    ...(startupTaint ? [`--register-with-taints=${key}=${value}:${effect}`] : []),
  ];
  return [
    'apiVersion: node.eks.aws/v1alpha1',
    'kind: NodeConfig',
    'spec:',
    ...(access === undefined ? [] : clusterLines(access)),
    '  kubelet:',
    '    config:',
    `      maxPods: ${maxPods}`,
    ...(flags.length === 0 ? [] : ['    flags:', ...flags.map((flag) => `      - ${quoted(flag)}`)]),
  ].join('\n');
}

const clusterLines = (access: ClusterAccess): readonly string[] => [
  '  cluster:',
  `    name: ${quoted(access.name)}`,
  `    apiServerEndpoint: ${quoted(access.endpoint)}`,
  `    certificateAuthority: ${quoted(access.certificateAuthority)}`,
  `    cidr: ${quoted(access.serviceCidr)}`,
];

/** kubelet adds the labels of several --node-labels flags together, so the choice needs none of the others' labels. */
function dropInPart(request: UserDataRequest, maxPods: number): MimePart {
  const { byAddress, labelKey, starter } = request;
  const chooses = byAddress.length > 0;
  const flag = chooses ? `      - "--node-labels=${labelKey}=$eniwhere_eni_config"` : '';
  const whole =
    starter === 'managed'
      ? nodeConfig({ maxPods, labels: request.labels, startupTaint: request.startupTaint })
      : ['apiVersion: node.eks.aws/v1alpha1', 'kind: NodeConfig', 'spec:', '  kubelet:'].join('\n');
  const hasFlags = /^ {4}flags:$/m.test(whole);
  const document = [whole, ...(chooses && !hasFlags ? ['    flags:'] : []), ...(chooses ? [flag] : [])].join(
    '\n',
  );
  return shellPart(
    [
      '#!/bin/bash',
      'set -euo pipefail',
      ...(chooses ? ['', chooseFunctions(byAddress), '', chooseHere()] : []),
      '',
      `mkdir -p ${DROP_IN.slice(0, DROP_IN.lastIndexOf('/'))}`,
      `cat >${DROP_IN} <<${chooses ? 'NODECONFIG' : "'NODECONFIG'"}`,
      document,
      'NODECONFIG',
    ].join('\n'),
  );
}

/** The user data of an EC2NodeClass: Karpenter adds its own NodeConfig with cluster, max pods and labels. */
export function karpenterUserData(request: UserDataRequest): string {
  const part = dropInPart({ ...request, starter: 'karpenter' }, 0);
  return indent(mimeDocument([part]).trimEnd(), 4);
}
