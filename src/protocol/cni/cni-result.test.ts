// Results and errors as each version of the specification writes them.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CNI_ERROR, cniError, formatError } from './cni-error.ts';
import { type CniResult, cniResult, formatResult, resultAddresses } from './cni-result.ts';
import { CNI_VERSIONS, type CniVersion } from './version.ts';

const RESULT: CniResult = {
  interfaces: [
    { name: 'eni123', mac: '02:00:00:00:00:01', mtu: 9001 },
    { name: 'eth0', mac: '02:00:00:00:00:02', mtu: 9001, sandbox: '/run/netns/a' },
  ],
  ips: [
    { address: '10.1.0.4/32', gateway: '169.254.1.1', interface: 1 },
    { address: '2600:1f14::4/128', gateway: 'fe80::1', interface: 1 },
  ],
  routes: [{ dst: '0.0.0.0/0', gw: '169.254.1.1' }],
};

const format = (version: CniVersion): Record<string, unknown> => JSON.parse(formatResult(RESULT, version));

describe('a result [CNI-5]', () => {
  for (const [version, hasFamily, hasMtu] of [
    ['0.3.1', true, false],
    ['0.4.0', true, false],
    ['1.0.0', false, false],
    ['1.1.0', false, true],
  ] as const) {
    test(`in ${version} ${hasFamily ? 'has' : 'has no'} family on addresses, ${hasMtu ? 'an' : 'no'} MTU on interfaces`, () => {
      const { cniVersion, interfaces, ips, routes, dns } = format(version) as Record<string, never>;
      const mtu = hasMtu ? { mtu: 9001 } : {};
      assert.equal(cniVersion, version);
      assert.deepEqual(interfaces, [
        { name: 'eni123', mac: '02:00:00:00:00:01', ...mtu },
        { name: 'eth0', mac: '02:00:00:00:00:02', sandbox: '/run/netns/a', ...mtu },
      ]);
      assert.deepEqual(ips, [
        { ...(hasFamily && { version: '4' }), address: '10.1.0.4/32', gateway: '169.254.1.1', interface: 1 },
        { ...(hasFamily && { version: '6' }), address: '2600:1f14::4/128', gateway: 'fe80::1', interface: 1 },
      ]);
      assert.deepEqual([routes, dns], [[{ dst: '0.0.0.0/0', gw: '169.254.1.1' }], {}]);
    });
  }

  test('is read back from any version; before 1.1.0 without the MTU', () => {
    for (const version of CNI_VERSIONS) {
      const read = cniResult(format(version), 'prevResult');
      assert.ok(read.ok);
      assert.deepEqual(resultAddresses(read.value), ['10.1.0.4', '2600:1f14::4']);
      assert.equal(read.value.interfaces[1]?.mtu, version === '1.1.0' ? 9001 : undefined);
    }
  });

  test('may lack lists: every one of them is optional', () => {
    assert.deepEqual(cniResult({ cniVersion: '1.0.0', routes: null }, 'prevResult'), {
      ok: true,
      value: { interfaces: [], ips: [], routes: [] },
    });
  });
});

test('an error is an object with version, code, message and details', () => {
  const error = cniError(CNI_ERROR.tryAgainLater, 'no address', 'the subnet is full');
  assert.deepEqual(JSON.parse(formatError(error, '1.0.0')), {
    cniVersion: '1.0.0',
    code: 11,
    msg: 'no address',
    details: 'the subnet is full',
  });
});
