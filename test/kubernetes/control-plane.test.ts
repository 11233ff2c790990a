// The control plane that other tests stand on does what they lean on.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually } from '../runtime/support/eventually.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';

const MADE_MS = 60_000;

let plane: ControlPlane;

before(async () => {
  plane = await startControlPlane({
    controllers: true,
    users: [{ name: 'nobody' }, { name: 'system:node:n0', groups: ['system:nodes'] }],
  });
});
after(() => plane?.close());

test('it is the version that it was built from', async () => {
  const version = JSON.parse(await plane.kubectl('version', '-o', 'json')) as {
    readonly clientVersion: { readonly gitVersion: string };
    readonly serverVersion: { readonly gitVersion: string };
  };
  assert.match(version.serverVersion.gitVersion, /^v1\.34\.\d+$/);
  assert.equal(version.clientVersion.gitVersion, version.serverVersion.gitVersion);
});

test('a user without rights is known, and refused', async () => {
  await assert.rejects(
    plane.kubectl('get', 'nodes', '--kubeconfig', plane.kubeconfigOf('nobody')),
    /nodes is forbidden: User "nobody" cannot list resource "nodes"/,
  );
});

test('controllers make the pods of a Deployment, and without a node the scheduler says why they wait', async () => {
  await plane.kubectl('create', 'deployment', 'web', '--image=none', '--replicas=2');
  const reasons = await eventually('two pods that cannot be scheduled', MADE_MS, async () => {
    const query = '{.items[*].status.conditions[?(@.type=="PodScheduled")].reason}';
    const found = await plane.kubectl('get', 'pods', '-o', `jsonpath=${query}`);
    return found.split(' ').length === 2 ? found : undefined;
  });
  assert.equal(reasons, 'Unschedulable Unschedulable');
});

test('a node writes its own Node, and no other', async () => {
  const node = (name: string): object => ({ apiVersion: 'v1', kind: 'Node', metadata: { name } });
  await plane.apply([node('n0'), node('n1')]);
  const annotate = (name: string): Promise<string> =>
    plane.kubectl('annotate', 'node', name, 'a=b', '--kubeconfig', plane.kubeconfigOf('system:node:n0'));
  await annotate('n0');
  await assert.rejects(annotate('n1'), /node 'n0' cannot read 'n1', only its own Node object/);
});

test('a token is bound to one node, as those of a DaemonSet are', async () => {
  const token = await plane.kubectl(
    'create',
    'token',
    'default',
    '--bound-object-kind',
    'Node',
    '--bound-object-name',
    'n0',
  );
  const user = JSON.parse(await plane.kubectl('auth', 'whoami', '-o', 'json', '--token', token)) as {
    readonly status: { readonly userInfo: { readonly extra: Readonly<Record<string, readonly string[]>> } };
  };
  assert.deepEqual(user.status.userInfo.extra['authentication.kubernetes.io/node-name'], ['n0']);
});

test('what was stored outlives the API server, which comes back where it was', async () => {
  await plane.kubectl('create', 'configmap', 'kept');
  await plane.stopApiServer('SIGKILL');
  await assert.rejects(plane.kubectl('get', 'configmap', 'kept'), /refused/);
  await plane.startApiServer();
  assert.equal(await plane.kubectl('get', 'configmap', 'kept', '-o', 'name'), 'configmap/kept');
});
