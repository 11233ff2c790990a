// The bans, tried on short sources: what they must find, and what they must leave alone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBanned } from './bans.ts';
import { sourceFile } from './tree.ts';

const cases: readonly (readonly [path: string, source: string, found: readonly string[]])[] = [
  ['src/domain/a.ts', 'const now = Date.now();', ['Date']],
  ['src/domain/a.ts', "// Date\nconst text = 'Date';", []],
  ['src/domain/a.test.ts', 'const now = Date.now();', []],
  ['src/domain/a.ts', 'const n = Math.random() + Math.max(1, 2);', ['Math . random']],
  ['src/domain/a.ts', 'async function f() {}', ['async']],
  ['src/controller/a.ts', 'async function f() { await g(); }', []],
  ['src/controller/a.ts', 'setTimeout(f, 1); a.localeCompare(b);', ['setTimeout', 'localeCompare']],
  ['src/lab/kernel/a.ts', 'randomUUID();', ['randomUUID']],
  ['src/lab/fabric/a.ts', 'setTimeout(f, Date.now());', []],
  ['src/lab/ec2-http/a.ts', 'setTimeout(f, Date.now());', []],
  ['src/cli/a.ts', 'a.localeCompare(b); AbortSignal.timeout(1);', ['localeCompare', 'AbortSignal . timeout']],
  ['src/adapters/linux/a.ts', 'insideNamespace(fd, f); await g(); h.then(i);', ['await', '. then (']],
  ['src/adapters/linux/a.ts', 'await g();', []],
  ['src/agent/a.ts', 'f(process.env, process.argv, process.pid);', ['process . env', 'process . argv']],
  ['src/bin/a.ts', 'f(process.env);', []],
  [
    'src/ports/a.ts',
    'let a: any; b as any; c<any>(); type D = E | any;',
    [': any', 'as any', '< any', '| any'],
  ],
  ['src/ports/a.ts', 'any(a); if (any) b(any);', []],
  ['src/agent/a.ts', 'class A { b() { return this.c; } }', ['class', 'this']],
  ['src/agent/a.ts', 'class A extends Error { constructor() { super(); this.name = "A"; } }', []],
  ['scripts/a.ts', 'try { f(); } catch {}', ['catch { }']],
  ['scripts/a.ts', 'try { f(); } catch (error) { }', ['catch ( error ) { }']],
  ['scripts/a.ts', 'try { f(); } catch (error) { g(error); }', []],
  ['src/agent/a.test.ts', "test.only('a', f); it.skip('b', f);", ['test . only (', 'it . skip (']],
  ['test/a.test.ts', "test('a', { skip: true }, f); t.skip();", ['skip : true', '. skip ( )']],
  ['test/a.test.ts', "test('a', { skip: 'needs root' }, f); t.skip('needs root');", []],
];

for (const [path, source, found] of cases) {
  test(`bans: in ${path}, ${source.replaceAll('\n', ' ')}`, () => {
    const words = findBanned(sourceFile(path, source)).map((fault) => fault.found);
    assert.deepEqual(words, found);
  });
}
