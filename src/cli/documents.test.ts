// Every `$ eniwhere ...` of the tools' pages is run here, and must print what the page shows.
// ENIWHERE_WRITE_DOCS=1 writes what they print into the pages instead.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { runCommand } from './testing.ts';

const PAGES = ['doctor', 'explain', 'max-pods', 'plan', 'status', 'userdata'];

/** A block marked `console`: a line `$ command`, and below it what it prints on both channels. */
const EXAMPLE = /^(```console\n\$ (eniwhere [^\n]*)\n)([\s\S]*?)^```$/gm;

/** Words as a shell would split them; the pages quote with single quotes alone. */
const wordsOf = (command: string): readonly string[] =>
  [...command.matchAll(/'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2] ?? '').slice(1);

async function runExample(command: string): Promise<string> {
  const { out, err } = await runCommand(wordsOf(command), {
    readFile: (path) => Promise.resolve({ ok: true, value: readFileSync(path, 'utf8') }),
  });
  return `${out}${err}`;
}

for (const page of PAGES)
  suite(`docs/${page}.md`, () => {
    const path = `docs/${page}.md`;
    const text = readFileSync(path, 'utf8');
    const examples = [...text.matchAll(EXAMPLE)].map(([, , command = '', shown = '']) => ({
      command,
      shown,
    }));
    test('has examples', () => assert.ok(examples.length > 0));
    if (process.env['ENIWHERE_WRITE_DOCS'] === '1')
      test('is written anew', async () => {
        const printed = await Promise.all(examples.map(({ command }) => runExample(command)));
        assert.equal(printed.length, examples.length);
        writeFileSync(
          path,
          text.replace(EXAMPLE, (_whole, head: string) => `${head}${printed.shift() ?? ''}\`\`\``),
        );
      });
    else
      for (const { command, shown } of examples)
        test(`shows what \`${command}\` prints`, async () => {
          assert.equal(await runExample(command), shown);
        });
  });
