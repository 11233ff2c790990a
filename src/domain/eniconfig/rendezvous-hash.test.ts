// The rendezvous hash: stable, even, and the same in a shell.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { rendezvousChoice, rendezvousOrder } from './rendezvous-hash.ts';

const addresses = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `10.${n % 7}.${Math.floor(n / 250)}.${n % 250}`);

const names = fc.uniqueArray(fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,20}[a-z0-9])?$/), {
  minLength: 1,
  maxLength: 6,
});
const ipv4Text = fc.ipV4();
const SEED = 20_261;

// The shell of the doc comment, reading `ip candidate...` lines.
const SHELL = `
while read -r ip rest; do
  set -- $rest
  for c in "$@"; do printf '%s %s\\n' "$(printf '%s/%s' "$ip" "$c" | sha1sum | cut -c1-40)" "$c"; done |
    LC_ALL=C sort -r | head -n 1 | cut -d ' ' -f 2
done`;

describe('[SEL-12] the rendezvous hash', () => {
  it('has nothing to choose without candidates', () => {
    assert.equal(rendezvousChoice('10.0.0.1', []), undefined);
  });

  it('does not depend on the order of the candidates', () => {
    fc.assert(
      fc.property(ipv4Text, names, (ip, candidates) => {
        assert.deepEqual(rendezvousOrder(ip, candidates), rendezvousOrder(ip, [...candidates].reverse()));
      }),
      { seed: SEED },
    );
  });

  it('moves a key only to the candidate that was added', () => {
    fc.assert(
      fc.property(ipv4Text, names, fc.constant('zz-added'), (ip, candidates, added) => {
        const before = rendezvousChoice(ip, candidates);
        const after = rendezvousChoice(ip, [added, ...candidates]);
        assert.ok(after === before || after === added);
      }),
      { seed: SEED },
    );
  });

  it('spreads a thousand nodes evenly over three subnets, and moves about a quarter to a fourth', () => {
    const three = ['a-1', 'a-2', 'a-3'];
    const all = addresses(1000);
    const counts = three.map((name) => all.filter((ip) => rendezvousChoice(ip, three) === name).length);
    for (const count of counts) assert.ok(count > 270 && count < 400, counts.join(' '));
    const moved = all.filter((ip) => rendezvousChoice(ip, three) !== rendezvousChoice(ip, [...three, 'a-4']));
    assert.ok(moved.length > 190 && moved.length < 310, String(moved.length));
  });

  it('is what sha1sum and sort answer in a shell', () => {
    const candidates = ['pods-1a', 'pods-1a-2', 'pods.1a.3', 'z9'];
    const ips = addresses(60);
    const input = ips.map((ip) => `${ip} ${candidates.join(' ')}\n`).join('');
    const answers = execFileSync('bash', ['-c', SHELL], { input, encoding: 'utf8' }).trim().split('\n');
    assert.deepEqual(
      answers,
      ips.map((ip) => rendezvousChoice(ip, candidates)),
    );
  });

  it('gives these answers for ever: boot scripts of old launch templates rely on them', () => {
    const candidates = ['pods-1a', 'pods-1b', 'pods-1c'];
    const answers = ['10.0.0.10', '10.0.0.11', '10.0.0.12', '10.0.0.13'].map((ip) =>
      rendezvousChoice(ip, candidates),
    );
    assert.deepEqual(answers, ['pods-1c', 'pods-1b', 'pods-1b', 'pods-1c']);
  });
});
