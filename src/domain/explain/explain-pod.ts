// Why a pod has the address that it has, or none.

import { compareIps } from '../address/ip-number.ts';
import type { SpecEni } from '../ipam/node-network.ts';
import { explainNode, listed, type NodeExplanation } from './explain-node.ts';
import { networkOf, type Picture, type PicturePod } from './picture.ts';

export interface PodExplanation {
  readonly kind: 'Pod';
  readonly name: string;
  readonly found: boolean;
  /** What there is to say first, in a sentence. */
  readonly state: string;
  readonly address?: string;
  /** Where it has one of each family: both, IPv4 first. */
  readonly addresses?: readonly string[];
  readonly eni?: {
    readonly eniId: string;
    readonly eniConfig: string;
    readonly subnet: string;
    readonly subnetCidr: string;
    readonly securityGroups: readonly string[];
    readonly cordoned: boolean;
  };
  /** The ENIConfig that the pod asked for itself and got, or why it was refused; absent: it takes what the node has. */
  readonly choice?: { readonly eniConfig: string } | { readonly refused: string };
  readonly missing: readonly string[];
  readonly next: readonly string[];
  /** Of the node that it is bound to. */
  readonly node?: NodeExplanation;
}

const none = { missing: [], next: [] };

/** Security groups for pods of the AWS VPC CNI. */
const NO_BRANCH_ENI =
  'a container asks for vpc.amazonaws.com/pod-eni, as EKS has pods do that a SecurityGroupPolicy matches, and no node offers it: Eniwhere gives security groups by ENIConfig; annotate the pod with eniwhere.io/eni-config=NAME and delete the policy';

export function explainPod(picture: Picture, key: string): PodExplanation {
  const pod = picture.pods.find((one) => one.key === key);
  const base = { kind: 'Pod' as const, name: key };
  if (pod === undefined) {
    const others = picture.pods.filter((one) => one.name === key.slice(key.indexOf('/') + 1));
    const hint = others.length === 0 ? '' : `; there is ${listed(others.map((one) => one.key))}`;
    const state = `there is no pod "${key}"${hint}`;
    return { ...base, ...none, found: false, state, missing: [state] };
  }
  const found = { ...base, found: true };
  if (pod.hostNetwork)
    return { ...found, ...none, state: "it is on the host's network and has its node's address" };
  if (pod.finished) return { ...found, ...none, state: 'it has ended and holds no address any more' };
  if (pod.nodeName === undefined)
    return {
      ...found,
      ...none,
      state: 'it is not bound to a node yet: the scheduler decides that, by max pods and resources',
      ...(pod.asksBranchEni === true ? { missing: [NO_BRANCH_ENI] } : {}),
    };
  const node = explainNode(picture, pod.nodeName);
  return { ...found, ...onNode(picture, pod, node), node };
}

function onNode(
  picture: Picture,
  pod: PicturePod,
  node: NodeExplanation,
): Pick<PodExplanation, 'state' | 'address' | 'addresses' | 'eni' | 'choice' | 'missing' | 'next'> {
  const network = networkOf(picture, node.name);
  const decision = network?.spec.choosing?.pods.find((one) => one.pod === pod.key);
  const choice =
    decision === undefined
      ? {}
      : {
          choice:
            decision.kind === 'EniConfig' ? { eniConfig: decision.eniConfig } : { refused: decision.message },
        };
  // IPv4 first: that is the one which an ENI holds.
  const addresses = (network?.status.used ?? [])
    .filter((one) => one.pod === pod.key)
    .map(({ ip }) => ip)
    .sort(compareIps);
  const [address] = addresses;
  if (address === undefined) {
    const isWaiting = node.addresses?.waiting.includes(pod.key) ?? true;
    return {
      state: isWaiting
        ? `it waits for an address on node ${node.name}`
        : `node ${node.name} does not know of it yet`,
      ...choice,
      missing: decision?.kind === 'Refused' ? [decision.message] : node.missing,
      next: node.next,
    };
  }
  const eni = network?.spec.enis.find((one) => (one.addresses as readonly string[]).includes(address));
  return {
    state: `it has ${addresses.join(' and ')} on node ${node.name}`,
    address,
    ...(addresses.length > 1 ? { addresses } : {}),
    ...choice,
    ...(eni === undefined ? {} : { eni: eniOf(eni) }),
    missing:
      eni === undefined
        ? [`no ENI of the node holds ${address} any more: the address is not the pod's by EC2`]
        : [],
    next:
      eni?.cordoned === true
        ? [`the pod keeps ${address} as long as it lives; its ENI ${eni.eniId} takes no new pods`]
        : [],
  };
}

const eniOf = (eni: SpecEni): NonNullable<PodExplanation['eni']> => ({
  eniId: eni.eniId,
  eniConfig: eni.eniConfig,
  subnet: eni.subnetId,
  subnetCidr: eni.subnetCidr,
  securityGroups: eni.securityGroupIds,
  cordoned: eni.cordoned,
});
