// Which address a pod gets, and when it gets none.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ip } from '../address/testing.ts';
import { type AllocationChoice, allocate, describeFailure } from './allocate.ts';
import { applyRecord, ledgerFrom } from './apply-record.ts';
import { emptyLedger, type JournalRecord, type Ledger } from './ledger.ts';
import type { SpecEni } from './node-network.ts';
import { holdableAddresses } from './pod-addresses.ts';
import { allocated, allocation, released, rested, sandbox, specEni } from './testing-node.ts';

const withdrawn = (address: string, generation: number): JournalRecord => ({
  type: 'Withdrawn',
  at: 0,
  ip: ip(address),
  generation,
});

const everyAddress = (enis: readonly SpecEni[]): ReadonlySet<ReturnType<typeof ip>> =>
  new Set(enis.flatMap((eni) => eni.addresses));

function choose(ledger: Ledger, enis: readonly SpecEni[]): AllocationChoice {
  const result = allocate({
    ledger,
    enis,
    families: ['IPv4'],
    routed: everyAddress(enis),
    sandbox: sandbox('new'),
  });
  assert.ok(result.ok, 'an address is chosen');
  return result.value;
}

const chosenIp = (ledger: Ledger, enis: readonly SpecEni[]): string => {
  const choice = choose(ledger, enis);
  assert.equal(choice.kind, 'New');
  return choice.kind === 'New' ? choice.addresses.join(' ') : '';
};

describe('allocate chooses an address', () => {
  test('the same sandbox gets the address it has, though it could have another [CNI-2]', () => {
    const ledger = ledgerFrom([allocated('new', '10.1.0.5')]);
    const choice = choose(ledger, [specEni({ addresses: ['10.1.0.4', '10.1.0.5'] })]);
    assert.equal(choice.kind, 'Existing');
    assert.deepEqual(choice.kind === 'Existing' && choice.allocation.addresses, ['10.1.0.5']);
  });

  test('of several prefixes the fullest one, so that the others can be given back', () => {
    const addresses = ['10.1.0.17', '10.1.0.18', '10.1.0.33', '10.1.0.34', '10.1.0.49'];
    const eni = specEni({ addresses, prefixes: ['10.1.0.16/28', '10.1.0.32/28', '10.1.0.48/28'] });
    assert.equal(chosenIp(ledgerFrom([allocated('a', '10.1.0.33')]), [eni]), '10.1.0.34');
    const full = ledgerFrom([allocated('a', '10.1.0.33'), allocated('b', '10.1.0.34')]);
    assert.equal(chosenIp(full, [eni]), '10.1.0.17');
  });

  test('another interface of the same container is another attachment', () => {
    const ledger = ledgerFrom([allocated('new', '10.1.0.5')]);
    const enis = [specEni({ addresses: ['10.1.0.4', '10.1.0.5'] })];
    const result = allocate({
      ledger,
      enis,
      families: ['IPv4'],
      routed: everyAddress(enis),
      sandbox: { containerId: 'new', ifName: 'net1' },
    });
    assert.ok(result.ok && result.value.kind === 'New' && result.value.addresses.join() === '10.1.0.4');
  });

  test('the fullest ENI with a free address comes first, so that the others run empty', () => {
    const ledger = ledgerFrom([
      allocated('a', '10.1.0.20'),
      allocated('b', '10.1.0.30'),
      allocated('c', '10.1.0.31'),
    ]);
    const enis = [
      specEni({ deviceIndex: 1, addresses: ['10.1.0.10', '10.1.0.11'] }),
      specEni({ deviceIndex: 2, addresses: ['10.1.0.20', '10.1.0.21'] }),
      specEni({ deviceIndex: 3, addresses: ['10.1.0.30', '10.1.0.31'] }),
    ];
    assert.equal(chosenIp(ledger, enis), '10.1.0.21');
  });

  test('of equally full ENIs the one with the lowest device index comes first, whatever the order in the spec', () => {
    const enis = [
      specEni({ deviceIndex: 2, addresses: ['10.1.0.20'] }),
      specEni({ deviceIndex: 1, addresses: ['10.1.0.10'] }),
    ];
    assert.equal(chosenIp(emptyLedger, enis), '10.1.0.10');
  });

  test('of rested addresses the one released first comes first, and one that never served before both', () => {
    const ends = (ledger: Ledger): Ledger => applyRecord(ledger, rested([...ledger.cooling.keys()]));
    const enis = [specEni({ addresses: ['10.1.0.4', '10.1.0.5', '10.1.0.6'] })];
    const two = ends(ledgerFrom([released('a', '10.1.0.4', 500), released('b', '10.1.0.5', 100)]));
    assert.equal(chosenIp(two, enis), '10.1.0.6');
    assert.equal(chosenIp(ends(applyRecord(two, released('c', '10.1.0.6', 900))), enis), '10.1.0.5');
  });
});

