// Checks of what runs on nodes: their kernels, DNS servers that share an ENI, pods that ask for branch ENIs.

import { listed } from '../explain/explain-node.ts';
import { networkOf, type Picture, type PicturePod } from '../explain/picture.ts';
import type { Found } from './finding.ts';

/**
 * SNAT in a table of family inet, which the node's nftables table is: nft(8), NAT statements. Everything else that the
 * node's network needs is older.
 */
const KERNEL_MIN = { major: 5, minor: 2 } as const;

/** `5.10.226-214.880.amzn2.x86_64` -> 5 and 10; undefined for what is no kernel's version. */
function kernelOf(text: string | undefined): { readonly major: number; readonly minor: number } | undefined {
  const match = /^(\d+)\.(\d+)(?:\D|$)/.exec(text ?? '');
  return match === null ? undefined : { major: Number(match[1]), minor: Number(match[2]) };
}

/** Whether a node's kernel is known. */
export const knowsKernels = (picture: Picture): boolean =>
  picture.nodes.some((node) => kernelOf(node.kernelVersion) !== undefined);

export function checkKernels(picture: Picture): readonly Found[] {
  const old = new Map<string, string[]>();
  for (const { name, kernelVersion } of picture.nodes) {
    const kernel = kernelOf(kernelVersion);
    if (kernel === undefined || kernelVersion === undefined) continue;
    const { major, minor } = kernel;
    if (major > KERNEL_MIN.major || (major === KERNEL_MIN.major && minor >= KERNEL_MIN.minor)) continue;
    old.set(kernelVersion, [...(old.get(kernelVersion) ?? []), name]);
  }
  return [...old].map(([version, nodes]) => ({
    severity: 'error',
    what: `kernel ${version} of ${listed(nodes)} is older than ${KERNEL_MIN.major}.${KERNEL_MIN.minor}`,
    why: 'it has no SNAT in nftables tables of family inet: the agent cannot apply its table, and pods of the node are not wired',
    fix: 'start the nodes from an image with a newer kernel: Amazon Linux 2023, Bottlerocket, or Amazon Linux 2 with kernel 5.4 or 5.10',
  }));
}

/** Pods of CoreDNS and kube-dns, by the label that both carry. */
export const dnsPods = (picture: Picture): readonly PicturePod[] =>
  picture.pods.filter(
    (pod) => pod.namespace === 'kube-system' && pod.labels['k8s-app'] === 'kube-dns' && !pod.finished,
  );

/** The VPC's resolver takes so many packets a second from one ENI, and no quota can be raised (U100). */
const RESOLVER_PACKETS_PER_SECOND = 1024;

/**
 * DNS servers that share an ENI share what the resolver takes from it.
 * https://docs.aws.amazon.com/vpc/latest/userguide/AmazonDNS-concepts.html
 */
export function checkDnsEnis(picture: Picture): readonly Found[] {
  const byEni = new Map<string, { node: string; pods: string[] }>();
  for (const pod of dnsPods(picture)) {
    if (pod.nodeName === undefined) continue;
    const network = networkOf(picture, pod.nodeName);
    const address = network?.status.used.find((one) => one.pod === pod.key)?.ip;
    const eni = network?.spec.enis.find((one) =>
      pod.hostNetwork ? one.primary : address !== undefined && one.addresses.includes(address),
    );
    if (eni === undefined) continue;
    const entry = byEni.get(eni.eniId) ?? { node: pod.nodeName, pods: [] };
    entry.pods.push(pod.key);
    byEni.set(eni.eniId, entry);
  }
  return [...byEni]
    .filter(([, { pods }]) => pods.length > 1)
    .map(([eniId, { node, pods }]) => ({
      severity: 'warning',
      what: `${listed(pods)} share ${eniId} of node ${node}`,
      why: `the VPC's resolver takes ${RESOLVER_PACKETS_PER_SECOND} packets a second from one ENI and drops the rest: under load, names do not resolve now and then (linklocal_allowance_exceeded in ethtool -S)`,
      fix: `kubectl --namespace kube-system patch deployment coredns --patch '{"spec":{"template":{"spec":{"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"kubernetes.io/hostname","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"k8s-app":"kube-dns"}}}]}}}}'`,
    }));
}

/** Eniwhere makes no branch ENIs: security groups are those of a pod's ENIConfig (U37). */
export function checkBranchEnis(picture: Picture): readonly Found[] {
  const asking = picture.pods.filter((pod) => pod.asksBranchEni === true && !pod.finished);
  const named = (pods: readonly PicturePod[]): string => listed(pods.map((pod) => pod.key));
  const waiting = asking.filter((pod) => pod.nodeName === undefined);
  const bound = asking.filter((pod) => pod.nodeName !== undefined);
  const found: Found[] = [];
  if (bound.length > 0)
    found.push({
      severity: 'error',
      what: `${named(bound)} asked for a branch ENI (vpc.amazonaws.com/pod-eni) and run on nodes of Eniwhere's`,
      why: 'their security groups are those of the ENI that holds their address, not those of their SecurityGroupPolicy',
      fix: BRANCH_ENI_FIX,
    });
  if (waiting.length > 0)
    found.push({
      severity: 'error',
      what: `${named(waiting)} wait for a node with a free branch ENI (vpc.amazonaws.com/pod-eni), which none has`,
      why: 'a SecurityGroupPolicy matches them; Eniwhere makes no branch ENIs, so no node ever offers the resource',
      fix: BRANCH_ENI_FIX,
    });
  return found;
}

const BRANCH_ENI_FIX =
  'give the groups to an ENIConfig, annotate the pods with eniwhere.io/eni-config=NAME (docs/pods-that-choose.md), delete the SecurityGroupPolicy, and make the pods anew';
