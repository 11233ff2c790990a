// A .tar.gz of small text files. POSIX.1-1988 ustar: https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html

import { gzipSync } from 'node:zlib';
import { assert } from '../../domain/result.ts';

export interface TarFile {
  /** At most 100 bytes. */
  readonly name: string;
  readonly text: string;
}

const BLOCK = 512;
const NAME_LENGTH = 100;
/** Readable by its owner alone. */
const MODE = 0o600;

/** The whole archive; `mtime` in seconds since the epoch. */
export function tarGz(files: readonly TarFile[], mtime: number): Buffer {
  const parts = files.flatMap(({ name, text }) => {
    const content = Buffer.from(text);
    const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
    return [header(name, content.length, mtime), content, padding];
  });
  // Two empty blocks end an archive.
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]));
}

function header(name: string, length: number, mtime: number): Buffer {
  assert(Buffer.byteLength(name) <= NAME_LENGTH, `${name} fits a name of a tar header`);
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`;
  block.write(name, 0);
  block.write(octal(MODE, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(length, 11), 124);
  block.write(octal(mtime, 11), 136);
  // The sum is made with spaces in its own place.
  block.write('        ', 148);
  block.write('0', 156);
  block.write('ustar\x0000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}
