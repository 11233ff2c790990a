// The part of NetworkStack's contract that is about the host: applying, repairing, leaving alone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Cidr, Ip } from '../domain/address/ip.ts';
import type { HostDatapath } from '../domain/datapath/host-datapath.ts';
import {
  appliedHost,
  type Current,
  desiredHost,
  ENI_LINK,
  ENI_TABLE,
  failureOf,
  type ForeignThing,
  type OutsideAct,
  OTHER_IP,
  podAt,
  type PodDamage,
  PREFIX,
  PRIMARY_LINK,
  valueOf,
} from './network-stack-world.contract.ts';

const APPLIED_LINES = [
  'ip link set eth0 mtu 9001',
  'ip link set eth0 up',
  'ip link set eth1 mtu 9001',
  'ip link set eth1 up',
  'ip addr add 10.1.0.4/32 dev eth1',
  'sysctl -w net/ipv4/ip_forward=1',
  'ip route replace default via 10.1.0.1 dev eth1 table 1002 onlink',
  'ip rule add prio 512 lookup 1000',
  'ip rule add prio 1536 fwmark 0x2/0x7f lookup 1002',
  'nft replace table inet eniwhere',
];

const ACTS: readonly { readonly act: OutsideAct; readonly repair: RegExp }[] = [
  { act: 'delete the rule to the pods', repair: /^ip rule add prio 512 lookup 1000$/ },
  { act: 'delete an ENI rule', repair: /^ip rule add prio 1536 fwmark 0x2\/0x7f lookup 1002$/ },
  {
    act: 'delete an ENI route',
    repair: /^ip route replace default via 10\.1\.0\.1 dev eth1 table 1002 onlink$/,
  },
  {
    act: 'lead an ENI route elsewhere',
    repair: /^ip route replace default via 10\.1\.0\.1 dev eth1 table 1002/,
  },
  { act: 'flush nftables', repair: /^nft replace table inet eniwhere$/ },
  { act: 'empty a chain of our table', repair: /^nft replace table inet eniwhere$/ },
  { act: 'take away the ENI address', repair: /^ip addr add 10\.1\.0\.4\/32 dev eth1$/ },
  { act: 'give the ENI address with its subnet', repair: /^ip addr del 10\.1\.0\.4\/24 dev eth1$/ },
  { act: 'set the ENI link down', repair: /^ip link set eth1 up$/ },
  { act: 'set another MTU on the ENI', repair: /^ip link set eth1 mtu 9001$/ },
  { act: 'turn forwarding off', repair: /^sysctl -w net\/ipv4\/ip_forward=1$/ },
];

const POD_DAMAGES: readonly { readonly damage: PodDamage; readonly repairs: string }[] = [
  { damage: 'host link down', repairs: 'ip link set eni00000000001 up' },
  {
    damage: 'host route deleted',
    repairs: 'ip route replace 10.1.0.5/32 dev eni00000000001 table 1000 scope link',
  },
  {
    damage: 'host route elsewhere',
    repairs: 'ip route replace 10.1.0.5/32 dev eni00000000001 table 1000 scope link',
  },
];

const FOREIGN_THINGS: readonly ForeignThing[] = [
  'a rule at our priority',
  'a rule with our protocol at another priority',
  'a route in table main',
  'a route in an ENI table',
  'a route with our protocol in a table below ours',
  'an nftables table',
];

