// Pods with both address families, and without IPv4, through containerd: what the CRI tells kubelet of them, and whom they reach.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import type { AddressFamily } from '../../src/domain/address/families.ts';
import { type Containerd, makeContainerd } from './support/containerd.ts';
import { eventually } from './support/eventually.ts';
import { kernelChanges, kernelState, makeNode, OUTSIDE_ADDRESS_IPV6, type TestNode } from './support/node.ts';
import { whyNoRuntime } from './support/runtime-programs.ts';

const skip = whyNoRuntime() ?? false;
const IDLE = ['/bin/sleep', '2147483647'];
const PING_MS = 10_000;

const cases: readonly {
  readonly title: string;
  readonly families: readonly AddressFamily[];
  readonly addresses: readonly string[];
}[] = [
  {
    title: 'a pod with both families [IP-8]',
    families: ['IPv4', 'IPv6'],
    addresses: ['10.1.0.10', '2001:db8:0:1:5:0:a01:a'],
  },
  { title: 'a pod without IPv4', families: ['IPv6'], addresses: ['2001:db8:0:1:5::1'] },
];

for (const { title, families, addresses } of cases) {
  describe(title, { skip }, () => {
    let node: TestNode;
    let containerd: Containerd;
    let untouched: readonly string[];
    before(async () => {
      node = await makeNode({ addressCount: 4, cooldownMs: 100, addWaitMs: 2000, families });
      await node.startAgent().serving;
      containerd = await makeContainerd(node, { cniVersion: '1.0.0', chained: [] });
      await containerd.start();
      untouched = kernelState(node.host);
    });
    after(async () => {
      await containerd.powerOff();
      await node.close();
    });

    test(`has ${addresses.join(' and ')} in the CRI and inside, reaches a host outside, and leaves nothing behind`, async () => {
      const pod = await containerd.runPod('granted');
      const container = await containerd.runContainer(pod, 'granted', IDLE);
      assert.deepEqual(await containerd.addressesOf(pod), addresses);
      const shown = await containerd.exec(container, 'ip', 'addr', 'show', 'eth0');
      const held = [...shown.matchAll(/inet6? (\S+) scope global/g)].map(([, one]) => one);
      const wanted = addresses.map((one) => (one.includes(':') ? `${one}/128` : `${one}/32`));
      assert.deepEqual(new Set(held), new Set(wanted));
      const ipv6 = addresses.at(-1) ?? '';
      // A fresh link's first solicitations may be lost.
      await eventually('the host outside answers', PING_MS, () =>
        containerd
          .exec(container, 'ping', '-6', '-c', '1', '-W', '1', OUTSIDE_ADDRESS_IPV6)
          .catch(() => undefined),
      );
      const ping = ['busybox', 'ping', '-c', '1', '-W', '2', ipv6];
      const asked = spawnSync('nsenter', [`--net=${node.outside.path}`, ...ping]);
      assert.equal(asked.status, 0, asked.stdout.toString());
      await containerd.removePod(pod);
      assert.deepEqual(kernelChanges(untouched, kernelState(node.host)), []);
      assert.deepEqual((await node.describe()).allocations, []);
    });
  });
}
