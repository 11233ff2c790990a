// SHA-1 (FIPS 180-4, section 6.1), for names only: it protects nothing here.

const BLOCK_BYTES = 64;
const LENGTH_BYTES = 8;
const ROUND_COUNT = 80;

/** 40 lower-case hex digits of the SHA-1 of the text's UTF-8 bytes. */
export function sha1Hex(text: string): string {
  const message = pad(new TextEncoder().encode(text));
  const hash = new Uint32Array([0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0]);
  for (let offset = 0; offset < message.byteLength; offset += BLOCK_BYTES) addBlock(hash, message, offset);
  return Array.from(hash, (word) => word.toString(16).padStart(8, '0')).join('');
}

/** The message, a one bit, zeros, and the message's length in bits, filling whole blocks. */
function pad(bytes: Uint8Array): DataView {
  const blockCount = Math.ceil((bytes.length + 1 + LENGTH_BYTES) / BLOCK_BYTES);
  const padded = new Uint8Array(blockCount * BLOCK_BYTES);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - LENGTH_BYTES, BigInt(bytes.length) * 8n);
  return view;
}

const rotateLeft = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

function addBlock(hash: Uint32Array, message: DataView, offset: number): void {
  const schedule = scheduleOf(message, offset);
  let [a = 0, b = 0, c = 0, d = 0, e = 0] = hash;
  for (let round = 0; round < ROUND_COUNT; round += 1) {
    const logical = ROUNDS[Math.floor(round / 20)]?.(b, c, d) ?? 0;
    const sum = (rotateLeft(a, 5) + logical + e + (schedule[round] ?? 0)) | 0;
    e = d;
    d = c;
    c = rotateLeft(b, 30);
    b = a;
    a = sum;
  }
  for (const [index, word] of [a, b, c, d, e].entries()) hash[index] = (hash[index] ?? 0) + word;
}

function scheduleOf(message: DataView, offset: number): Uint32Array {
  const words = new Uint32Array(ROUND_COUNT);
  const at = (index: number): number => words[index] ?? 0;
  for (let index = 0; index < ROUND_COUNT; index++) {
    words[index] =
      index < 16
        ? message.getUint32(offset + index * 4)
        : rotateLeft(at(index - 3) ^ at(index - 8) ^ at(index - 14) ^ at(index - 16), 1);
  }
  return words;
}

/** For each twenty rounds, their logical function of three words, plus their constant. */
const ROUNDS: readonly ((b: number, c: number, d: number) => number)[] = [
  (b, c, d) => ((b & c) | (~b & d)) + 0x5a827999,
  (b, c, d) => (b ^ c ^ d) + 0x6ed9eba1,
  (b, c, d) => ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc,
  (b, c, d) => (b ^ c ^ d) + 0xca62c1d6,
];
