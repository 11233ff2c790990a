// What the fabric's namespaces and links are called.

import type { EniId, InstanceId } from '../../domain/ids.ts';
import type { AttachmentTruth } from './vpc-truth.ts';

/** Where iproute2 keeps its namespaces. */
export const NETNS_DIRECTORY = '/run/netns';

export const netnsPath = (namespace: string): string => `${NETNS_DIRECTORY}/${namespace}`;

/** Without a dash, so that the namespaces of one prefix never begin with those of another. */
export const PREFIX_PATTERN: RegExp = /^[a-z][a-z0-9]{0,15}$/;

export interface NamespaceNames {
  readonly router: string;
  readonly internet: string;
  readonly onPrem: string;
  node(instanceId: InstanceId): string;
  pod(instanceId: InstanceId, podName: string): string;
  /** Whether a namespace is one of this prefix. */
  isOurs(namespace: string): boolean;
}

/** `nodeName` is asked once for each instance, so that its namespace keeps its name. */
export function namespaceNames(prefix: string, nodeName: (instanceId: InstanceId) => string): NamespaceNames {
  const nodes = new Map<InstanceId, string>();
  // A namespace is a file: a slash would name a directory.
  const fileName = (text: string): string => text.replaceAll(/[^A-Za-z0-9._-]/g, '-');
  const node = (instanceId: InstanceId): string => {
    const name = nodes.get(instanceId) ?? `${prefix}-${fileName(nodeName(instanceId))}`;
    nodes.set(instanceId, name);
    return name;
  };
  return {
    router: `${prefix}-vpc-router`,
    internet: `${prefix}-internet`,
    onPrem: `${prefix}-onprem`,
    node,
    pod: (instanceId, podName) => `${node(instanceId)}-pod-${fileName(podName)}`,
    isOurs: (namespace) => namespace.startsWith(`${prefix}-`),
  };
}

/** Hex digits of an ENI id that fit into a link's name (15 characters) after `eni`; ids are random in all of them. */
const ENI_DIGIT_COUNT = 12;

/** The router's end of an ENI. */
export const routerLink = (eniId: EniId): string =>
  `eni${eniId.slice('eni-'.length).slice(-ENI_DIGIT_COUNT)}`;

/** Links per network card that get a name of their own; EC2 has at most 15 ENIs on a card. */
const ENIS_PER_CARD = 16;

const linkNumber = (attachment: AttachmentTruth): number =>
  attachment.networkCardIndex * ENIS_PER_CARD + attachment.deviceIndex;

/** The node's end of an ENI, once udev is done with it. */
export const nodeLink = (attachment: AttachmentTruth): string => `eth${linkNumber(attachment)}`;

/** The node's end before udev renames it. */
export const temporaryNodeLink = (attachment: AttachmentTruth): string => `renamed${linkNumber(attachment)}`;
