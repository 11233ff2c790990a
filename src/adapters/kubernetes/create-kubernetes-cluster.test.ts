// The Kubernetes adapter over HTTP, held to the contract of its port.

import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { NodeName } from '../../domain/ids.ts';
import type { ClusterEvent } from '../../ports/cluster.ts';
import { clusterContract } from '../../ports/cluster.contract.ts';
import { readEniConfig } from '../../protocol/crd/eni-config-object.ts';
import { readNode } from '../../protocol/crd/node.ts';
import { readNodeNetworkClass } from '../../protocol/crd/node-network-class-object.ts';
import {
  ENI_CONFIGS,
  NAMESPACES,
  NODE_NETWORK_CLASSES,
  NODES,
  PODS,
  type SeenRequest,
} from './testing-api-server.ts';
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
  const { api, cluster, agent, clock } = await createWorld((end) => ends.push(end));
  const { store } = api;
  return {
    cluster,
    agent,
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

suite('an Event that the adapter writes', () => {
  const regarding = async (about: ClusterEvent['about']): Promise<unknown> => {
    const { api, cluster, clock } = await createWorld((end) => ends.push(end));
    api.store.put(PODS, 'default/web', { metadata: { name: 'web', namespace: 'default' }, spec: {} });
    cluster.emit({ about, type: 'Warning', reason: 'SubnetFull', message: 'the subnet is full' });
    const isEvent = ({ method, path }: SeenRequest): boolean => method === 'POST' && path.endsWith('/events');
    for (let poll = 0; poll < 1000 && !api.requests.some(isEvent); poll++) await clock.sleep(100, 'poll');
    const body = api.requests.find(isEvent)?.body as { readonly regarding: { readonly uid?: string } };
    return body.regarding.uid;
  };

  test('on a pod that nobody watches has its uid, read from the server', async () => {
    assert.equal(await regarding({ kind: 'Pod', namespace: 'default', name: 'web' }), 'uid-1');
  });

  test('on a node has the node’s name for its uid, as kubelet’s have', async () => {
    assert.equal(await regarding({ kind: 'Node', name: 'n1' }), 'n1');
  });
});
