// The choice by address at boot: the shell's answer is the controller's, also where no block fits.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ipv4FromNumber } from '../address/ip-number.ts';
import { ip } from '../address/testing.ts';
import { rendezvousChoice } from '../eniconfig/rendezvous-hash.ts';
import { chooseByAddress } from './choose-by-address.ts';
import { chooseFunctions } from './choose-script.ts';
import { row, runBash } from './testing.ts';

const rows = [
  row('10.0.0.0/16', 'pods-wide'),
  row('10.0.1.0/24', 'pods-a1', 'pods-a2', 'pods-a3'),
  row('10.0.1.128/25', 'pods-b1', 'pods-b2'),
  row('192.168.7.9/32', 'alone'),
];

suite('the choice by address', () => {
  test('takes the narrowest block, and in it the rendezvous hash of the address', () => {
    assert.equal(chooseByAddress(rows, ip('10.0.2.7')), 'pods-wide');
    const address = ip('10.0.1.200');
    assert.equal(chooseByAddress(rows, address), rendezvousChoice(address, ['pods-b1', 'pods-b2']));
    assert.equal(chooseByAddress(rows, ip('192.168.7.9')), 'alone');
  });

  test('[SEL-1] [TOOL-4] outside all blocks it names an ENIConfig that cannot exist, so that no other rule decides', () => {
    assert.equal(chooseByAddress(rows, ip('172.16.0.1')), 'none-for-172.16.0.1');
  });

  test('[TOOL-4] bash comes to the same, for addresses all over the blocks and at their edges', () => {
    const edges = [
      '10.0.1.0',
      '10.0.1.127',
      '10.0.1.128',
      '10.0.1.255',
      '10.0.255.255',
      '10.1.0.0',
      '255.255.255.255',
    ];
    const spread = Array.from({ length: 60 }, (_, n) => ipv4FromNumber(0x0a_00_00_00 + n * 1103));
    const addresses = [...edges.map(ip), ...spread, ip('192.168.7.9'), ip('0.0.0.0')];
    const script = `set -euo pipefail\n${chooseFunctions(rows)}\nfor address; do eniwhere_choose "$address"; done\n`;
    assert.deepEqual(
      runBash(script, addresses).trim().split('\n'),
      addresses.map((address) => chooseByAddress(rows, address)),
    );
  });
});
