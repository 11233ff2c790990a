// A seeded source of randomness whose streams fork by name.

import type { Random } from '../../ports/random.ts';

export interface SeededRandom extends Random {
  /**
   * An independent stream, named by `label` below this one. It depends on this stream's seed and the label alone, not
   * on what was drawn so far, so one more draw in one place shifts nothing elsewhere. The same label gives the same stream.
   */
  fork(label: string): SeededRandom;
}

/** FNV-1a over UTF-16 code units: spreads labels over 32 bits. */
function hashText(text: string, start: number): number {
  let hash = start;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

/** Murmur3's finalizer over a Weyl sequence: turns one seed word into well-mixed state words. */
function seedWords(seed: number): () => number {
  let weyl = seed >>> 0;
  return () => {
    weyl = (weyl + 0x9e3779b9) >>> 0;
    let word = weyl ^ (weyl >>> 16);
    word = Math.imul(word, 0x85ebca6b);
    word ^= word >>> 13;
    word = Math.imul(word, 0xc2b2ae35);
    return (word ^ (word >>> 16)) >>> 0;
  };
}

const rotateLeft = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

/** xoshiro128** (Blackman and Vigna), seeded from 32 bits. Not for secrets. */
export function seededRandom(seed: number): SeededRandom {
  const words = seedWords(seed);
  let a = words();
  let b = words();
  let c = words();
  let d = words();
  return {
    uint32: () => {
      const result = Math.imul(rotateLeft(Math.imul(b, 5), 7), 9) >>> 0;
      const shifted = b << 9;
      c ^= a;
      d ^= b;
      b ^= c;
      a ^= d;
      c ^= shifted;
      d = rotateLeft(d, 11);
      return result;
    },
    fork: (label) => seededRandom(hashText(label, (seed ^ 0x811c9dc5) >>> 0)),
  };
}
