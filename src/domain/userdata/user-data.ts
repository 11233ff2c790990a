// The boot document for a launch template: only what survives what EKS or Karpenter add to it.

import { al2Document } from './al2.ts';
import { al2023Document } from './al2023.ts';
import { bottlerocketDocument } from './bottlerocket.ts';
import { karpenterDocument } from './karpenter.ts';
import type { UserDataAnswer, UserDataRequest } from './request.ts';

/**
 * Pure. Refuses by name what could not come true on the node: a managed node group of Amazon Linux 2 without an AMI id
 * takes nothing, and a node that nobody joins to its cluster needs to be told of it.
 */
export function userData(request: UserDataRequest): UserDataAnswer {
  const { os, starter, access } = request;
  const overfull = request.maxPods.find((one) => one.maxPods > one.possible);
  if (overfull !== undefined)
    return {
      kind: 'Refused',
      code: 'TooManyPods',
      message: `${overfull.maxPods} pods are more than ${overfull.instanceType} has addresses for: it holds ${overfull.possible}; the others would wait on it for ever`,
      fix: `leave --max-pods out, or give at most ${overfull.possible} (eniwhere max-pods shows the sum)`,
    };
  if (starter === 'karpenter') return karpenterDocument(request);
  if (starter === 'managed') {
    if (os === 'al2') return nothingSurvives(request);
    return os === 'al2023' ? al2023Document(request, undefined) : bottlerocketDocument(request, undefined);
  }
  if (access === undefined)
    return {
      kind: 'Refused',
      code: 'ClusterAccessNeeded',
      message: `the nodes are ${starter}, so their user data has to join them to the cluster`,
      fix:
        'give --endpoint, --certificate-authority and --service-cidr, as this prints them: aws eks describe-cluster ' +
        `--name ${request.clusterName} --query 'cluster.[endpoint,certificateAuthority.data,kubernetesNetworkConfig.serviceIpv4Cidr]'`,
    };
  switch (os) {
    case 'al2':
      return al2Document(request, access);
    case 'al2023':
      return al2023Document(request, access);
    case 'bottlerocket':
      return bottlerocketDocument(request, access);
  }
}

/** EKS runs bootstrap.sh with its own --max-pods: the smallest of the types', primary ENI included (U21). */
function nothingSurvives({ maxPods }: UserDataRequest): UserDataAnswer {
  const least = maxPods.reduce((a, b) => (b.unaware < a.unaware ? b : a));
  const type = least.instanceType === '' ? 'the smallest type' : least.instanceType;
  return {
    kind: 'Refused',
    code: 'NothingSurvives',
    message:
      'a managed node group of Amazon Linux 2 without an AMI id takes max pods, labels and taints from EKS alone: ' +
      `max pods would be ${least.unaware} on all nodes, limited by ${type}, whatever the user data says`,
    fix: 'name an AMI in the launch template (--nodes managed-with-ami), or take al2023; labels and taints belong to the node group itself',
  };
}