describe('allocate refuses', () => {
  const cases: readonly {
    readonly what: string;
    readonly records?: readonly JournalRecord[];
    readonly enis: readonly SpecEni[];
    readonly unrouted?: boolean;
    readonly says: string;
  }[] = [
    { what: 'without an ENI', enis: [], says: 'no ENI has been granted to this node yet' },
    {
      what: 'addresses of the primary ENI [IP-7]',
      enis: [specEni({ deviceIndex: 0, primary: true, addresses: ['10.0.0.9'] })],
      says: 'no ENI has been granted to this node yet',
    },
    {
      what: 'with an ENI that has no address',
      enis: [specEni({})],
      says: 'none of the 1 ENIs has an address for pods yet',
    },
    {
      what: 'an address that another pod holds [IP-1]',
      records: [allocated('a', '10.1.0.4')],
      enis: [specEni({ addresses: ['10.1.0.4'] })],
      says: 'none of the 1 granted addresses is free: 1 used by pods',
    },
    {
      what: 'an address in cooldown [IP-5]',
      records: [released('a', '10.1.0.4', 0)],
      enis: [specEni({ addresses: ['10.1.0.4'] })],
      says: 'none of the 1 granted addresses is free: 1 in cooldown',
    },
    {
      what: 'an address that was let go, though the spec grants it and asks for it no more [IP-6]',
      records: [withdrawn('10.1.0.4', 7)],
      enis: [specEni({ addresses: ['10.1.0.4'] })],
      says: 'none of the 1 granted addresses is free: 1 being withdrawn',
    },
    {
      what: 'an address that the controller asks for',
      enis: [specEni({ addresses: ['10.1.0.4'], withdrawing: ['10.1.0.4'] })],
      says: 'none of the 1 granted addresses is free: 1 being withdrawn',
    },
    {
      what: 'addresses of a cordoned ENI',
      enis: [specEni({ addresses: ['10.1.0.4', '10.1.0.5'], cordoned: true })],
      says: 'none of the 2 granted addresses is free: 2 on cordoned ENIs',
    },
    {
      what: 'an address that the host does not route yet',
      enis: [specEni({ addresses: ['10.1.0.4'] })],
      unrouted: true,
      says: 'none of the 1 granted addresses is free: 1 on ENIs that are still coming up',
    },
    {
      what: 'and counts each address once',
      records: [allocated('a', '10.1.0.4'), released('b', '10.1.0.5', 0)],
      enis: [
        specEni({ addresses: ['10.1.0.4', '10.1.0.5', '10.1.0.6'], withdrawing: ['10.1.0.4', '10.1.0.6'] }),
      ],
      says: 'none of the 3 granted addresses is free: 1 used by pods, 1 in cooldown, 1 being withdrawn',
    },
  ];
  for (const { what, records = [], enis, unrouted = false, says } of cases) {
    test(what, () => {
      const result = allocate({
        ledger: ledgerFrom(records),
        enis,
        families: ['IPv4'],
        routed: unrouted ? new Set() : everyAddress(enis),
        sandbox: sandbox('new'),
      });
      assert.ok(!result.ok);
      assert.equal(describeFailure(result.error), says);
    });
  }
});

