// The Kubernetes adapter over HTTP, held to the contract of its port.

import { after } from 'node:test';
import type { NodeName } from '../../domain/ids.ts';
import { clusterContract } from '../../ports/cluster.contract.ts';
import { readEniConfig } from '../../protocol/crd/eni-config-object.ts';
import { readNode } from '../../protocol/crd/node.ts';
import { readNodeNetworkClass } from '../../protocol/crd/node-network-class-object.ts';
import { ENI_CONFIGS, NAMESPACES, NODE_NETWORK_CLASSES, NODES, PODS } from './testing-api-server.ts';
import { createWorld } from './testing-world.ts';

const valueOf = <T>(result: { readonly ok: true; readonly value: T } | { readonly ok: false }): T => {
  if (!result.ok) throw new Error('the object made for the test cannot be read');
  return result.value;
};

const ends: (() => Promise<void>)[] = [];
after(async () => {
  for (const end of ends) await end();
});

clusterContract('kubernetes adapter', async () => {
  const { api, cluster, clock } = await createWorld((end) => ends.push(end));
  const { store } = api;
  return {
    cluster,
    clock,
    run: (work) => work(),
    applyNode: async (name: NodeName, label) =>
      valueOf(
        readNode(
          store.put(NODES, name, {
            metadata: { name, ...(label === undefined ? {} : { labels: { [label.key]: label.value } }) },
            spec: {},
          }),
        ),
      ),
    deleteNode: async (name) => void store.delete(NODES, name),
    applyPod: async ({ namespace, name, nodeName }) =>
      void store.put(PODS, `${namespace}/${name}`, {
        metadata: { name, namespace },
        spec: nodeName === undefined ? {} : { nodeName },
      }),
    deletePod: async ({ namespace, name }) => void store.delete(PODS, `${namespace}/${name}`),
    applyEniConfig: async (name, subnet) =>
      valueOf(
        readEniConfig(
          store.put(ENI_CONFIGS, name, {
            apiVersion: 'crd.k8s.amazonaws.com/v1alpha1',
            kind: 'ENIConfig',
            metadata: { name },
            spec: { subnet },
          }),
        ),
      ),
    taintNode: async (name, taints) => {
      const before = store.get(NODES, name);
      store.put(NODES, name, { metadata: { ...before?.metadata, name }, spec: { taints } });
    },
    applyNodeNetworkClass: async (name, names) =>
      valueOf(
        readNodeNetworkClass(
          store.put(NODE_NETWORK_CLASSES, name, {
            apiVersion: 'eniwhere.io/v1alpha1',
            kind: 'NodeNetworkClass',
            metadata: { name },
            spec: { eniConfigs: { names } },
          }),
        ),
      ),
    applyNamespace: async (name, { key, value }) =>
      void store.put(NAMESPACES, name, { metadata: { name, annotations: { [key]: value } } }),
  };
});
