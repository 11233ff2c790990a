// The tags by which an ENI of ours is known. Only an ENI with this cluster's own tag is ever changed (ENI-2).

import { type IntentId, intentId } from '../ids.ts';
import type { Intent } from './node-network.ts';

/** Value: the cluster's name. Nobody but Eniwhere writes this key. */
export const OWNER_TAG = 'eniwhere.io/cluster';
/** Value: ENIConfig name, empty for the node's own subnet. */
export const ENI_CONFIG_TAG = 'eniwhere.io/eni-config';
/** Value: id of the intent that made it. */
export const INTENT_TAG = 'eniwhere.io/intent';
/** Value: name of the node that it was made for. */
export const NODE_TAG = 'eniwhere.io/node';
/** The AWS VPC CNI's own keys, kept so that users' scripts and dashboards go on working. */
const CLUSTER_NAME_TAG = 'cluster.k8s.amazonaws.com/name';
export const INSTANCE_TAG = 'node.k8s.amazonaws.com/instance_id';
export const CREATED_AT_TAG = 'node.k8s.amazonaws.com/createdAt';

type Tags = Readonly<Record<string, string>>;

/** For whom an ENI is made. */
export interface EniOwner {
  readonly clusterName: string;
  readonly nodeName: string;
  readonly instanceId: string;
}

/**
 * Tags of a new ENI. A function of the intent alone, because a retry must repeat the request exactly
 * (IdempotentParameterMismatch otherwise).
 */
export function eniTags(owner: EniOwner, intent: Intent): Tags {
  const { clusterName, nodeName, instanceId } = owner;
  return {
    [OWNER_TAG]: clusterName,
    [NODE_TAG]: nodeName,
    [ENI_CONFIG_TAG]: intent.eniConfig,
    [INTENT_TAG]: intent.id,
    [CLUSTER_NAME_TAG]: clusterName,
    [INSTANCE_TAG]: instanceId,
    [CREATED_AT_TAG]: String(intent.notedAt),
  };
}

export const isOwned = (tags: Tags, clusterName: string): boolean => tags[OWNER_TAG] === clusterName;

export function intentOf(tags: Tags): IntentId | undefined {
  const id = tags[INTENT_TAG];
  return id === undefined ? undefined : intentId(id);
}
