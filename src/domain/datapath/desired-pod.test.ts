// Names, MACs and addresses of a pod's wiring, and which link prefixes are safe.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { ip } from '../address/testing.ts';
import { desiredPod, hostLinkName } from './desired-pod.ts';
import { defaultSettings } from './testing.ts';
import { parseVethPrefix } from './veth-prefix.ts';

const podName = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?$/);

describe('hostLinkName', () => {
  it('is the prefix and the first 11 hex digits of sha1("namespace.name")', () => {
    // printf default.web-0 | sha1sum | cut -c1-11
    assert.equal(hostLinkName('eni', { namespace: 'default', name: 'web-0' }), 'eni0d7763386da');
  });

  it('never passes the 15 characters that the kernel allows', () => {
    assert.equal(hostLinkName('veni', { namespace: 'a', name: 'b' }).length, 15);
    assert.throws(() => hostLinkName('eniwh', { namespace: 'a', name: 'b' }), /1 to 4 characters/);
    assert.throws(() => hostLinkName('', { namespace: 'a', name: 'b' }), /1 to 4 characters/);
  });
});

describe('desiredPod', () => {
  const input = {
    pod: { namespace: 'default', name: 'web-0' },
    netnsPath: '/run/netns/cni-1',
    ifName: 'eth0',
    addresses: [ip('10.1.0.5')],
    settings: defaultSettings,
  };

  it('wires the address that it was given, under the names that were asked for', () => {
    const pod = desiredPod(input);
    assert.deepEqual(pod, {
      hostLink: 'eni0d7763386da',
      hostMac: pod.hostMac,
      podMac: pod.podMac,
      netnsPath: '/run/netns/cni-1',
      podLink: 'eth0',
      addresses: ['10.1.0.5'],
      mtu: 9001,
    });
  });

  it('gives the same wiring every time, so that CHECK needs no record', () => {
    assert.deepEqual(desiredPod(input), desiredPod({ ...input }));
  });

  it('gives locally administered unicast MACs, one per end and per pod', () => {
    fc.assert(
      fc.property(podName, podName, (one, two) => {
        fc.pre(one !== two);
        const macs = [one, two].flatMap((name) => {
          const { hostMac, podMac } = desiredPod({ ...input, pod: { namespace: 'default', name } });
          return [hostMac, podMac];
        });
        for (const mac of macs) assert.match(mac, /^[0-9a-f][26ae](:[0-9a-f]{2}){5}$/);
        assert.equal(new Set(macs).size, 4);
      }),
      { seed: 20_252 },
    );
  });
});

describe('parseVethPrefix', () => {
  for (const prefix of ['eni', 'veni', 'pod_', 'AWS']) {
    it(`accepts ${prefix}`, () => {
      assert.deepEqual(parseVethPrefix(prefix), { ok: true, value: prefix });
    });
  }

  for (const prefix of ['', 'toolong', 'en*', 'a b', '"']) {
    it(`refuses ${JSON.stringify(prefix)}, which is no prefix`, () => {
      const read = parseVethPrefix(prefix);
      assert.ok(!read.ok);
      assert.match(read.error, /is not a link prefix: write one to four letters/);
    });
  }

  for (const [prefix, clash] of [
    ['eth', 'eth'],
    ['eth1', 'eth'],
    ['en', 'enX'],
    ['ens', 'ens'],
    ['lo', 'lo'],
    ['l', 'lo'],
    ['e', 'enX'],
    ['vlan', 'vlan'],
  ] as const) {
    it(`refuses ${prefix}: ${clash}... are not pods' links`, () => {
      const read = parseVethPrefix(prefix);
      assert.ok(!read.ok);
      assert.match(read.error, new RegExp(`links named ${clash}\\.\\.\\.`));
    });
  }
});
