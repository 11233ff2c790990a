// The archive of a support bundle, read by the machine's own tar.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { tarGz } from './tar-gz.ts';

test('tar reads back what was put in, whatever its length', () => {
  const directory = mkdtempSync(join(tmpdir(), 'eniwhere-tar-'));
  try {
    const files = [0, 1, 511, 512, 513, 100_000].map((length) => ({
      name: `${length}.txt`,
      text: 'ü'.repeat(length),
    }));
    writeFileSync(join(directory, 'a.tar.gz'), tarGz(files, 1_780_000_000));
    execFileSync('tar', ['-xzf', 'a.tar.gz'], { cwd: directory });
    for (const { name, text } of files) assert.equal(readFileSync(join(directory, name), 'utf8'), text);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
