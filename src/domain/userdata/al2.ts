// Amazon Linux 2: a shell part that runs /etc/eks/bootstrap.sh. https://github.com/awslabs/amazon-eks-ami (al2)

import { chooseFunctions, chooseHere } from './choose-script.ts';
import { mimeDocument, shellPart } from './mime.ts';
import {
  type ClusterAccess,
  limitNotes,
  smallest,
  STARTUP_TAINT,
  type UserDataAnswer,
  type UserDataRequest,
} from './request.ts';
import { labelList, shellWord } from './words.ts';

const END_OF_LIFE = 'Amazon EKS publishes no new AMIs of Amazon Linux 2 since 26 November 2025';

export function al2Document(request: UserDataRequest, access: ClusterAccess): UserDataAnswer {
  const least = smallest(request.maxPods);
  return {
    kind: 'Document',
    format: 'mime',
    text: mimeDocument([shellPart(script(request, access, least?.maxPods ?? 0))]),
    effectiveMaxPods: least?.maxPods,
    notes: [...limitNotes(request.maxPods), END_OF_LIFE],
  };
}

function script(request: UserDataRequest, access: ClusterAccess, maxPods: number): string {
  const { byAddress, labels, startupTaint, labelKey } = request;
  const chooses = byAddress.length > 0;
  const fixed = labelList(labels);
  const chosen = chooses ? [`${labelKey}=$eniwhere_eni_config`] : [];
  const nodeLabels = [...(fixed === '' ? [] : [fixed]), ...chosen].join(',');
  const { key, value, effect } = STARTUP_TAINT;
  const kubeletArguments = [
    `--max-pods=${maxPods}`,
    ...(nodeLabels === '' ? [] : [`--node-labels=${nodeLabels}`]),
    ...(startupTaint ? [`--register-with-taints=${key}=${value}:${effect}`] : []),
  ].join(' ');
  return [
    '#!/bin/bash',
    'set -euo pipefail',
    ...(chooses ? ['', chooseFunctions(byAddress), '', chooseHere()] : []),
    '',
    // Kubernetes label keys and values have no character that a double-quoted word would expand.
    `/etc/eks/bootstrap.sh ${shellWord(access.name)} \\`,
    `  --apiserver-endpoint ${shellWord(access.endpoint)} \\`,
    `  --b64-cluster-ca ${shellWord(access.certificateAuthority)} \\`,
    '  --use-max-pods false \\',
    `  --kubelet-extra-args "${kubeletArguments}"`,
  ].join('\n');
}
