// Completion: the candidates, and the scripts that ask for them.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { runCommand } from './testing.ts';

const complete = async (...words: readonly string[]): Promise<readonly string[]> => {
  const { out } = await runCommand(['__complete', '--', ...words]);
  return out
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t')[0] ?? '');
};

suite('completion', () => {
  const rows: readonly [string, readonly string[], readonly string[]][] = [
    ['commands by their beginning', ['ex'], ['explain']],
    ['commands of a command', ['explain', ''], ['node', 'pod', 'eniconfig', 'help']],
    ['options of a command', ['max-pods', '--pre'], ['--prefix']],
    ['values of an option', ['userdata', '--os', 'al'], ['al2', 'al2023']],
    ['options behind a value', ['userdata', '--os', 'al2', '--startup'], ['--startup-taint']],
    ['options behind an argument', ['explain', 'node', 'n1', '--kubec'], ['--kubeconfig']],
    ['shells', ['completion', ''], ['bash', 'zsh', 'fish']],
    ['nothing where anything may stand', ['max-pods', '--instance-type', ''], ['']],
  ];
  for (const [title, words, expected] of rows)
    test(`knows ${title}`, async () => assert.deepEqual(await complete(...words), expected));

  test('does not offer what is only for scripts', async () => {
    assert.ok(!(await complete('')).some((word) => word.startsWith('__')));
  });

  test('answers kubectl with a directive at the end', async () => {
    const { out } = await runCommand(['__complete', '--kubectl', '--', 'stat']);
    assert.equal(out, 'status\tnodes, subnets, and what waits and why\n:4\n');
    const none = await runCommand(['__complete', '--kubectl', '--', 'nothing-like-this']);
    assert.equal(none.out, ':0\n');
  });

  test('the script for bash puts what the program says into COMPREPLY', async () => {
    const { out: script } = await runCommand(['completion', 'bash']);
    const driver = `
eniwhere() { printf '%s\\n' "$*" >&2; printf 'node\\ta node\\nnothing\\tnone\\n'; }
COMP_WORDS=(eniwhere explain no) COMP_CWORD=2
_eniwhere 2>/dev/null
printf '%s\\n' "\${COMPREPLY[@]}"
complete -p eniwhere
`;
    const ran = spawnSync('bash', ['-s'], { input: script + driver, encoding: 'utf8' });
    assert.equal(ran.status, 0, ran.stderr);
    assert.equal(ran.stdout, 'node\nnothing\ncomplete -o bashdefault -o default -F _eniwhere eniwhere\n');
  });

  test('the script for zsh describes what the program says, sourced or as a file of fpath', async () => {
    const { out: script } = await runCommand(['completion', 'zsh']);
    const folder = mkdtempSync(join(tmpdir(), 'eniwhere-zsh-'));
    try {
      writeFileSync(join(folder, '_eniwhere'), script);
      for (const load of [
        `source ${folder}/_eniwhere`,
        `fpath=(${folder} $fpath); autoload -Uz _eniwhere; compdef`,
      ]) {
        const driver = `
compdef() { print -r -- "compdef $*"; }
_describe() { print -rl -- "\${(@P)2}"; }
_files() { print -r -- files; }
eniwhere() { printf 'node\\ta node\\nA:B\\tof two\\n'; }
${load}
words=(eniwhere explain no) CURRENT=3
_eniwhere
eniwhere() { }
_eniwhere
`;
        const ran = spawnSync('zsh', ['-f', '-s'], { input: driver, encoding: 'utf8' });
        assert.equal(ran.status, 0, ran.stderr);
        const [defined, ...said] = ran.stdout.trimEnd().split('\n');
        assert.match(defined ?? '', /^compdef/);
        assert.deepEqual(said, ['node:a node', 'A\\:B:of two', 'files'], load);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('each shell has its script, and an unknown one is refused', async () => {
    assert.match((await runCommand(['completion', 'zsh'])).out, /^#compdef eniwhere\n/);
    assert.match((await runCommand(['completion', 'fish'])).out, /^complete -c eniwhere /m);
    assert.equal((await runCommand(['completion', 'tcsh'])).exitCode, 2);
  });
});

suite('help', () => {
  const leaves = async (path: readonly string[]): Promise<readonly (readonly string[])[]> => {
    const next = (await complete(...path, '')).filter((word) => word !== '' && word !== 'help');
    // What `completion` offers are shells.
    if (next.length === 0 || path[0] === 'completion') return [path];
    const deeper = await Promise.all(next.map((word) => leaves([...path, word])));
    return deeper.flat();
  };

  test('every command has examples, and says what it is for', async () => {
    const commands = await leaves([]);
    assert.ok(commands.length > 12, String(commands.length));
    for (const path of commands) {
      const { exitCode, out } = await runCommand([...path, '--help']);
      assert.equal(exitCode, 0, path.join(' '));
      assert.match(out, /^Examples:\n {2}\S/m, path.join(' '));
    }
  });

  test('as a kubectl plugin it is called as it was typed', async () => {
    const { out } = await runCommand(['status', '--help'], { programName: 'kubectl eniwhere' });
    assert.match(out, /^Usage: kubectl eniwhere status /);
  });
});
