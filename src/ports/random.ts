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
  while (text.length < length) text += random.uint32().toString(16).padStart(8, '0');
  return text.slice(0, length);
}