describe('allocate under both families [IP-8]', () => {
  const PREFIX = '2001:db8:0:1:5::/80';
  const dual = (...addresses: readonly string[]): SpecEni => specEni({ addresses, prefixes: [PREFIX] });
  const both = (enis: readonly SpecEni[], records: readonly JournalRecord[] = []) =>
    allocate({
      ledger: ledgerFrom(records),
      enis,
      families: ['IPv6', 'IPv4'],
      routed: new Set(enis.flatMap(holdableAddresses)),
      sandbox: sandbox('new'),
    });
  const addressesOf = (result: ReturnType<typeof both>): readonly string[] =>
    result.ok && result.value.kind === 'New' ? result.value.addresses : [];

  test('gives an IPv4 address and, from the /80 of the same ENI, the IPv6 address that follows from it', () => {
    assert.deepEqual(addressesOf(both([dual('10.1.0.4')])), ['10.1.0.4', '2001:db8:0:1:5:0:a01:4']);
  });

  test('passes over an ENI without a /80, and says so when there is no other', () => {
    const bare = specEni({ deviceIndex: 2, addresses: ['10.1.0.8', '10.1.0.9'] });
    const full = [allocated('a', '10.1.0.8')];
    assert.equal(addressesOf(both([bare, dual('10.1.0.4')], full))[0], '10.1.0.4');
    const result = both([bare], full);
    assert.ok(!result.ok);
    assert.equal(
      describeFailure(result.error),
      'none of the 2 granted addresses is free: 1 used by pods, 1 on ENIs that have no IPv6 prefix yet',
    );
  });

  test('gives nothing while the host does not route the /80', () => {
    const enis = [dual('10.1.0.4')];
    const result = allocate({
      ledger: emptyLedger,
      enis,
      families: ['IPv4', 'IPv6'],
      routed: everyAddress(enis),
      sandbox: sandbox('new'),
    });
    assert.ok(!result.ok);
    assert.match(describeFailure(result.error), /1 on ENIs that are still coming up/);
  });

  test('passes over an address whose IPv6 one is held or rests, though the IPv4 one does not [IP-1] [IP-5]', () => {
    const held = allocation('a', '2001:db8:0:1:5:0:a01:4');
    const result = both([dual('10.1.0.4', '10.1.0.5')], [{ type: 'Allocated', at: 0, allocation: held }]);
    assert.equal(addressesOf(result)[0], '10.1.0.5');
    const resting = released('b', '2001:db8:0:1:5:0:a01:5', 0);
    const none = both([dual('10.1.0.5')], [resting]);
    assert.ok(!none.ok && none.error.coolingCount === 1);
  });

  test('takes no IPv6 address that is listed for pods without IPv4', () => {
    const result = both([dual('2001:db8:0:1:5::1')]);
    assert.ok(!result.ok && result.error.addressCount === 0);
  });
});

describe('allocate for pods without IPv4', () => {
  test('gives a listed IPv6 address, and no IPv4 address that is still granted', () => {
    const enis = [specEni({ addresses: ['10.1.0.4', '2001:db8:0:1:5::1', '2001:db8:0:1:5::2'] })];
    const result = allocate({
      ledger: ledgerFrom([{ type: 'Allocated', at: 0, allocation: allocation('a', '2001:db8:0:1:5::1') }]),
      enis,
      families: ['IPv6'],
      routed: everyAddress(enis),
      sandbox: sandbox('new'),
    });
    assert.ok(result.ok && result.value.kind === 'New');
    assert.deepEqual(result.value.addresses, ['2001:db8:0:1:5::2']);
  });

  test('of an IPv4 node, no IPv6 address is handed out that an earlier choice left', () => {
    const enis = [specEni({ addresses: ['2001:db8:0:1:5::1'] })];
    const result = allocate({
      ledger: emptyLedger,
      enis,
      families: ['IPv4'],
      routed: everyAddress(enis),
      sandbox: sandbox('new'),
    });
    assert.ok(!result.ok);
    assert.match(describeFailure(result.error), /none of the 1 ENIs has an address/);
  });
});
