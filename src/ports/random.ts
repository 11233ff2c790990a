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
  // The bit above the word keeps its leading zeros.
  while (text.length < length) text += (random.uint32() + WORD_END).toString(16).slice(1);
  return text.length === length ? text : text.slice(0, length);
}

const WORD_END = 0x1_0000_0000;
