// Pods with both families on two ENIs under different security groups, and a pod without IPv4, in a VPC that checks sources and ways.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { ip } from '../../src/domain/address/testing.ts';
import {
  FAR_PORT,
  IMDS_IPV6,
  IMDS_PORT,
  INTERNET,
  makeNodeWorld,
  NODE,
  type NodeLayout,
  type NodeWorld,
  NOTHING_DROPPED,
  type Place,
  POD_PORT,
  type PodPlace,
  VPC_HOST,
  VPC_HOST_IPV6,
  vpcFirewall,
} from './datapath-support.ts';
import { skip, valueOf } from './linux-support.ts';

const NODE_IPV6 = '2001:db8:0:f::10';
const INTERNET_IPV6 = '2600::1';
const BLUE = ['100.64.0.21', '2001:db8:0:1:b:0:6440:15'] as const;
const BLUE_TWO = ['100.64.0.22', '2001:db8:0:1:b:0:6440:16'] as const;
const RED = ['100.64.16.21', '2001:db8:0:2:d:0:6440:1015'] as const;
/** Has no IPv4 address: of those of the /80 that are listed. */
const SIX = '2001:db8:0:2:d::1';
const BLUE_HOST = '2001:db8:0:1:b:ffff:ffff:ffff';
const RED_HOST = '2001:db8:0:2:d:ffff:ffff:ffff';
const NODE_PORT = 9200;
/** What the VPC lets by between the two groups, in either direction. */
const OPEN_PORT = POD_PORT;
const CLOSED_PORT = 9001;
const FIRST_VISIT_COUNT_MAX = 20;

/** Between the groups of the two ENIs one port is open. */
const GROUPS = `  counter between_groups { }
  chain groups {
    type filter hook forward priority filter;
    tcp dport { ${OPEN_PORT}, ${FAR_PORT} } accept
    tcp sport { ${OPEN_PORT}, ${FAR_PORT} } accept
    iifname { "r1", "r2" } oifname { "r1", "r2" } meta l4proto tcp counter name between_groups drop
  }
`;

const LAYOUT: NodeLayout = {
  enis: [
    { deviceIndex: 0, subnet: '10.0.0.0/24', subnetIpv6: '2001:db8:0:f::/64' },
    {
      deviceIndex: 1,
      subnet: '100.64.0.0/20',
      subnetIpv6: '2001:db8:0:1::/64',
      pods: [BLUE[0], BLUE_TWO[0], '2001:db8:0:1:b::/80'],
    },
    {
      deviceIndex: 2,
      subnet: '100.64.16.0/20',
      subnetIpv6: '2001:db8:0:2::/64',
      pods: [RED[0], '2001:db8:0:2:d::/80'],
      group: 'sg-0000000d',
    },
  ],
  gateways: [
    ['r0', '10.0.0.1/24'],
    ['r0', '2001:db8:0:f::1/64'],
    ['r1', '100.64.0.1/20'],
    ['r1', '2001:db8:0:1::1/64'],
    ['r2', '100.64.16.1/20'],
    ['r2', '2001:db8:0:2::1/64'],
  ],
  delivered: [
    [0, [NODE_IPV6]],
    [1, [BLUE[0], BLUE_TWO[0]]],
    [2, [RED[0]]],
  ],
  deliveredBlocks: [
    [1, '2001:db8:0:1:b::/80'],
    [2, '2001:db8:0:2:d::/80'],
  ],
  farEnds: [VPC_HOST, INTERNET, VPC_HOST_IPV6, INTERNET_IPV6, IMDS_IPV6],
  firewall: vpcFirewall(
    [
      `iifname "r0" ip saddr != ${NODE}`,
      `iifname "r1" ip saddr != { 100.64.0.11, ${BLUE[0]}, ${BLUE_TWO[0]} }`,
      `iifname "r2" ip saddr != { 100.64.16.12, ${RED[0]} }`,
      `iifname "r0" ip6 saddr != { ${NODE_IPV6}, fe80::/10, :: }`,
      'iifname "r1" ip6 saddr != { 2001:db8:0:1:b::/80, fe80::/10, :: }',
      'iifname "r2" ip6 saddr != { 2001:db8:0:2:d::/80, fe80::/10, :: }',
    ],
    GROUPS,
  ),
  nodeAddresses: [`${NODE}/24`, `${NODE_IPV6}/128`],
};

