// Randomness: a source that tests can seed.

export interface Random {
  /** Uniform in [0, 2^32). */
  uint32(): number;
}

/** Uniform integer in [0, n). */
export const randomInt = (random: Random, n: number): number => random.uint32() % n;

/** `length` lower-case hex digits. */
export function randomHex(random: Random, length: number): string {
  let text = '';
  while (text.length < length) {
    const word = random.uint32();
    for (const shift of [24, 16, 8, 0]) text += HEX[(word >>> shift) & 0xff];
  }
  return text.length === length ? text : text.slice(0, length);
}

/** The two digits of each byte. */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
