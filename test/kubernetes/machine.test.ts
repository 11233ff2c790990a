// The nodes that the end-to-end test stands on: kubelet and containerd in namespaces of a simulated VPC.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { IMAGE, makeBusyboxImage } from '../runtime/support/busybox-image.ts';
import { eventually } from '../runtime/support/eventually.ts';
import { type Cloud, makeCloud, ZONES } from './cluster/cloud.ts';
import { bootMachine, type Machine } from './cluster/machine.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';

const STARTED_MS = 60_000;

let cloud: Cloud;
let plane: ControlPlane;
let machine: Machine;

before(async () => {
  cloud = await makeCloud('e2emachine');
  plane = await startControlPlane({
    controllers: true,
    place: cloud.onPrem,
    users: [{ name: 'system:kube-proxy' }, { name: 'system:node:n0', groups: ['system:nodes'] }],
  });
  const imageDirectory = join(plane.directory, 'busybox');
  mkdirSync(imageDirectory);
  const { instance, netnsPath } = await cloud.launch('n0', 'a');
  const images = [makeBusyboxImage(imageDirectory)];
  machine = await bootMachine({ name: 'n0', instance, netnsPath, plane, images });
});
after(async () => {
  await machine?.powerOff();
  await plane?.close();
  await cloud?.close();
});

const nodeField = (path: string): Promise<string> =>
  plane.kubectl('get', 'node', 'n0', '-o', `jsonpath={${path}}`);

test('the node registers with its address of the VPC, its instance and its zone', async () => {
  const { instance } = machine;
  await eventually('the node is registered', STARTED_MS, () =>
    nodeField('.metadata.name').catch(() => undefined),
  );
  assert.equal(
    await nodeField('.status.addresses[?(@.type=="InternalIP")].address'),
    instance.primaryAddress,
  );
  assert.equal(await nodeField('.spec.providerID'), `aws:///${ZONES.a.zone}/${instance.instanceId}`);
  assert.equal(await nodeField(String.raw`.metadata.labels.topology\.kubernetes\.io/zone`), ZONES.a.zone);
});

test('it is not ready as long as there is no CNI configuration', async () => {
  const message = await eventually('kubelet has reported', STARTED_MS, async () => {
    const text = await nodeField('.status.conditions[?(@.type=="Ready")].message');
    return text === '' ? undefined : text;
  });
  assert.match(message, /cni plugin not initialized/);
});

test('a pod of the host network runs on it all the same', async () => {
  await plane.apply([
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'early' },
      spec: {
        hostNetwork: true,
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'main', image: IMAGE, imagePullPolicy: 'Never', command: ['sleep', '1000'] }],
      },
    },
  ]);
  await plane.kubectl('wait', 'pod/early', '--for=condition=Ready', '--timeout=60s');
  const addresses = await plane.kubectl('exec', 'early', '--', 'ip', '-4', '-o', 'addr', 'show', 'eth0');
  assert.ok(addresses.includes(`${machine.instance.primaryAddress}/24`), addresses);
});