const DROPPED_NOTHING = { ...NOTHING_DROPPED, between_groups: 0 };

describe('pods with both families [DP-5]', { skip }, () => {
  let world: NodeWorld;
  let blue: PodPlace;
  let blueTwo: PodPlace;
  let red: PodPlace;
  let six: PodPlace;
  let host: Place;

  before(async () => {
    world = await makeNodeWorld(LAYOUT);
    world.vpc.run('sysctl', '-qw', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1');
    world.node.run('ip', '-6', 'route', 'add', 'default', 'via', '2001:db8:0:f::1', 'dev', 'eth0', 'onlink');
    await world.apply();
    blue = await world.addPod('blue', BLUE);
    blueTwo = await world.addPod('blue-two', BLUE_TWO);
    red = await world.addPod('red', RED);
    six = await world.addPod('six', [SIX]);
    host = { namespace: world.node };
    for (const place of [world.node, red.namespace])
      valueOf(await world.sockets.serve({ netnsPath: place.path, port: NODE_PORT }));
    valueOf(await world.sockets.serve({ netnsPath: red.namespace.path, port: CLOSED_PORT }));
    // A router's first solicitations are lost while the kernel's work queue raises the fresh links.
    for (const pod of [blue, red]) {
      for (let tries = 0; tries < FIRST_VISIT_COUNT_MAX; tries++)
        if ((await world.visit(pod, VPC_HOST_IPV6, FAR_PORT)) !== 'ETIMEDOUT') break;
    }
  });
  beforeEach(() => {
    world.dropped();
  });
  after(() => world.close());

  it('are applied once and then left alone', async () => {
    assert.deepEqual(await world.apply(), []);
  });

  it('reach each other on one ENI with their own addresses', async () => {
    for (const family of [0, 1] as const) {
      assert.equal(await world.visit(blue, BLUE_TWO[family], POD_PORT), BLUE[family]);
    }
  });

  it('reach each other across groups through the VPC, which lets by what the groups do, in either family [POD-5]', async () => {
    for (const family of [0, 1] as const) {
      assert.equal(await world.visit(blue, RED[family], OPEN_PORT), BLUE[family]);
      assert.equal(await world.visit(red, BLUE[family], OPEN_PORT), RED[family]);
      assert.deepEqual(world.dropped(), DROPPED_NOTHING);
      assert.equal(await world.visit(blue, RED[family], CLOSED_PORT), 'ETIMEDOUT');
      const { between_groups: stopped = 0, ...others } = world.dropped();
      assert.ok(stopped > 0, 'the VPC stopped it');
      assert.deepEqual(others, NOTHING_DROPPED);
    }
  });

  it('reach a host of the VPC and the internet with their own IPv6 address, by their own ENI', async () => {
    for (const [pod, address] of [
      [blue, BLUE[1]],
      [red, RED[1]],
      [six, SIX],
    ] as const) {
      assert.equal(await world.visit(pod, VPC_HOST_IPV6, FAR_PORT), address);
      assert.equal(await world.visit(pod, INTERNET_IPV6, FAR_PORT), address);
    }
    assert.equal(await world.visit(blue, INTERNET, FAR_PORT), NODE, 'IPv4 is translated as ever');
    assert.deepEqual(world.dropped(), DROPPED_NOTHING);
  });

  it('are reached from the VPC and the internet, and answer by the ENI that was asked', async () => {
    for (const address of [BLUE[1], RED[1], SIX]) {
      for (const from of [VPC_HOST_IPV6, INTERNET_IPV6])
        assert.equal(await world.visit(world.far(from), address, POD_PORT), from);
    }
    assert.equal(await world.visit(world.far(VPC_HOST), BLUE[0], POD_PORT), VPC_HOST);
    assert.deepEqual(world.dropped(), DROPPED_NOTHING);
  });

  it('and their node reach each other: probes, and processes of the node', async () => {
    assert.equal(await world.visit(host, BLUE[0], POD_PORT), NODE);
    // Of the node's addresses the kernel takes the one that is likest to the pod's.
    assert.equal(await world.visit(host, BLUE[1], POD_PORT), BLUE_HOST);
    for (const address of [RED[1], SIX]) assert.equal(await world.visit(host, address, POD_PORT), RED_HOST);
    assert.equal(await world.visit(six, NODE_IPV6, NODE_PORT), SIX);
    assert.equal(await world.visit(world.far(VPC_HOST_IPV6), BLUE_HOST, NODE_PORT), VPC_HOST_IPV6);
    assert.deepEqual(world.dropped(), DROPPED_NOTHING);
  });

  it('are probed also where the node has no IPv6 address of its own but those of its ENIs', async () => {
    world.node.run('ip', 'addr', 'del', `${NODE_IPV6}/128`, 'dev', 'eth0');
    assert.match(await world.visit(host, BLUE[1], POD_PORT), /^2001:db8:0:[12]:[bd]:ffff:ffff:ffff$/);
    assert.equal(await world.visit(host, RED[0], POD_PORT), NODE);
    world.node.run('ip', 'addr', 'add', `${NODE_IPV6}/128`, 'dev', 'eth0');
  });

  it('that are masqueraded leave with an address of the ENI that carries them', async () => {
    world.node.nft(
      `table ip6 masquerading {
        chain out {
          type nat hook postrouting priority srcnat;
          ip6 daddr ${VPC_HOST_IPV6} masquerade
        }
      }`,
    );
    assert.equal(await world.visit(blue, VPC_HOST_IPV6, FAR_PORT), BLUE_HOST);
    world.node.run('nft', 'delete', 'table', 'ip6', 'masquerading');
    assert.deepEqual(world.dropped(), DROPPED_NOTHING);
  });

  it('cannot speak with an address that is not theirs, be it of the same /80 [DP-1]', async () => {
    const foreign = '2001:db8:0:1:b:0:6440:63';
    blue.namespace.run('ip', 'addr', 'add', `${foreign}/128`, 'dev', 'eth0', 'nodad');
    assert.equal(await world.visit({ ...blue, source: foreign }, VPC_HOST_IPV6, FAR_PORT), 'ETIMEDOUT');
    assert.equal(await world.visit({ ...blue, source: foreign }, BLUE_TWO[1], POD_PORT), 'ETIMEDOUT');
    blue.namespace.run('ip', 'addr', 'del', `${foreign}/128`, 'dev', 'eth0');
    assert.deepEqual(world.dropped(), DROPPED_NOTHING, 'nothing of it came as far as the VPC');
  });

  it('reach instance metadata under IPv6 only when they are permitted to [DP-3]', async () => {
    assert.equal(await world.visit(blue, IMDS_IPV6, IMDS_PORT), 'ETIMEDOUT');
    await world.apply({ imdsAllowed: BLUE.map(ip) });
    assert.equal(await world.visit(blue, IMDS_IPV6, IMDS_PORT), BLUE[1]);
    assert.equal(await world.visit(blueTwo, IMDS_IPV6, IMDS_PORT), 'ETIMEDOUT');
    await world.apply({});
    assert.equal(await world.visit(blue, IMDS_IPV6, IMDS_PORT), 'ETIMEDOUT');
  });

  it('of one ENI do not need it for each other; set up again, it has its address and route back [DP-4]', async () => {
    world.node.run('ip', 'link', 'set', 'eth1', 'down');
    assert.equal(await world.visit(blue, BLUE_TWO[1], POD_PORT), BLUE[1]);
    const repaired = (await world.apply()).join('\n');
    assert.match(repaired, /ip link set eth1 up/);
    assert.match(repaired, new RegExp(`ip addr add ${BLUE_HOST}/128 dev eth1`));
    assert.match(repaired, /default via 2001:db8:0:1::1 dev eth1 table 1002/);
  });
});
