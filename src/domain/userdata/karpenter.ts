// Karpenter: an EC2NodeClass and a NodePool. https://karpenter.sh/docs/concepts/nodeclasses/

import { karpenterUserData } from './al2023.ts';
import { settings } from './bottlerocket.ts';
import { smallest, STARTUP_TAINT, type UserDataAnswer, type UserDataRequest } from './request.ts';
import { indent, quoted } from './words.ts';

/**
 * Labels and taints stand in the NodePool, not in the user data: Karpenter has to know them before it has a node, else
 * it launches nodes again and again for pods that wait. Max pods stands in the EC2NodeClass for the same reason.
 */
export function karpenterDocument(request: UserDataRequest): UserDataAnswer {
  const { os, byAddress, bootstrapImage } = request;
  if (os === 'al2')
    return refusal(
      'Karpenter nodes of Amazon Linux 2 are not made: EKS publishes no new AMIs of it',
      'take al2023 or bottlerocket',
    );
  if (os === 'bottlerocket' && byAddress.length > 0 && bootstrapImage === undefined)
    return refusal(
      'Bottlerocket runs no script of its user data, so a node cannot choose its ENIConfig by its address',
      'let the controller choose by a NodeNetworkClass, or give --bootstrap-image',
    );
  const figures = new Set(request.maxPods.map((one) => one.maxPods));
  const shared = figures.size === 1 ? smallest(request.maxPods)?.maxPods : undefined;
  return {
    kind: 'Document',
    format: 'yaml',
    text: [...nodeClass(request, shared), '---', ...nodePool(request), ''].join('\n'),
    effectiveMaxPods: shared,
    notes:
      shared === undefined
        ? [
            `the types hold different numbers of pods (${request.maxPods.map((one) => `${one.instanceType} ${one.maxPods}`).join(', ')}), so max pods is left to Karpenter; set its --reserved-enis (RESERVED_ENIS) to 1, and it computes these figures, but for the ceiling`,
          ]
        : [],
  };
}

const refusal = (message: string, fix: string): UserDataAnswer => ({
  kind: 'Refused',
  code: 'NoShell',
  message,
  fix,
});

function nodeClass(request: UserDataRequest, maxPods: number | undefined): readonly string[] {
  const { clusterName, os } = request;
  const discovery = `    - tags: { karpenter.sh/discovery: ${quoted(clusterName)} }`;
  return [
    'apiVersion: karpenter.k8s.aws/v1',
    'kind: EC2NodeClass',
    'metadata:',
    '  name: eniwhere',
    'spec:',
    `  role: ${quoted(`KarpenterNodeRole-${clusterName}`)}`,
    '  amiSelectorTerms:',
    `    - alias: ${os}@latest`,
    '  subnetSelectorTerms:',
    discovery,
    '  securityGroupSelectorTerms:',
    discovery,
    ...(maxPods === undefined ? [] : ['  kubelet:', `    maxPods: ${maxPods}`]),
    ...userData(request),
  ];
}

function userData(request: UserDataRequest): readonly string[] {
  if (request.byAddress.length === 0) return [];
  if (request.os === 'al2023') return ['  userData: |', karpenterUserData(request)];
  // Karpenter itself sets cluster, labels, taints and max pods in the TOML.
  const own = settings({ ...request, labels: new Map(), startupTaint: false }, undefined, undefined);
  return ['  userData: |', indent(own.slice(2).join('\n'), 4)];
}

function nodePool({ labels, startupTaint, maxPods }: UserDataRequest): readonly string[] {
  const types = maxPods.map((one) => one.instanceType).filter((type) => type !== '');
  const { key, value, effect } = STARTUP_TAINT;
  return [
    'apiVersion: karpenter.sh/v1',
    'kind: NodePool',
    'metadata:',
    '  name: eniwhere',
    'spec:',
    '  template:',
    ...(labels.size === 0
      ? []
      : [
          '    metadata:',
          '      labels:',
          ...[...labels].map(([name, text]) => `        ${quoted(name)}: ${quoted(text)}`),
        ]),
    '    spec:',
    '      nodeClassRef:',
    '        group: karpenter.k8s.aws',
    '        kind: EC2NodeClass',
    '        name: eniwhere',
    ...(startupTaint
      ? [
          '      startupTaints:',
          `        - { key: ${quoted(key)}, value: ${quoted(value)}, effect: ${effect} }`,
        ]
      : []),
    '      requirements:',
    '        - key: kubernetes.io/os',
    '          operator: In',
    '          values: ["linux"]',
    ...(types.length === 0
      ? []
      : [
          '        - key: node.kubernetes.io/instance-type',
          '          operator: In',
          `          values: [${types.map(quoted).join(', ')}]`,
        ]),
  ];
}
