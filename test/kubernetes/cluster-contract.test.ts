// The Kubernetes adapter against a real API server, held to the contract of its port, with the rights that the chart gives the controller.

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type { KubernetesCluster } from '../../src/adapters/kubernetes/create-kubernetes-cluster.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import type { Result } from '../../src/domain/result.ts';
import type { ClusterContractWorld } from '../../src/ports/cluster-world.contract.ts';
import { clusterContract } from '../../src/ports/cluster.contract.ts';
import { readEniConfig } from '../../src/protocol/crd/eni-config-object.ts';
import { readNode } from '../../src/protocol/crd/node.ts';
import { readNodeNetworkClass } from '../../src/protocol/crd/node-network-class-object.ts';
import { eventually } from '../runtime/support/eventually.ts';
import { type Api, apiOf, clientOf } from './api.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';

const NODES = '/api/v1/nodes';
const PODS = '/api/v1/namespaces/default/pods';
const ENI_CONFIGS = '/apis/crd.k8s.amazonaws.com/v1alpha1/eniconfigs';
const CLASSES = '/apis/eniwhere.io/v1alpha1/nodenetworkclasses';
const NODE_NETWORKS = '/apis/eniwhere.io/v1alpha1/nodenetworks';
const CREATE_TOKEN = ['-n', 'kube-system', 'create', 'token', 'eniwhere-controller'];
const COLLECTOR_MS = 120_000;
const EMPTY_MS = 30_000;

let plane: ControlPlane;
let api: Api;
let client: KubernetesCluster;
let agent: KubernetesCluster;

before(async () => {
  // The controllers for nodes would write to the nodes that the tests watch.
  plane = await startControlPlane({ controllers: ['garbagecollector', 'serviceaccount', 'namespace'] });
  api = apiOf(plane);
  await plane.kubectl('apply', '--server-side', '-f', 'deploy/crds', '-f', 'deploy/manifests');
  await plane.kubectl('wait', '--for=condition=Established', '-f', 'deploy/crds');
  await waitForCollector();
  client = clientOf(plane, 'eniwhere-controller', { token: await plane.kubectl(...CREATE_TOKEN) });
  // No agent's token may write the status of any node it likes.
  agent = clientOf(plane, 'eniwhere-agent');
});
after(async () => {
  client?.close();
  agent?.close();
  api?.close();
  await plane?.close();
});

/** The garbage collector learns of new kinds every half minute, and then goes on at once. */
async function waitForCollector(): Promise<void> {
  const owner = (await api.send('POST', NODES, { metadata: { name: 'owner' } })) as {
    readonly metadata: { readonly uid: string };
  };
  const { uid } = owner.metadata;
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: 'owner', uid }];
  const kind = { apiVersion: 'crd.k8s.amazonaws.com/v1alpha1', kind: 'ENIConfig' };
  await api.send('POST', ENI_CONFIGS, { ...kind, metadata: { name: 'owned', ownerReferences } });
  await api.send('DELETE', `${NODES}/owner`);
  await eventually('the garbage collector', COLLECTOR_MS, async () =>
    (await api.sendIfThere('GET', `${ENI_CONFIGS}/owned`)) === undefined ? true : undefined,
  );
}

const read = <T>(reader: (value: unknown) => Result<T, unknown>, value: unknown): T => {
  const result = reader(value);
  assert.ok(result.ok, JSON.stringify(result));
  return result.value;
};

async function emptyCluster(): Promise<void> {
  const lists = [PODS, NODE_NETWORKS, ENI_CONFIGS, CLASSES, NODES];
  for (const list of lists) await api.send('DELETE', list, { gracePeriodSeconds: 0 });
  await eventually('an empty cluster', EMPTY_MS, async () => {
    for (const list of lists) {
      const { items } = (await api.send('GET', list)) as { readonly items: readonly unknown[] };
      if (items.length > 0) return undefined;
    }
    return true;
  });
}

/** Makes the object, or merges it into the one that is there. */
async function apply(
  list: string,
  object: { readonly metadata: { readonly name: string } },
): Promise<unknown> {
  const merged = await api.sendIfThere('PATCH', `${list}/${object.metadata.name}`, object);
  return merged ?? api.send('POST', list, object);
}

clusterContract('kubernetes adapter on a real API server', async (): Promise<ClusterContractWorld> => {
  await emptyCluster();
  return {
    cluster: client.cluster,
    agent: agent.cluster,
    clock: systemClock,
    run: (work) => work(),
    applyNode: async (name, label) => {
      const labels = label === undefined ? {} : { [label.key]: label.value };
      return read(readNode, await apply(NODES, { metadata: { name, labels } } as never));
    },
    deleteNode: async (name) => void (await api.send('DELETE', `${NODES}/${name}`)),
    applyPod: async ({ namespace, name, nodeName }) => {
      assert.equal(namespace, 'default');
      const there = await api.sendIfThere('GET', `${PODS}/${name}`);
      if (there !== undefined) {
        // As the scheduler does it.
        const target = { apiVersion: 'v1', kind: 'Node', name: nodeName };
        await api.send('POST', `${PODS}/${name}/binding`, { metadata: { name }, target });
        return;
      }
      const containers = [{ name: 'main', image: 'none' }];
      const spec = { containers, ...(nodeName === undefined ? {} : { nodeName }) };
      await api.send('POST', PODS, { metadata: { name }, spec });
    },
    deletePod: async ({ name }) =>
      void (await api.send('DELETE', `${PODS}/${name}`, { gracePeriodSeconds: 0 })),
    applyEniConfig: async (name, subnet) => {
      const kind = { apiVersion: 'crd.k8s.amazonaws.com/v1alpha1', kind: 'ENIConfig' };
      return read(
        readEniConfig,
        await api.send('POST', ENI_CONFIGS, { ...kind, metadata: { name }, spec: { subnet } }),
      );
    },
    taintNode: async (name, taints) =>
      void (await api.send('PATCH', `${NODES}/${name}`, { spec: { taints } })),
    applyNodeNetworkClass: async (name, names) => {
      const kind = { apiVersion: 'eniwhere.io/v1alpha1', kind: 'NodeNetworkClass' };
      const object = { ...kind, metadata: { name }, spec: { eniConfigs: { names } } };
      return read(readNodeNetworkClass, await api.send('POST', CLASSES, object));
    },
    applyNamespace: async (name, { key, value }) =>
      void (await apply('/api/v1/namespaces', {
        metadata: { name, annotations: { [key]: value } },
      } as never)),
  };
});
