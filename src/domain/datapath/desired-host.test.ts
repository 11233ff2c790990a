// The rules of the host's desired state. (Whole states are in host-text.test.ts.)

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { cidr, ip } from '../address/testing.ts';
import { desiredHost } from './desired-host.ts';
import { eniOrdinal, eniTable } from './eni-ordinal.ts';
import { renderHostAsText } from './host-text.ts';
import { type EniSketch, hostInput, macOf, prefixes, primary, twoPods } from './testing.ts';

const SEED = 20_253;

const nftOf = (input: Parameters<typeof desiredHost>[0]): string => desiredHost(input).host.nftTable;

describe('desiredHost under custom networking', () => {
  it('does not depend on the order of ENIs and links', () => {
    const input = hostInput([primary, twoPods, prefixes]);
    const shuffled = {
      ...input,
      spec: { ...input.spec, enis: [...input.spec.enis].reverse() },
      links: [...input.links].reverse(),
    };
    assert.deepEqual(desiredHost(shuffled), desiredHost(input));
  });

  it('leaves an ENI without its link pending, with no route and rule, but keeps its pods in the SNAT set', () => {
    const { host, pending } = desiredHost(hostInput([primary, twoPods], { linked: [0] }));
    assert.deepEqual(pending, [{ eniId: 'eni-00000001', mac: macOf(1) }]);
    assert.deepEqual(
      host.routes.map(({ table }) => table),
      [1001],
    );
    assert.deepEqual(
      host.rules.map(({ table }) => table),
      [1000, 1001],
    );
    assert.ok(!host.nftTable.includes('eth1'));
    assert.match(host.nftTable, /set pod_addresses \{[^}]*100\.64\.0\.21/);
  });

  it('finds links by MAC in any case, and takes the ENI before a VLAN with the same MAC', () => {
    const input = hostInput([primary]);
    const { host } = desiredHost({
      ...input,
      spec: { ...input.spec, enis: input.spec.enis.map((e) => ({ ...e, mac: '02:AB:00:00:00:01' })) },
      links: [
        { name: 'ens5', mac: '02:ab:00:00:00:01' },
        { name: 'vlan7', mac: '02:ab:00:00:00:01' },
      ],
    });
    assert.deepEqual(
      host.eniLinks.map(({ link }) => link),
      ['ens5'],
    );
  });
});

describe('desiredHost without custom networking', () => {
  it('treats ENIs of the node subnet like any others', () => {
    const { host } = desiredHost(hostInput([primary, { ...primary, deviceIndex: 1, pods: ['10.0.0.77'] }]));
    assert.deepEqual(
      host.routes.map(({ via, link, table }) => `${via} ${link} ${table}`),
      ['10.0.0.1 eth0 1001', '10.0.0.1 eth1 1002'],
    );
    assert.match(host.nftTable, /10\.0\.0\.77 : goto way_of_eni_2/);
  });
});

describe('source addresses', () => {
  it('are translated to the primary address, ports chosen as AWS_VPC_K8S_CNI_RANDOMIZESNAT says', () => {
    for (const [randomizeSnat, end] of [
      ['prng', 'snat ip to 10.0.0.10 fully-random\n'],
      ['hashrandom', 'snat ip to 10.0.0.10 random\n'],
      ['none', 'snat ip to 10.0.0.10\n'],
    ] as const) {
      const nft = nftOf(hostInput([primary, twoPods], { settings: { randomizeSnat } }));
      assert.ok(
        nft.includes(`oifname "eth0" ip saddr @pod_addresses ip daddr != @direct ${end}`),
        randomizeSnat,
      );
    }
  });

  it('stay the pod’s own under external SNAT, and every packet of a pod leaves by its ENI', () => {
    const nft = nftOf(hostInput([primary, twoPods], { settings: { externalSnat: true } }));
    assert.ok(!nft.includes('snat ip to'), nft);
    assert.match(nft, /\n {4}ip saddr vmap @eni_of_address\n/);
  });

  it('are not translated before the primary link is there', () => {
    assert.ok(!nftOf(hostInput([primary, twoPods], { linked: [1] })).includes('snat ip to'));
  });
});

