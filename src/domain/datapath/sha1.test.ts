// sha1Hex against the published answers and another implementation.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { sha1Hex } from './sha1.ts';

describe('sha1Hex', () => {
  // FIPS 180-4 examples (csrc.nist.gov, SHA1.pdf) and the empty message.
  for (const [text, digest] of [
    ['', 'da39a3ee5e6b4b0d3255bfef95601890afd80709'],
    ['abc', 'a9993e364706816aba3e25717850c26c9cd0d89d'],
    ['abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq', '84983e441c3bd26ebaae4aa1f95129e5e54670f1'],
    ['a'.repeat(1_000_000), '34aa973cd4c4daa4f61eeb2bdbad27316534016f'],
  ] as const) {
    it(`gives the published answer for ${text.length} characters`, () => {
      assert.equal(sha1Hex(text), digest);
    });
  }

  it('agrees with OpenSSL at every length around the block borders', () => {
    for (let length = 0; length <= 200; length++) {
      const text = 'x'.repeat(length);
      assert.equal(sha1Hex(text), openssl(text), `length ${length}`);
    }
  });

  it('agrees with OpenSSL on any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
        assert.equal(sha1Hex(text), openssl(text));
      }),
      { seed: 20_251 },
    );
  });
});

const openssl = (text: string): string => createHash('sha1').update(text, 'utf8').digest('hex');
