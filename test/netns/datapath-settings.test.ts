// Every setting of the datapath, by its effect on packets: excluded CIDRs, port choice, MTU, instance metadata, spoofing, IPv6.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { cidr, ip } from '../../src/domain/address/testing.ts';
import {
  FAR_PORT,
  IMDS,
  IMDS_IPV6,
  IMDS_PORT,
  INTERNET,
  makeNodeWorld,
  NODE,
  type NodeOptions,
  type NodeWorld,
  NOTHING_DROPPED,
  ON_PREMISES,
  OTHER_POD,
  OTHER_POD_IPV6,
  type Place,
  POD,
  POD_IPV6,
  POD_PORT,
  type PodPlace,
  SECONDARY_ENI,
  VPC_HOST,
  VPC_HOST_IPV6,
} from './datapath-support.ts';
import { skip, valueOf } from './linux-support.ts';

const DATAGRAM_PORT = 7777;
/** Long beside what a datagram takes. */
const SILENCE_MS = 200;
const VPC_CIDRS = ['10.0.0.0/16', '100.64.0.0/16'].map(cidr);

describe('settings of the datapath', { skip }, () => {
  let world: NodeWorld;
  let pod: PodPlace;
  let otherPod: PodPlace;
  /** Has no IPv4 address; `otherPod` has one of each family. */
  let ipv6Pod: PodPlace;

  before(async () => {
    world = await makeNodeWorld();
    await world.apply();
    pod = await world.addPod('pod', [POD]);
    otherPod = await world.addPod('other', [OTHER_POD, OTHER_POD_IPV6]);
    ipv6Pod = await world.addPod('dual', [POD_IPV6]);
  });
  beforeEach(() => {
    world.dropped();
  });
  after(() => world.close());

  describe('AWS_VPC_K8S_CNI_EXCLUDE_SNAT_CIDRS', () => {
    const cases: readonly {
      readonly excluded: readonly string[];
      readonly to: string;
      readonly seenAs: string;
    }[] = [
      { excluded: [], to: ON_PREMISES, seenAs: NODE },
      { excluded: ['192.168.0.0/16'], to: ON_PREMISES, seenAs: POD },
      { excluded: ['192.168.50.1/32'], to: ON_PREMISES, seenAs: POD },
      { excluded: ['192.168.51.0/24'], to: ON_PREMISES, seenAs: NODE },
      { excluded: ['192.168.0.0/16'], to: INTERNET, seenAs: NODE },
      { excluded: ['192.168.0.0/16'], to: VPC_HOST, seenAs: POD },
      { excluded: ['0.0.0.0/0'], to: INTERNET, seenAs: POD },
    ];
    for (const { excluded, to, seenAs } of cases) {
      it(`[${excluded.join(', ')}]: ${to} sees ${seenAs}`, async () => {
        await world.apply({ settings: { directCidrs: [...VPC_CIDRS, ...excluded.map(cidr)] } });
        assert.equal(await world.visit(pod, to, FAR_PORT), seenAs);
        assert.deepEqual(world.dropped(), NOTHING_DROPPED);
      });
    }
  });

  describe('AWS_VPC_K8S_CNI_RANDOMIZESNAT', () => {
    const CONNECTION_COUNT = 4;
    const cases: readonly { readonly mode: 'prng' | 'hashrandom' | 'none'; readonly kept: boolean }[] = [
      { mode: 'none', kept: true },
      { mode: 'hashrandom', kept: false },
      { mode: 'prng', kept: false },
    ];
    for (const { mode, kept } of cases) {
      it(`${mode}: the pods’ source ports are ${kept ? 'kept' : 'changed'}`, async () => {
        await world.apply({ settings: { randomizeSnat: mode } });
        const connections = [];
        for (let count = 0; count < CONNECTION_COUNT; count++) {
          const to = { netnsPath: pod.namespace.path, address: ip(INTERNET), port: FAR_PORT };
          connections.push(valueOf(await world.sockets.connect({ ...to, timeoutMs: SILENCE_MS })));
        }
        const sent = ports(pod, 'dport', 'local');
        const seen = ports({ namespace: world.vpc }, 'sport', 'peer');
        await Promise.all(connections.map((connection) => connection.close()));
        assert.equal(sent.length, CONNECTION_COUNT);
        assert.equal(seen.length, CONNECTION_COUNT);
        // By chance, one port in tens of thousands stays as it was; never all four.
        if (kept) assert.deepEqual(seen, sent);
        else assert.notDeepEqual(seen, sent);
      });
    }
  });

  describe('AWS_VPC_ENI_MTU', () => {
    const mtuOf = (place: Place, link: string): unknown =>
      place.namespace.ip('link', 'show', link)[0]?.['mtu'];

    it('is the MTU of every ENI link, whatever it was before', async () => {
      for (const mtu of [1500, 9001]) {
        await world.apply({ settings: { mtu } });
        const node = { namespace: world.node };
        assert.deepEqual(
          ['eth0', 'eth1', 'eth2'].map((link) => mtuOf(node, link)),
          [mtu, mtu, mtu],
        );
      }
    });

    it('is the MTU of both ends of a new pod', async () => {
      const small = await world.addPod('small', ['100.64.2.1'], 1500);
      assert.equal(mtuOf(small, 'eth0'), 1500);
      assert.equal(mtuOf({ namespace: world.node }, small.pod.hostLink), 1500);
    });
  });

  describe('instance metadata [DP-3]', () => {
    const cases: readonly {
      readonly title: string;
      readonly options: NodeOptions;
      readonly from: () => Place;
      readonly answer: string;
    }[] = [
      { title: 'the node reaches it', options: {}, from: () => ({ namespace: world.node }), answer: NODE },
      { title: 'a pod does not', options: {}, from: () => pod, answer: 'ETIMEDOUT' },
      {
        title: 'a pod that may does, with the node’s address',
        options: { imdsAllowed: [ip(POD)] },
        from: () => pod,
        answer: NODE,
      },
      {
        title: 'its neighbour still does not',
        options: { imdsAllowed: [ip(POD)] },
        from: () => otherPod,
        answer: 'ETIMEDOUT',
      },
      {
        title: 'under external SNAT, a pod that may does with its own address',
        options: { imdsAllowed: [ip(POD)], settings: { externalSnat: true } },
        from: () => pod,
        answer: POD,
      },
      {
        title: 'under external SNAT, a pod does not',
        options: { settings: { externalSnat: true } },
        from: () => pod,
        answer: 'ETIMEDOUT',
      },
    ];
    for (const { title, options, from, answer } of cases) {
      it(title, async () => {
        await world.apply(options);
        assert.equal(await world.visit(from(), IMDS, IMDS_PORT), answer);
      });
    }

    it('is as far away over IPv6', async () => {
      await world.apply({});
      assert.equal(await world.visit(ipv6Pod, IMDS_IPV6, IMDS_PORT), 'ETIMEDOUT');
      await world.apply({ imdsAllowed: [ip(POD_IPV6)] });
      assert.equal(await world.visit(ipv6Pod, IMDS_IPV6, IMDS_PORT), POD_IPV6);
      assert.equal(await world.visit(otherPod, IMDS_IPV6, IMDS_PORT), 'ETIMEDOUT');
      await world.apply({});
      assert.equal(await world.visit(ipv6Pod, IMDS_IPV6, IMDS_PORT), 'ETIMEDOUT');
    });
  });

  describe('a pod that sends with another source address is not heard [DP-1]', () => {
    const cases: readonly {
      readonly title: string;
      readonly from: () => Place;
      readonly source: string;
      readonly to: string;
      readonly hearer: () => Place;
    }[] = [
      {
        title: 'its neighbour’s, to the VPC',
        from: () => pod,
        source: OTHER_POD,
        to: VPC_HOST,
        hearer: () => ({ namespace: world.vpc }),
      },
      {
        title: 'the node’s, to the VPC',
        from: () => pod,
        source: NODE,
        to: VPC_HOST,
        hearer: () => ({ namespace: world.vpc }),
      },
      {
        title: 'the node’s, to the node',
        from: () => pod,
        source: NODE,
        to: NODE,
        hearer: () => ({ namespace: world.node }),
      },
      {
        title: 'its own ENI’s, to the node',
        from: () => pod,
        source: SECONDARY_ENI,
        to: NODE,
        hearer: () => ({ namespace: world.node }),
      },
      {
        title: 'one of the internet, to a neighbour',
        from: () => pod,
        source: INTERNET,
        to: OTHER_POD,
        hearer: () => otherPod,
      },
      {
        title: 'a free one of its ENI, to the node',
        from: () => pod,
        source: '100.64.2.9',
        to: NODE,
        hearer: () => ({ namespace: world.node }),
      },
      {
        title: 'its neighbour’s IPv6 address, to the VPC',
        from: () => ipv6Pod,
        source: OTHER_POD_IPV6,
        to: VPC_HOST_IPV6,
        hearer: () => ({ namespace: world.vpc }),
      },
      {
        title: 'an IPv6 address of elsewhere, to a neighbour',
        from: () => ipv6Pod,
        source: VPC_HOST_IPV6,
        to: OTHER_POD_IPV6,
        hearer: () => otherPod,
      },
    ];

    const hears = async (hearer: Place, from: Place, source: string, to: string): Promise<string> => {
      const listening = world.sockets.receiveDatagram({
        netnsPath: hearer.namespace.path,
        port: DATAGRAM_PORT,
        timeoutMs: SILENCE_MS,
      });
      const datagram = { source: ip(source), destination: ip(to), port: DATAGRAM_PORT };
      valueOf(await world.sockets.sendSpoofed({ netnsPath: from.namespace.path, ...datagram }));
      const heard = await listening;
      return heard.kind === 'ok' ? heard.value : heard.kind;
    };

    before(() => world.apply({}));

    for (const { title, from, source, to, hearer } of cases) {
      it(title, async () => {
        assert.equal(await hears(hearer(), from(), source, to), 'failed');
        assert.deepEqual(world.dropped(), NOTHING_DROPPED);
      });
    }

    it('its neighbour’s, by a link that another program has renamed', async () => {
      const renamed = await world.addPod('renamed', ['100.64.2.3']);
      world.node.run('ip', 'link', 'set', renamed.pod.hostLink, 'name', 'taken0');
      assert.equal(await hears({ namespace: world.vpc }, renamed, POD, VPC_HOST), 'failed');
      assert.equal(await hears({ namespace: world.vpc }, renamed, '100.64.2.3', VPC_HOST), '100.64.2.3');
      assert.deepEqual(world.dropped(), NOTHING_DROPPED);
    });

    it('one that was its own until another pod got it', async () => {
      const before = await world.addPod('before', ['100.64.2.4']);
      assert.equal(await hears({ namespace: world.vpc }, before, '100.64.2.4', VPC_HOST), '100.64.2.4');
      valueOf(await world.stack.unwirePod(before.pod));
      await world.addPod('after', ['100.64.2.4']);
      const again = { ...before.pod, addresses: [ip('100.64.2.5')] };
      valueOf(await world.stack.wirePod(again));
      assert.equal(await hears({ namespace: world.vpc }, before, '100.64.2.4', VPC_HOST), 'failed');
      assert.deepEqual(world.dropped(), NOTHING_DROPPED);
    });

    it('while with its own, it is', async () => {
      assert.equal(await hears({ namespace: world.vpc }, pod, POD, VPC_HOST), POD);
      assert.equal(await hears(otherPod, ipv6Pod, POD_IPV6, OTHER_POD_IPV6), POD_IPV6);
    });
  });

  describe('IPv6', () => {
    const cases: readonly {
      readonly title: string;
      readonly from: () => Place;
      readonly to: readonly [string, number];
      readonly seenAs: string;
    }[] = [
      {
        title: 'pod to pod on the node',
        from: () => ipv6Pod,
        to: [OTHER_POD_IPV6, POD_PORT],
        seenAs: POD_IPV6,
      },
      {
        title: 'pod of a prefix to pod on the node',
        from: () => otherPod,
        to: [POD_IPV6, POD_PORT],
        seenAs: OTHER_POD_IPV6,
      },
      {
        title: 'pod to the VPC, by its ENI',
        from: () => ipv6Pod,
        to: [VPC_HOST_IPV6, FAR_PORT],
        seenAs: POD_IPV6,
      },
      {
        title: 'VPC to the pod, and back by the same ENI',
        from: () => world.far(VPC_HOST_IPV6),
        to: [OTHER_POD_IPV6, POD_PORT],
        seenAs: VPC_HOST_IPV6,
      },
      {
        title: 'the pod of both families, over IPv4',
        from: () => pod,
        to: [OTHER_POD, POD_PORT],
        seenAs: POD,
      },
    ];
    for (const { title, from, to, seenAs } of cases) {
      it(`${title}: seen as ${seenAs}`, async () => {
        await world.apply({});
        assert.equal(await world.visit(from(), ...to), seenAs);
        assert.deepEqual(world.dropped(), NOTHING_DROPPED);
      });
    }

    it('is off in a pod that has no IPv6 address', () => {
      assert.deepEqual(pod.namespace.ip('-6', 'addr', 'show', 'dev', 'eth0'), []);
    });
  });
});

/** Ports of the established connections with port FAR_PORT on one side, in ascending order. */
function ports(place: Place, side: 'sport' | 'dport', of: 'local' | 'peer'): readonly number[] {
  const column = of === 'local' ? 2 : 3;
  return place.namespace
    .run('ss', '-Hnt', 'state', 'established', side, '=', `:${FAR_PORT}`)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Number(line.trim().split(/\s+/)[column]?.split(':').at(-1)))
    .sort((a, b) => a - b);
}