describe('the nft table', () => {
  it('changes only its own bits of a mark', () => {
    const nft = nftOf(hostInput([primary, twoPods]));
    const sets = nft.split('\n').filter((line) => line.includes('mark set'));
    assert.equal(sets.length, 8);
    for (const line of sets) assert.match(line, /(meta|ct) mark set \1 mark & 0xffffff80 \| 0x[12]$/);
  });

  it('is written without overlapping intervals, which nft refuses', () => {
    const directCidrs = ['10.0.0.0/16', '10.0.5.0/24', '10.0.0.0/16', '0.0.0.0/0', '10.0.0.0/8'].map(cidr);
    const nft = nftOf(
      hostInput([primary, { ...twoPods, pods: ['100.64.1.5', '100.64.1.0/28', '100.64.1.5'] }], {
        settings: { directCidrs },
      }),
    );
    assert.match(nft, /set direct \{[^}]*elements = \{\n {6}0\.0\.0\.0\/0\n {4}\}/);
    assert.match(
      nft,
      /map eni_of_address \{[^}]*elements = \{\n {6}100\.64\.1\.0\/28 : goto way_of_eni_2\n {4}\}/,
    );
  });

  it('lets only the named pods reach instance metadata', () => {
    const nft = nftOf(hostInput([primary, twoPods], { imdsAllowed: [ip('100.64.0.21'), ip('100.64.0.3')] }));
    assert.match(
      nft,
      /set imds_allowed \{\s+type ipv4_addr\s+elements = \{\s+100\.64\.0\.3,\s+100\.64\.0\.21\s/,
    );
  });

  it('refuses a link name that would break out of its string', () => {
    const input = hostInput([primary]);
    assert.throws(
      () => desiredHost({ ...input, links: [{ name: 'eth0"', mac: macOf(0) }] }),
      /can be written in nft/,
    );
  });
});

describe('IPv6', () => {
  const six: EniSketch = {
    deviceIndex: 1,
    subnet: '2001:db8:0:1::/64',
    pods: ['2001:db8:0:1:5::/80', '2001:db8:0:1::9'],
  };

  it('does not forward before the primary link keeps its default route', () => {
    const { host } = desiredHost(hostInput([primary, six], { linked: [1] }));
    assert.deepEqual(
      host.sysctls.map(({ path }) => path),
      ['net/ipv4/ip_forward', 'net/ipv4/conf/eth1/rp_filter'],
    );
  });

  it('leaves no trace on a node without it, though its subnets have IPv6 blocks', () => {
    const blocks = { subnetIpv6: '2001:db8:0:1::/64' };
    const { host } = desiredHost(
      hostInput([
        { ...primary, ...blocks },
        { ...twoPods, ...blocks },
      ]),
    );
    assert.ok(!renderHostAsText(host).includes('-6 '));
    assert.ok(!/_address6|_allowed6|ipv6_addr/.test(host.nftTable));
  });
});

describe('both families [DP-5]', () => {
  const dual: EniSketch = {
    deviceIndex: 1,
    subnet: '100.64.0.0/20',
    subnetIpv6: '2001:db8:0:1::/64',
    pods: ['100.64.0.21', '2001:db8:0:1:5::/80'],
  };
  const bare: EniSketch = { deviceIndex: 2, subnet: '100.64.0.0/20', pods: ['100.64.0.30'] };
  const dualPrimary: EniSketch = { ...primary, subnetIpv6: '2001:db8::/64' };
  const { host } = desiredHost(hostInput([dualPrimary, dual, bare]));

  it('have a default route and a rule each in the ENI’s table, by the gateway of the subnet’s block of the family', () => {
    assert.deepEqual(
      host.routes.map(({ family, via, link, table }) => `${family} ${via} ${link} ${table}`),
      [
        '4 10.0.0.1 eth0 1001',
        '4 100.64.0.1 eth1 1002',
        '4 100.64.0.1 eth2 1003',
        '6 2001:db8::1 eth0 1001',
        '6 2001:db8:0:1::1 eth1 1002',
      ],
    );
    assert.deepEqual(
      host.rules.map(({ family, priority, table }) => `${family} ${priority} ${table}`),
      ['4 512 1000', '4 1536 1001', '4 1536 1002', '4 1536 1003', '6 512 1000', '6 1536 1001', '6 1536 1002'],
    );
  });

  it('give the ENI an IPv6 address of its own out of its /80, which no pod gets', () => {
    assert.deepEqual(
      host.eniLinks.map(({ addresses }) => addresses),
      [['10.0.0.10'], ['100.64.0.11', '2001:db8:0:1:5:ffff:ffff:ffff'], ['100.64.0.12']],
    );
  });

  it('let no ENI but the primary make a default route of its own in table main', () => {
    assert.deepEqual(
      host.sysctls.filter(({ path }) => path.includes('ipv6')).map(({ path, value }) => `${path}=${value}`),
      [
        'net/ipv6/conf/eth0/accept_ra=2',
        'net/ipv6/conf/eth1/accept_ra=0',
        'net/ipv6/conf/eth2/accept_ra=0',
        'net/ipv6/conf/all/forwarding=1',
      ],
    );
  });

  it('send every IPv6 packet of a pod by its ENI, and translate none', () => {
    assert.match(host.nftTable, /2001:db8:0:1:5::\/80 : goto way_of_eni_2/);
    assert.match(host.nftTable, /\n {4}ip6 saddr vmap @eni_of_address6\n/);
    assert.doesNotMatch(host.nftTable, /snat ip6|masquerade/);
  });
});

describe('eniOrdinal', () => {
  it('is 1 + device index, plus 16 per network card', () => {
    assert.equal(eniOrdinal({ deviceIndex: 0, networkCardIndex: 0 }), 1);
    assert.equal(eniOrdinal({ deviceIndex: 14, networkCardIndex: 0 }), 15);
    assert.equal(eniOrdinal({ deviceIndex: 1, networkCardIndex: 1 }), 18);
    assert.equal(eniTable(18), 1018);
  });

  it('is one number per place, and fits the mark, on every card that can serve pods', () => {
    const ordinals = new Set<number>();
    for (let networkCardIndex = 0; networkCardIndex < 7; networkCardIndex++)
      for (let deviceIndex = 0; deviceIndex < 16; deviceIndex++)
        ordinals.add(eniOrdinal({ deviceIndex, networkCardIndex }));
    assert.equal(ordinals.size, 7 * 16);
    assert.ok([...ordinals].every((ordinal) => ordinal >= 1 && ordinal <= 0x7f));
  });

  it('gives every place of eight cards a mark and a table of its own, away from everybody else’s', () => {
    const places = Array.from({ length: 127 }, (_, index) => ({
      networkCardIndex: Math.floor(index / 16),
      deviceIndex: index % 16,
    }));
    const marks = places.map(eniOrdinal);
    assert.equal(new Set(marks).size, places.length);
    const tables = marks.map(eniTable);
    // kube-proxy, Calico, Cilium, the AWS CNI.
    for (const others of [0x4000, 0x8000, 0xffff_0000, 0x0f00, 0x80]) {
      assert.ok(marks.every((mark) => (mark & others) === 0));
    }
    // The kernel's own tables, the AWS CNI's per ENI and per branch ENI on small types, the EC2 network utilities'.
    assert.ok(tables.every((table) => table > 1000 && table < 10_000));
  });

  it('refuses a place that has no number', () => {
    assert.throws(() => eniOrdinal({ deviceIndex: 16, networkCardIndex: 0 }), /device index lies in/);
    assert.throws(() => eniOrdinal({ deviceIndex: 0, networkCardIndex: 8 }), /fits a mark/);
  });
});

describe('every node', () => {
  it('has one default route and one rule per linked ENI, in a table of its own', () => {
    const indexes = fc.uniqueArray(fc.nat({ max: 14 }), { minLength: 1, maxLength: 15 });
    fc.assert(
      fc.property(indexes, fc.nat({ max: 15 }), (deviceIndexes, linkedCount) => {
        const sketches = deviceIndexes.map((deviceIndex) => ({
          deviceIndex,
          subnet: `10.${deviceIndex}.0.0/24`,
          pods: [`10.${deviceIndex}.0.99`],
        }));
        const linked = deviceIndexes.slice(0, linkedCount);
        const { host, pending } = desiredHost(hostInput(sketches, { linked }));
        assert.equal(host.eniLinks.length + pending.length, deviceIndexes.length);
        assert.deepEqual(
          host.routes.map(({ table, via, link }) => [table, via, link]),
          [...linked].sort((a, b) => a - b).map((n) => [1001 + n, `10.${n}.0.1`, `eth${n}`]),
        );
        const marked = host.rules.filter(({ fwmark }) => fwmark !== undefined);
        assert.deepEqual(
          marked.map(({ table, fwmark, priority }) => [table, fwmark?.mark, priority]),
          host.routes.map(({ table }) => [table, table - 1000, 1536]),
        );
      }),
      { seed: SEED },
    );
  });
});
