// The part of NetworkStack's contract that is about pods: wiring, unwiring, inspection.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ip } from '../domain/address/ip.ts';
import type { PodDatapath } from '../domain/datapath/pod-datapath.ts';
import {
  type Current,
  ENI_LINK,
  failureOf,
  OTHER_IP,
  POD_IPV4,
  POD_IPV6,
  podAt,
  type PodDamage,
  PREFIX,
  valueOf,
} from './network-stack-world.contract.ts';

const DAMAGES: readonly { readonly damage: PodDamage; readonly found: RegExp }[] = [
  { damage: 'host link deleted', found: /the host has no link eni00000000001/ },
  { damage: 'host link down', found: /link eni00000000001 is down/ },
  { damage: 'host link MTU', found: /link eni00000000001 has MTU 1400, not 9001/ },
  { damage: 'host route deleted', found: /table 1000 has no route to 10\.1\.0\.5/ },
  { damage: 'host route elsewhere', found: /table 1000 routes 10\.1\.0\.5 elsewhere than to eni00000000001/ },
  { damage: 'pod link down', found: /in the pod, link eth0 is down/ },
  { damage: 'pod link MTU', found: /in the pod, link eth0 has MTU 1400, not 9001/ },
  { damage: 'pod link MAC', found: /in the pod, link eth0 has MAC 02:00:00:00:00:99, not 02:00:00:00:00:02/ },
  { damage: 'pod address deleted', found: /the pod's eth0 lacks address 10\.1\.0\.5/ },
  { damage: 'pod address added', found: /the pod's eth0 has address 10\.1\.0\.77, which is not its own/ },
  { damage: 'pod neighbour deleted', found: /neighbour 169\.254\.1\.1 is not permanently 02:00:00:00:00:01/ },
  { damage: 'pod link route deleted', found: /the pod has no link route to 169\.254\.1\.1/ },
  { damage: 'pod default route deleted', found: /the pod has no default route via 169\.254\.1\.1/ },
  { damage: 'pod loopback down', found: /in the pod, link lo is down/ },
];

export function wiringContract(world: Current): void {
  const families: readonly { readonly title: string; readonly addresses: readonly Ip[] }[] = [
    { title: 'an IPv4 address', addresses: [POD_IPV4] },
    { title: 'an IPv6 address', addresses: [POD_IPV6] },
    { title: 'an address of each family', addresses: [POD_IPV4, POD_IPV6] },
  ];
  for (const { title, addresses } of families) {
    test(`a pod with ${title} is wired as desired, and is listed`, async (t) => {
      const { stack, hasIpv6, makePodNamespace } = world();
      if (!hasIpv6 && addresses.includes(POD_IPV6)) {
        t.skip('this kernel has no IPv6');
        return;
      }
      const pod = podAt(await makePodNamespace(), { addresses });
      valueOf(await stack.wirePod(pod));
      assert.deepEqual(valueOf(await stack.inspectPod(pod)), []);
      assert.deepEqual(valueOf(await stack.listPodLinks(PREFIX)), [{ hostLink: pod.hostLink, addresses }]);
      const link = valueOf(await stack.listLinks()).find((view) => view.name === pod.hostLink);
      assert.deepEqual(
        { mac: link?.mac, up: link?.up, mtu: link?.mtu },
        { mac: pod.hostMac, up: true, mtu: pod.mtu },
      );
    });
  }

  test('wiring again is the same as wiring once', async () => {
    const { stack, makePodNamespace } = world();
    const pod = podAt(await makePodNamespace());
    valueOf(await stack.wirePod(pod));
    valueOf(await stack.wirePod(pod));
    assert.deepEqual(valueOf(await stack.inspectPod(pod)), []);
    assert.equal(valueOf(await stack.listPodLinks(PREFIX)).length, 1);
  });

  test('an old sandbox’s link of the same name makes way', async () => {
    const { stack, makePodNamespace } = world();
    const old = podAt(await makePodNamespace(), { addresses: [OTHER_IP] });
    const fresh = podAt(await makePodNamespace(), { podMac: '02:00:00:00:00:03' });
    valueOf(await stack.wirePod(old));
    valueOf(await stack.wirePod(fresh));
    assert.deepEqual(valueOf(await stack.inspectPod(fresh)), []);
    assert.ok(valueOf(await stack.inspectPod(old)).includes('the pod has no link eth0'));
    assert.deepEqual(valueOf(await stack.listPodLinks(PREFIX)), [
      { hostLink: fresh.hostLink, addresses: [POD_IPV4] },
    ]);
  });

  test('an address that an old pod still holds is routed to the new pod', async () => {
    const { stack, makePodNamespace } = world();
    const old = podAt(await makePodNamespace(), { hostLink: 'eni0000000000a' });
    const fresh = podAt(await makePodNamespace(), { hostLink: 'eni0000000000b' });
    valueOf(await stack.wirePod(old));
    valueOf(await stack.wirePod(fresh));
    assert.deepEqual(valueOf(await stack.listPodLinks(PREFIX)), [
      { hostLink: old.hostLink, addresses: [] },
      { hostLink: fresh.hostLink, addresses: [POD_IPV4] },
    ]);
  });

  test('the listing takes pods by the prefix, in the order of names', async () => {
    const { stack, makePodNamespace } = world();
    const names = ['eni0000000000b', 'vet0000000000c', 'eni0000000000a'];
    for (const [index, hostLink] of names.entries()) {
      const addresses = [`10.1.0.${20 + index}` as Ip];
      valueOf(await stack.wirePod(podAt(await makePodNamespace(), { hostLink, addresses })));
    }
    assert.deepEqual(
      valueOf(await stack.listPodLinks(PREFIX))
        .filter(({ hostLink }) => hostLink.startsWith(PREFIX))
        .map(({ hostLink }) => hostLink),
      ['eni0000000000a', 'eni0000000000b'],
    );
  });
}

export function wiringRefusals(world: Current): void {
  const cases: readonly {
    readonly title: string;
    readonly errno: string;
    readonly over: Partial<PodDatapath>;
  }[] = [
    { title: 'the namespace is not there', errno: 'ENOENT', over: { netnsPath: '/run/netns/eniwhere-none' } },
    { title: 'the pod already has such a link', errno: 'EEXIST', over: { podLink: 'lo' } },
    { title: 'the pod link’s name is too long', errno: 'EINVAL', over: { podLink: 'a-name-too-long0' } },
    { title: 'the host link’s name is too long', errno: 'EINVAL', over: { hostLink: 'eni0123456789abcd' } },
    { title: 'a MAC is malformed', errno: 'EINVAL', over: { podMac: '02:00:00' } },
    { title: 'there is no address', errno: 'EINVAL', over: { addresses: [] } },
    { title: 'the MTU is below a link’s least', errno: 'EINVAL', over: { mtu: 60 } },
    {
      title: 'the second address is refused, after all else was made',
      errno: 'EEXIST',
      over: { addresses: [POD_IPV4, POD_IPV4] },
    },
  ];
  for (const { title, errno, over } of cases) {
    test(`nothing is left when ${title}: ${errno}`, async () => {
      const { stack, makePodNamespace } = world();
      const before = valueOf(await stack.listLinks());
      const failure = failureOf(await stack.wirePod(podAt(await makePodNamespace(), over)));
      assert.equal(failure.errno, errno);
      assert.ok(failure.message.startsWith(failure.step), failure.message);
      assert.deepEqual(valueOf(await stack.listLinks()), before);
      assert.deepEqual(valueOf(await stack.listPodLinks(PREFIX)), []);
    });
  }

  test('a link that is no pod’s never makes way: EPERM', async () => {
    const { stack, makePodNamespace, plugLink } = world();
    await plugLink(ENI_LINK);
    const failure = failureOf(await stack.wirePod(podAt(await makePodNamespace(), { hostLink: 'lo' })));
    assert.equal(failure.errno, 'EPERM');
    assert.ok(valueOf(await stack.listLinks()).some((view) => view.name === 'lo'));
  });
}

export function unwiringContract(world: Current): void {
  test('an unwired pod leaves no link and no route, however often it is unwired', async () => {
    const { stack, makePodNamespace } = world();
    const before = valueOf(await stack.listLinks());
    const pod = podAt(await makePodNamespace());
    valueOf(await stack.wirePod(pod));
    for (let count = 0; count < 2; count++) {
      valueOf(await stack.unwirePod(pod));
      assert.deepEqual(valueOf(await stack.listLinks()), before);
      assert.deepEqual(valueOf(await stack.listPodLinks(PREFIX)), []);
    }
  });

  test('a pod whose namespace is gone is unwired', async () => {
    const { stack, makePodNamespace, removePodNamespace } = world();
    const pod = podAt(await makePodNamespace());
    valueOf(await stack.wirePod(pod));
    await removePodNamespace(pod.netnsPath);
    valueOf(await stack.unwirePod(pod));
    assert.deepEqual(valueOf(await stack.listPodLinks(PREFIX)), []);
  });

  test('the route of an address that is by now another pod’s stays', async () => {
    const { stack, makePodNamespace } = world();
    const old = podAt(await makePodNamespace(), { hostLink: 'eni0000000000a' });
    const fresh = podAt(await makePodNamespace(), { hostLink: 'eni0000000000b' });
    valueOf(await stack.wirePod(old));
    valueOf(await stack.wirePod(fresh));
    valueOf(await stack.unwirePod(old));
    assert.deepEqual(valueOf(await stack.inspectPod(fresh)), []);
  });

  test('a route to no link is listed without one, and goes with its address', async () => {
    const { stack, addOrphanRoute } = world();
    await addOrphanRoute(OTHER_IP);
    assert.deepEqual(valueOf(await stack.listPodLinks(PREFIX)), [{ hostLink: '', addresses: [OTHER_IP] }]);
    valueOf(await stack.unwirePod({ hostLink: '', addresses: [OTHER_IP] }));
    assert.deepEqual(valueOf(await stack.listPodLinks(PREFIX)), []);
  });

  test('a link that is no pod’s is never deleted: EPERM', async () => {
    const { stack } = world();
    const failure = failureOf(await stack.unwirePod({ hostLink: 'lo', addresses: [] }));
    assert.equal(failure.errno, 'EPERM');
    assert.ok(valueOf(await stack.listLinks()).some((view) => view.name === 'lo'));
  });

  test('calls for one link take effect in the order of calls', async () => {
    const { stack, makePodNamespace } = world();
    const pod = podAt(await makePodNamespace());
    const outcomes = await Promise.all([
      stack.wirePod(pod),
      stack.unwirePod(pod),
      stack.wirePod(pod),
      stack.unwirePod(pod),
      stack.wirePod(pod),
    ]);
    for (const outcome of outcomes) valueOf(outcome);
    assert.deepEqual(valueOf(await stack.inspectPod(pod)), []);
  });
}

export function inspectionContract(world: Current): void {
  for (const { damage, found } of DAMAGES) {
    test(`an inspection finds: ${damage}`, async () => {
      const { stack, makePodNamespace, damagePod } = world();
      const pod = podAt(await makePodNamespace());
      valueOf(await stack.wirePod(pod));
      await damagePod(damage, pod);
      const differences = valueOf(await stack.inspectPod(pod));
      assert.ok(
        differences.some((difference) => found.test(difference)),
        `expected ${found} among ${JSON.stringify(differences)}`,
      );
      valueOf(await stack.wirePod(pod));
      assert.deepEqual(valueOf(await stack.inspectPod(pod)), [], 'wiring anew repairs it');
    });
  }

  test('an inspection finds that the namespace is gone', async () => {
    const { stack, makePodNamespace, removePodNamespace } = world();
    const pod = podAt(await makePodNamespace());
    valueOf(await stack.wirePod(pod));
    await removePodNamespace(pod.netnsPath);
    const differences = valueOf(await stack.inspectPod(pod));
    assert.ok(differences.includes(`${pod.netnsPath} is not a network namespace (any more)`));
  });
}
