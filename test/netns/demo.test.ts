// The demo and the command line as a person meets them: as root, without root, in memory, and kept running.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
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

/** Command lines of simulated EC2s of this work tree that run. */
function ec2Processes(): readonly string[] {
  const listed = run(['ps', '-eo', 'args', '-ww']).out.split('\n');
  return listed.filter((line) => line.includes(`${process.cwd()}/`) && line.includes('lab ec2'));
}

const AS_NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];

function whyNotWithoutRoot(): string | undefined {
  const tried = run([...AS_NOBODY, 'unshare', '-Urnm', 'true']);
  return tried.exitCode === 0 ? undefined : `user namespaces are refused here: ${tried.text}`;
}

interface Running {
  readonly pid: number | undefined;
  /** Everything that it has written so far. */
  written(): string;
  /** Resolves when it has written the text, or ended. */
  whenWritten(text: string): Promise<void>;
  end(signal: 'SIGINT' | 'SIGKILL'): Promise<number | null>;
}

function start(argv: readonly [string, ...string[]]): Running {
  const [program, ...values] = argv;
  const child = spawn(program, values, { stdio: ['ignore', 'pipe', 'pipe'] });
  let written = '';
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const onText = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      written += text;
      for (const notify of onText) notify();
    });
  return {
    pid: child.pid,
    written: () => written,
    whenWritten: (text) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (written.includes(text)) resolve();
        };
        onText.add(look);
        look();
        void ended.then(() => resolve());
      }),
    end: (signal) => {
      child.kill(signal);
      return ended;
    },
  };
}

const HAND_BOOK_END = 'Ctrl-C ends the lab';
const labUp = (...asUser: readonly string[]): Running => {
  const argv = [...asUser, NODE, ENIWHERE, 'lab', 'up', 'scenarios/smoke.yaml'];
  return start(argv as [string, ...string[]]);
};

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

  test('the demo holds unchanged with controller and EC2 in different processes, over SDK and HTTP', () => {
    const ran = run([NODE, ENIWHERE, 'lab', 'run', 'scenarios/demo.yaml', '--ec2', 'http']);
    assert.equal(ran.exitCode, 0, ran.text);
    assert.equal(ticks(ran.out), expectationCount('scenarios/demo.yaml'), ran.text);
    assert.match(
      ran.out,
      /^network: real packets .*; EC2 in another process, at http:\/\/127\.0\.0\.1:\d+$/m,
    );
    assert.deepEqual(namespacesOf(ran.pid), []);
    assert.deepEqual(ec2Processes(), []);
  });

  test('without root, too', (context) => {
    const why = whyNotWithoutRoot();
    if (why !== undefined) return context.skip(why);
    const ran = run([...AS_NOBODY, NODE, ENIWHERE, 'lab', 'run', 'scenarios/smoke.yaml', '--ec2', 'http']);
    assert.equal(ran.exitCode, 0, ran.text);
    assert.equal(ticks(ran.out), expectationCount('scenarios/smoke.yaml'), ran.text);
  });

  test("a killed lab's EC2 ends by itself", async () => {
    const lab = start([NODE, ENIWHERE, 'lab', 'up', 'scenarios/smoke.yaml', '--ec2', 'http']);
    await lab.whenWritten(HAND_BOOK_END);
    assert.equal(ec2Processes().length, 1);
    await lab.end('SIGKILL');
    for (let poll = 0; poll < 100 && ec2Processes().length > 0; poll++) await setTimeout(100);
    assert.deepEqual(ec2Processes(), []);
    // Removes the namespaces that it left.
    assert.equal(run([NODE, ENIWHERE, 'lab', 'run', 'scenarios/smoke.yaml']).exitCode, 0);
  });

  test('without root it finds itself a user namespace, and packets are real there too', (context) => {
    const why = whyNotWithoutRoot();
    if (why !== undefined) return context.skip(why);
    const ran = run([...AS_NOBODY, NODE, ENIWHERE, 'lab', 'run', 'scenarios/smoke.yaml']);
    assert.equal(ran.exitCode, 0, ran.text);
    assert.equal(ticks(ran.out), expectationCount('scenarios/smoke.yaml'), ran.text);
    assert.match(ran.out, /^network: real packets/m);
  });

  test('an interrupted run ends with 130 and leaves nothing behind', async () => {
    const lab = start([NODE, ENIWHERE, 'lab', 'run', 'scenarios/demo.yaml']);
    await lab.whenWritten('gets no ENI');
    assert.equal(await lab.end('SIGINT'), 130, lab.written());
    assert.deepEqual(namespacesOf(lab.pid), []);
  });

  test('what a killed lab left is removed by the next one', async () => {
    const killed = start([NODE, ENIWHERE, 'lab', 'run', 'scenarios/demo.yaml']);
    await killed.whenWritten('gets no ENI');
    await killed.end('SIGKILL');
    assert.ok(namespacesOf(killed.pid).length > 0, killed.written());
    const ran = run([NODE, ENIWHERE, 'lab', 'run', 'scenarios/smoke.yaml']);
    assert.equal(ran.exitCode, 0, ran.text);
    assert.deepEqual(namespacesOf(killed.pid), []);
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

/** Runs every command that `lab up` printed, as a person would paste them. */
function checkPrintedCommands(written: string, asUser: readonly string[]): void {
  assert.ok(written.includes(HAND_BOOK_END), written);
  const enterFirst = /^ {2}(nsenter .*)$/m.exec(written)?.[1]?.split(' ') ?? [];
  const commands = written.split('\n').filter((line) => /^ {2}(?:ip|echo) /.test(line));
  assert.ok(commands.length >= 8, written);
  const answers = commands.map((command) => ({
    command,
    ...run([...asUser, ...enterFirst, 'sh', '-c', command]),
  }));
  for (const { command, exitCode, text } of answers) assert.equal(exitCode, 0, `${command}\n${text}`);
  const added = answers.find(({ command }) => command.includes('CNI_COMMAND=ADD'));
  const result = JSON.parse(added?.out ?? '') as { readonly ips: readonly { readonly address: string }[] };
  assert.match(result.ips[0]?.address ?? '', /^10\.0\.\d+\.\d+\/32$/);
}

describe('eniwhere lab up', () => {
  test('stays, prints commands that work, and removes everything on Ctrl-C', async () => {
    const lab = labUp();
    try {
      await lab.whenWritten(HAND_BOOK_END);
      assert.ok(namespacesOf(lab.pid).length > 0, lab.written());
      checkPrintedCommands(lab.written(), []);
    } finally {
      assert.equal(await lab.end('SIGINT'), 0, lab.written());
    }
    assert.deepEqual(namespacesOf(lab.pid), []);
  });

  test('does so without root, after the command that enters its namespaces', async (context) => {
    const why = whyNotWithoutRoot();
    if (why !== undefined) return context.skip(why);
    const lab = labUp(...AS_NOBODY);
    try {
      await lab.whenWritten(HAND_BOOK_END);
      assert.deepEqual(namespacesOf(lab.pid), [], 'nothing of it shows outside');
      checkPrintedCommands(lab.written(), AS_NOBODY);
    } finally {
      assert.equal(await lab.end('SIGINT'), 0, lab.written());
    }
  });
});
