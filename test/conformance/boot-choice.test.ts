// The choice by address at boot, in bash against TypeScript, on thousands of addresses.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ipv4FromNumber } from '../../src/domain/address/ip-number.ts';
import { chooseByAddress } from '../../src/domain/userdata/choose-by-address.ts';
import { chooseFunctions } from '../../src/domain/userdata/choose-script.ts';
import { row, runBash } from '../../src/domain/userdata/testing.ts';

const ADDRESS_COUNT = 2_000;

test('[TOOL-4] bash and TypeScript choose the same ENIConfig for thousands of nodes', () => {
  const rows = [
    row('10.0.0.0/18', 'pods-a1', 'pods-a2'),
    row('10.0.64.0/18', 'pods-b1', 'pods-b2', 'pods-b3'),
    row('10.0.0.0/16', 'pods-rest'),
  ];
  // A prime step visits addresses of all blocks, and some outside.
  const addresses = Array.from({ length: ADDRESS_COUNT }, (_, n) => ipv4FromNumber(0x0a_00_00_00 + n * 37));
  const script = `set -euo pipefail\n${chooseFunctions(rows)}\nfor address; do eniwhere_choose "$address"; done\n`;
  const chosen = runBash(script, addresses).trim().split('\n');
  assert.deepEqual(
    chosen,
    addresses.map((address) => chooseByAddress(rows, address)),
  );
  const counts = new Map<string, number>();
  for (const name of chosen) counts.set(name, (counts.get(name) ?? 0) + 1);
  // Each of two or three candidates gets a fair share.
  for (const name of ['pods-a1', 'pods-a2', 'pods-b1', 'pods-b2', 'pods-b3'])
    assert.ok((counts.get(name) ?? 0) > 100, `${name}: ${counts.get(name)}`);
});
