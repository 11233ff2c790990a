// The machine's randomness.

import { randomFillSync } from 'node:crypto';
import type { Random } from '../../ports/random.ts';

const word = new Uint32Array(1);

/** Cryptographic randomness: client tokens must not repeat between two controllers. */
export const systemRandom: Random = {
  uint32: () => {
    randomFillSync(word);
    return word[0] ?? 0;
  },
};
