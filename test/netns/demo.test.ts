// The demo and the command line as a person meets them: as root, without root, in memory, and kept running.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { parseScenario } from '../../src/lab/scenario/parse-scenario.ts';

const NODE = process.execPath;
const ENIWHERE = 'src/bin/eniwhere.ts';
const NETNS_DIRECTORY = '/run/netns';

/** Expectations in a scenario file, counted from the file itself. */
function expectationCount(file: string): number {
  const scenario = parseScenario(readFileSync(file, 'utf8'));
  assert.ok(scenario.ok);
  return scenario.value.steps.filter(({ kind }) => kind === 'Expectation').length;
}

interface Ran {
  readonly pid: number;
  readonly exitCode: number | null;
  readonly out: string;
  readonly text: string;
}

function run(argv: readonly string[]): Ran {
  const [program = '', ...values] = argv;
  const ended = spawnSync(program, values, { encoding: 'utf8', timeout: 240_000 });
  return { pid: ended.pid, exitCode: ended.status, out: ended.stdout, text: ended.stdout + ended.stderr };
}

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;
const ticks = (text: string): number => count(text, /^ {2}✓ /gm);
const notRun = (text: string): number => count(text, /^ {2}- .* {2}not run: /gm);

/** Namespaces of the lab that this process ran. */
const namespacesOf = (pid: number | undefined): readonly string[] =>
  readdirSync(NETNS_DIRECTORY).filter((name) => name.startsWith(`lab${pid}-`));

describe('eniwhere lab run', () => {
  test('the demo holds, line by line, with real packets, and leaves nothing behind', () => {
    const ran = run([NODE, ENIWHERE, 'lab', 'run', 'scenarios/demo.yaml', '--network', 'namespaces']);
    assert.equal(ran.exitCode, 0, ran.text);
    assert.equal(ticks(ran.out), expectationCount('scenarios/demo.yaml'), ran.text);
    assert.match(ran.out, /^network: real packets in network namespaces/m);
    assert.match(ran.out, /^node +ENIConfig +why +ENIs +pods +addresses$/m);
    assert.match(ran.out, /expectations: \d+ held, 0 broken; \d+\.\d s$/m);
    assert.deepEqual(namespacesOf(ran.pid), []);
  });

  test('the demo in memory runs the same lines, and says which it cannot', () => {
    const ran = run([NODE, ENIWHERE, 'lab', 'run', 'scenarios/demo.yaml', '--network', 'memory']);
    assert.equal(ran.exitCode, 0, ran.text);
    assert.equal(ticks(ran.out) + notRun(ran.out), expectationCount('scenarios/demo.yaml'), ran.text);
    assert.ok(notRun(ran.out) > 0);
    assert.match(ran.out, /^network: in memory .*packet lines are not run/m);
  });

  test('without root it finds itself a user namespace, and packets are real there too', (context) => {
    const asNobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
    const possible = run([...asNobody, 'unshare', '-Urnm', 'true']);
    if (possible.exitCode !== 0) return context.skip(`user namespaces are refused here: ${possible.text}`);
    const ran = run([...asNobody, NODE, ENIWHERE, 'lab', 'run', 'scenarios/smoke.yaml']);
    assert.equal(ran.exitCode, 0, ran.text);
    assert.equal(ticks(ran.out), expectationCount('scenarios/smoke.yaml'), ran.text);
    assert.match(ran.out, /^network: real packets/m);
  });

  test('a file that is not there, and one with a mistake, end with 2 and say where', () => {
    const missing = run([NODE, ENIWHERE, 'lab', 'run', 'scenarios/none.yaml']);
    assert.equal(missing.exitCode, 2);
    assert.match(missing.text, /scenarios\/none\.yaml/);
    const wrong = run([NODE, ENIWHERE, 'lab', 'run', 'package.json']);
    assert.equal(wrong.exitCode, 2);
    assert.match(wrong.text, /^package\.json:\d+:\d+: /m);
  });
});

describe('eniwhere lab up', () => {
  test('stays, prints commands that work, and removes everything on Ctrl-C', async () => {
    const lab = spawn(NODE, [ENIWHERE, 'lab', 'up', 'scenarios/smoke.yaml'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    const printed = new Promise<void>((resolve) => {
      lab.stdout.setEncoding('utf8').on('data', (text: string) => {
        out += text;
        if (out.includes('Ctrl-C ends the lab')) resolve();
      });
    });
    lab.stderr.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    const ended = new Promise<number | null>((resolve) => lab.once('exit', (code) => resolve(code)));
    try {
      await Promise.race([printed, ended]);
      assert.ok(out.includes('Ctrl-C ends the lab'), out);
      assert.ok(namespacesOf(lab.pid).length > 0);
      const commands = out.split('\n').filter((line) => /^ {2}(?:ip|echo) /.test(line));
      assert.ok(commands.length >= 7, out);
      const answers = commands.map((command) => ({ command, ...run(['sh', '-c', command]) }));
      for (const { command, exitCode, text } of answers) assert.equal(exitCode, 0, `${command}\n${text}`);
      const added = answers.find(({ command }) => command.includes('CNI_COMMAND=ADD'));
      const address: unknown = JSON.parse(added?.out ?? '').ips[0].address;
      assert.match(String(address), /^10\.0\.\d+\.\d+\/32$/);
    } finally {
      lab.kill('SIGINT');
    }
    assert.equal(await ended, 0, out);
    assert.deepEqual(namespacesOf(lab.pid), []);
  });
});
