// The nftables text of the datapath is accepted by nft and the kernel, in every shape that it can take.

import assert from 'node:assert/strict';
import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { describe, it } from 'node:test';
import { cidr, ip } from '../../src/domain/address/testing.ts';
import { desiredHost } from '../../src/domain/datapath/desired-host.ts';
import { type EniSketch, hostInput, primary } from '../../src/domain/datapath/testing.ts';

const pods: EniSketch = {
  deviceIndex: 1,
  subnet: '100.64.0.0/20',
  pods: ['100.64.0.21', '100.64.2.0/28', '100.64.2.5'],
};
const ipv6: EniSketch = {
  deviceIndex: 2,
  subnet: '2001:db8:0:1::/64',
  pods: ['2001:db8:0:1:5::/80', '2001:db8:0:1::9'],
};
const dual: EniSketch = {
  deviceIndex: 3,
  subnet: '100.64.16.0/20',
  subnetIpv6: '2001:db8:0:2::/64',
  pods: ['100.64.16.9', '2001:db8:0:2:7::/80'],
  group: 'sg-0000000b',
};
const full: readonly EniSketch[] = Array.from({ length: 15 }, (_, deviceIndex) => ({
  deviceIndex,
  subnet: `10.${deviceIndex}.0.0/24`,
  pods: Array.from({ length: deviceIndex === 0 ? 0 : 49 }, (_, pod) => `10.${deviceIndex}.0.${100 + pod}`),
}));
const everywhere = ['0.0.0.0/0', '10.0.0.0/8', '10.0.0.0/16', '2001:db8::/32'].map(cidr);

const shapes: readonly (readonly [title: string, input: Parameters<typeof desiredHost>[0]])[] = [
  ['without any ENI', hostInput([])],
  ['without any link', hostInput([primary, pods], { linked: [] })],
  ['with the primary ENI alone', hostInput([primary])],
  ['with addresses inside prefixes', hostInput([primary, pods])],
  ['with IPv6', hostInput([primary, pods, ipv6])],
  [
    'with pods that may reach instance metadata',
    hostInput([primary, pods, ipv6], { imdsAllowed: [ip('100.64.0.21'), ip('2001:db8:0:1::9')] }),
  ],
  ['with both families', hostInput([primary, dual])],
  ['with pods that are kept apart', hostInput([primary, pods, { ...pods, deviceIndex: 4, group: 'sg-2' }])],
  ['with pods of both families that are kept apart', hostInput([primary, pods, ipv6, dual])],
  ['under external SNAT', hostInput([primary, pods], { settings: { externalSnat: true } })],
  ['with ports chosen by hash', hostInput([primary, pods], { settings: { randomizeSnat: 'hashrandom' } })],
  ['with ports kept', hostInput([primary, pods], { settings: { randomizeSnat: 'none' } })],
  ['with everything direct', hostInput([primary, pods], { settings: { directCidrs: everywhere } })],
  ['with nothing direct', hostInput([primary, pods], { settings: { directCidrs: [] } })],
  ['with a full c5.18xlarge', hostInput(full)],
];

/** Why this machine cannot run the tests, or false. */
function missing(): string | false {
  if (process.getuid?.() !== 0) return 'needs root: nft talks to the kernel';
  const probe = spawnSync('unshare', ['-n', 'nft', '--version'], { encoding: 'utf8' });
  return probe.status === 0 ? false : 'needs unshare and nft (apt-get install util-linux nftables)';
}

/** `nft -c` builds the whole transaction, has the kernel check it, and takes it back. */
const check = (text: string): SpawnSyncReturns<string> =>
  spawnSync('unshare', ['-n', 'nft', '-c', '-f', '-'], { encoding: 'utf8', input: text });

describe('the nft table is valid', { skip: missing() }, () => {
  for (const [title, input] of shapes) {
    it(title, () => {
      const { host } = desiredHost(input);
      const { status, stderr } = check(host.nftTable);
      assert.equal(status, 0, `${stderr}\n${host.nftTable}`);
    });
  }

  it('and the check does find a mistake', () => {
    const { host } = desiredHost(hostInput([primary, pods]));
    assert.notEqual(check(host.nftTable.replace('chain eni_2 ', 'chain eni_9 ')).status, 0);
    assert.notEqual(check(host.nftTable.replace('flags interval', 'flags often')).status, 0);
  });
});
