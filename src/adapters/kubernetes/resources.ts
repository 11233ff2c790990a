// Where each kind lives in the API, and how its objects are read.

import { err, ok, type Result } from '../../domain/result.ts';
import type { Kind, KindMap, WatchScope } from '../../ports/cluster.ts';
import { ENI_CONFIG_API_VERSION, ENI_CONFIG_KIND } from '../../protocol/crd/eni-config.ts';
import { readEniConfig } from '../../protocol/crd/eni-config-object.ts';
import { readNode } from '../../protocol/crd/node.ts';
import {
  NODE_NETWORK_API_VERSION,
  NODE_NETWORK_KIND,
  readNodeNetwork,
} from '../../protocol/crd/node-network.ts';
import { readNamespace } from '../../protocol/crd/namespace.ts';
import {
  NODE_NETWORK_CLASS_API_VERSION,
  NODE_NETWORK_CLASS_KIND,
} from '../../protocol/crd/node-network-class.ts';
import { readNodeNetworkClass } from '../../protocol/crd/node-network-class-object.ts';
import type { Unreadable } from '../../protocol/crd/object.ts';
import { readPod } from '../../protocol/crd/pod.ts';

export interface Resource<K extends Kind> {
  /** Path of the whole list. */
  readonly path: string;
  /** Plural and group, as in `kubectl get`. */
  readonly plural: string;
  readonly apiVersion: string;
  readonly kindName: string;
  readonly read: (value: unknown) => Result<KindMap[K], Unreadable>;
}

const RESOURCES: { readonly [K in Kind]: Resource<K> } = {
  Node: { path: '/api/v1/nodes', plural: 'nodes', apiVersion: 'v1', kindName: 'Node', read: readNode },
  Pod: { path: '/api/v1/pods', plural: 'pods', apiVersion: 'v1', kindName: 'Pod', read: readPod },
  EniConfig: {
    path: `/apis/${ENI_CONFIG_API_VERSION}/eniconfigs`,
    plural: 'eniconfigs.crd.k8s.amazonaws.com',
    apiVersion: ENI_CONFIG_API_VERSION,
    kindName: ENI_CONFIG_KIND,
    read: readEniConfig,
  },
  NodeNetwork: {
    path: `/apis/${NODE_NETWORK_API_VERSION}/nodenetworks`,
    plural: 'nodenetworks.eniwhere.io',
    apiVersion: NODE_NETWORK_API_VERSION,
    kindName: NODE_NETWORK_KIND,
    read: readNodeNetwork,
  },
  NodeNetworkClass: {
    path: `/apis/${NODE_NETWORK_CLASS_API_VERSION}/nodenetworkclasses`,
    plural: 'nodenetworkclasses.eniwhere.io',
    apiVersion: NODE_NETWORK_CLASS_API_VERSION,
    kindName: NODE_NETWORK_CLASS_KIND,
    read: readNodeNetworkClass,
  },
  Namespace: {
    path: '/api/v1/namespaces',
    plural: 'namespaces',
    apiVersion: 'v1',
    kindName: 'Namespace',
    read: readNamespace,
  },
};

export const resourceOf = <K extends Kind>(kind: K): Resource<K> => RESOURCES[kind];

/** `namespace/name` of pods, else the name. */
export const keyOf = (record: KindMap[Kind]): string => ('key' in record ? record.key : record.name);

/** Path of one object; pods are named `namespace/name`. An error for a pod's name without a namespace. */
export function objectPath(kind: Kind, name: string): Result<string, string> {
  const { path } = resourceOf(kind);
  if (kind !== 'Pod') return ok(`${path}/${encodeURIComponent(name)}`);
  const [namespace = '', podName = '', ...rest] = name.split('/');
  return namespace === '' || podName === '' || rest.length > 0
    ? err(`"${name}" is no namespace/name of a pod`)
    : ok(`/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(podName)}`);
}

/** The API server's own narrowing. */
export function fieldSelector({ name, nodeName }: WatchScope): string | undefined {
  const terms = [
    ...(name === undefined ? [] : [`metadata.name=${name}`]),
    ...(nodeName === undefined ? [] : [`spec.nodeName=${nodeName}`]),
  ];
  return terms.length === 0 ? undefined : terms.join(',');
}