export function hostContract(world: Current): void {
  test('the host is brought to the desired state, said in lines; a second time there is nothing to do', async () => {
    const { stack, plugLink } = world();
    const desired = desiredHost({ primary: await plugLink(PRIMARY_LINK), eni: await plugLink(ENI_LINK) });
    assert.deepEqual(valueOf(await stack.applyHost(desired)), APPLIED_LINES);
    assert.deepEqual(valueOf(await stack.applyHost(desired)), []);
  });

  test('what is ours and no longer desired is deleted', async () => {
    const { stack } = world();
    const desired = await appliedHost(world());
    const lines = valueOf(
      await stack.applyHost({ ...desired, routes: [], rules: desired.rules.slice(0, 1) }),
    );
    assert.deepEqual(lines, [
      'ip route del default via 10.1.0.1 dev eth1 table 1002 onlink',
      'ip rule del prio 1536 fwmark 0x2/0x7f lookup 1002',
    ]);
  });

  test('an IPv6 route and rule are applied where they are desired, and deleted again', async (t) => {
    const { stack, hasIpv6 } = world();
    if (!hasIpv6) {
      t.skip('this kernel has no IPv6');
      return;
    }
    const desired = await appliedHost(world());
    const withIpv6: HostDatapath = {
      ...desired,
      routes: [
        ...desired.routes,
        {
          family: 6,
          table: ENI_TABLE,
          destination: 'default',
          via: '2600:1f18::1' as Ip,
          link: ENI_LINK,
          onlink: true,
          scopeLink: false,
        },
        {
          family: 6,
          table: ENI_TABLE,
          destination: '2600:1f18::/64' as Cidr,
          link: ENI_LINK,
          onlink: false,
          scopeLink: true,
        },
      ],
      rules: [...desired.rules, { family: 6, priority: 512, table: 1000 }],
    };
    assert.equal(valueOf(await stack.applyHost(withIpv6)).length, 3);
    assert.deepEqual(valueOf(await stack.applyHost(withIpv6)), []);
    assert.equal(valueOf(await stack.applyHost(desired)).length, 3);
  });

  test('pods stay as they are while the host is applied', async () => {
    const { stack, makePodNamespace } = world();
    const pod = podAt(await makePodNamespace());
    valueOf(await stack.wirePod(pod));
    const desired = await appliedHost(world());
    valueOf(await stack.applyHost({ ...desired, routes: [], rules: [] }));
    assert.deepEqual(valueOf(await stack.inspectPod(pod)), []);
  });

  for (const { act, repair } of ACTS) {
    test(`repaired: somebody chose to ${act}`, async () => {
      const { stack } = world();
      const desired = await appliedHost(world());
      await world().act(act);
      const lines = valueOf(await stack.applyHost(desired));
      assert.ok(
        lines.some((line) => repair.test(line)),
        `expected ${repair} among ${JSON.stringify(lines)}`,
      );
      assert.deepEqual(valueOf(await stack.applyHost(desired)), []);
    });
  }

  for (const thing of FOREIGN_THINGS) {
    test(`untouched, for it is another’s: ${thing}`, async () => {
      const { stack, addForeign, hasForeign } = world();
      const desired = await appliedHost(world());
      await addForeign(thing);
      assert.equal(await hasForeign(thing), true);
      assert.deepEqual(valueOf(await stack.applyHost(desired)), []);
      valueOf(await stack.applyHost({ ...desired, routes: [], rules: [] }));
      assert.equal(await hasForeign(thing), true);
    });
  }

  for (const { damage, repairs } of POD_DAMAGES) {
    test(`repaired, for the pod is desired: ${damage}`, async () => {
      const { stack, makePodNamespace, damagePod } = world();
      const pod = podAt(await makePodNamespace());
      const desired = { ...(await appliedHost(world())), pods: [pod] };
      valueOf(await stack.wirePod(pod));
      assert.deepEqual(valueOf(await stack.applyHost(desired)), []);
      await damagePod(damage, pod);
      const lines = valueOf(await stack.applyHost(desired));
      assert.ok(lines.includes(repairs), `expected ${repairs} among ${JSON.stringify(lines)}`);
      assert.deepEqual(valueOf(await stack.inspectPod(pod)), []);
      assert.deepEqual(valueOf(await stack.applyHost(desired)), []);
    });
  }

  test('a desired pod that has no link is left to its wiring', async () => {
    const { stack } = world();
    const desired = await appliedHost(world());
    const pods = [{ hostLink: 'eni00000000009', hostMac: '02:00:00:00:00:99', addresses: [OTHER_IP] }];
    assert.deepEqual(valueOf(await stack.applyHost({ ...desired, pods })), []);
    assert.deepEqual(valueOf(await stack.listPodLinks(PREFIX)), []);
  });

  test('an ENI that was unplugged and plugged in again is set up again', async () => {
    const { stack, unplugLink, plugLink } = world();
    const { eniLinks, ...rest } = await appliedHost(world());
    await unplugLink(ENI_LINK);
    const mac = await plugLink(ENI_LINK);
    const desired = { ...rest, eniLinks: eniLinks.map((eni) => (eni.primary ? eni : { ...eni, mac })) };
    assert.deepEqual(valueOf(await stack.applyHost(desired)), [
      'ip link set eth1 mtu 9001',
      'ip link set eth1 up',
      'ip addr add 10.1.0.4/32 dev eth1',
      'ip route replace default via 10.1.0.1 dev eth1 table 1002 onlink',
    ]);
  });
}

export function hostRefusals(world: Current): void {
  test('one ENI’s missing link is reported, and holds up nothing else', async () => {
    const { stack, plugLink } = world();
    const desired = desiredHost({ primary: await plugLink(PRIMARY_LINK), eni: '02:00:00:00:00:77' });
    const failure = failureOf(await stack.applyHost(desired));
    assert.equal(failure.errno, 'ENODEV');
    assert.match(
      failure.message,
      /set up ENI link eth1: ENODEV \(no link eth1 \(for MAC 02:00:00:00:00:77\)/,
    );
    const { eniLinks, routes: _, ...rest } = desired;
    assert.deepEqual(
      valueOf(await stack.applyHost({ ...rest, routes: [], eniLinks: eniLinks.slice(0, 1) })),
      [],
    );
  });

  test('a link of the right name with another MAC is not touched: ENODEV', async () => {
    const { stack, plugLink } = world();
    const primary = await plugLink(PRIMARY_LINK);
    await plugLink(ENI_LINK);
    const desired = desiredHost({ primary, eni: '02:00:00:00:00:77' });
    assert.equal(failureOf(await stack.applyHost(desired)).errno, 'ENODEV');
    assert.equal(valueOf(await stack.listLinks()).find((view) => view.name === ENI_LINK)?.up, false);
  });

  test('a malformed nftables table is refused whole, and the old one stays', async () => {
    const { stack } = world();
    const desired = await appliedHost(world());
    const failure = failureOf(
      await stack.applyHost({ ...desired, nftTable: 'table inet eniwhere { chain broken {\n' }),
    );
    assert.equal(failure.step, 'nft replace table inet eniwhere');
    assert.deepEqual(valueOf(await stack.applyHost(desired)), []);
  });

  test('a sysctl that the kernel does not have is reported: ENOENT', async () => {
    const { stack } = world();
    const desired = await appliedHost(world());
    const sysctls = [{ path: 'net/ipv4/conf/eth7/rp_filter', value: '2' }];
    assert.equal(failureOf(await stack.applyHost({ ...desired, sysctls })).errno, 'ENOENT');
  });

  test('a route for one of the tables that are not the host’s is refused: EINVAL', async () => {
    const { stack } = world();
    const desired = await appliedHost(world());
    const routes = desired.routes.map((route) => ({ ...route, table: 254 }));
    assert.equal(failureOf(await stack.applyHost({ ...desired, routes })).errno, 'EINVAL');
  });
}
