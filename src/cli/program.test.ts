// The command line: exit codes, and where each text goes.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import type { CliContext, Ec2ServerRequest } from './context.ts';
import { type Ran, runCommand, simulationOf } from './testing.ts';

const WORLD = `name: tiny
about: one node
vpc:
  id: vpc-0123456789abcdef0
  cidr: 10.0.0.0/16
  subnets:
    - { id: subnet-00000000000000001, name: nodes, zone: eu-west-1a, cidr: 10.0.0.0/24 }
  securityGroups:
    - { id: sg-00000000000000001, name: all, ingress: [] }
nodes:
  - { name: n1, type: m5.large, subnet: nodes, securityGroups: [all] }
steps:
  - createPods: { node: n1, pods: [web] }
`;
const HOLDS = `${WORLD}  - { expect: it runs, running: { pods: [web] } }\n`;
const BREAKS = `${WORLD}  - { expect: three ENIs, within: 1s, enis: { node: n1, count: 3 } }\n`;

const run = (args: string, overrides: Partial<CliContext> & { readonly text?: string } = {}): Promise<Ran> =>
  runCommand(
    args.split(' ').filter((arg) => arg !== ''),
    { readFile: () => Promise.resolve({ ok: true, value: overrides.text ?? HOLDS }), ...overrides },
  );

suite('eniwhere', () => {
  test('prints its version', async () => {
    assert.deepEqual(await run('--version'), { exitCode: 0, out: '1.2.3\n', err: '' });
  });

  test('lists its commands in the help', async () => {
    const { exitCode, out } = await run('--help');
    assert.equal(exitCode, 0);
    assert.match(out, /lab .*try the whole system/);
  });

  const wrong: readonly [string, string, RegExp][] = [
    ['an unknown command', 'lap', /unknown command 'lap'/],
    ['an unknown command of lab', 'lab down', /unknown command 'down'/],
    ['no scenario', 'lab run', /missing required argument 'scenario'/],
    ['an unknown option', 'lab run x.yaml --fast', /unknown option '--fast'/],
    [
      'a network that does not exist',
      'lab run x.yaml --network cloud',
      /Allowed choices are auto, namespaces, memory/,
    ],
    ['lab up in memory', 'lab up x.yaml --network memory', /needs network namespaces/],
  ];
  for (const [title, args, message] of wrong)
    test(`ends with 2 on ${title}`, async () => {
      const { exitCode, out, err } = await run(args);
      assert.equal(exitCode, 2);
      assert.match(err, message);
      assert.equal(out, '');
    });
});

suite('eniwhere lab ec2', () => {
  const serving = (asked: Ec2ServerRequest[]): Partial<CliContext> => ({
    serveEc2: (request) => {
      asked.push(request);
      const instances = new Map([['n1', 'i-0123456789abcdef0']]);
      return Promise.resolve({
        kind: 'Serving',
        url: 'http://127.0.0.1:4570',
        instances,
        close: () => Promise.resolve(),
      });
    },
    whenInterrupted: Promise.resolve(),
  });

  test('says where it listens and what runs there, and ends with 0 when interrupted', async () => {
    const asked: Ec2ServerRequest[] = [];
    const { exitCode, out } = await run(
      'lab ec2 --port 4570 --world x.yaml --fault Describe*:stale=15000 --fault *:throttle:times=2',
      serving(asked),
    );
    assert.equal(exitCode, 0);
    assert.equal(out, 'the simulated EC2 listens on http://127.0.0.1:4570\n  n1  i-0123456789abcdef0\n');
    assert.deepEqual(
      asked.map(({ host, port, scenario, faults }) => [host, port, scenario?.name, faults.length]),
      [['127.0.0.1', 4570, 'tiny', 2]],
    );
  });

  const wrong: readonly [string, string, RegExp][] = [
    ['no port', 'lab ec2 --port 70000', /A port is a whole number from 0/],
    ['no fault', 'lab ec2 --fault Attach', /"Attach" is no fault|is no effect/],
    ['a port that is taken', 'lab ec2', /no port is free/],
  ];
  for (const [title, args, message] of wrong)
    test(`ends with 2 on ${title}`, async () => {
      const { exitCode, err } = await run(args);
      assert.equal(exitCode, 2);
      assert.match(err, message);
    });
});

suite('eniwhere lab run', () => {
  test('has examples in its help', async () => {
    const { exitCode, out } = await run('lab run --help');
    assert.equal(exitCode, 0);
    assert.match(out, /Examples:\n {2}eniwhere lab run scenarios\/demo\.yaml/);
  });

  test('ends with 0 when every expectation held', async () => {
    const { exitCode, out, err } = await run('lab run x.yaml');
    assert.equal(exitCode, 0, out);
    assert.match(out, /^tiny: one node\nnetwork: in memory \(a test\)/);
    assert.match(out, / {2}✓ it runs {2}web: 10\.0\.0\.\d+ on eni-/);
    assert.match(out, /1 expectation: 1 held, 0 broken/);
    assert.equal(err, '');
  });

  test('ends with 1 when one did not', async () => {
    const { exitCode, out } = await run('lab run x.yaml', { text: BREAKS });
    assert.equal(exitCode, 1);
    assert.match(out, / {2}✗ three ENIs\n {6}expected: 3 ENI\(s\) attached to n1\n {6}seen: /);
  });

  test('ends with 2 and the place of a mistake in the file', async () => {
    const { exitCode, out, err } = await run('lab run x.yaml', { text: `${WORLD}  - createPod: 1\n` });
    assert.equal(exitCode, 2);
    assert.equal(err, 'x.yaml:14:5: steps[1]: unknown key "createPod"; did you mean "createPods"?\n');
    assert.equal(out, '');
  });

  test('ends with 2 when the file cannot be read', async () => {
    const { exitCode, err } = await run('lab run x.yaml', {
      readFile: () => Promise.resolve({ ok: false, error: 'x.yaml: no such file' }),
    });
    assert.equal(exitCode, 2);
    assert.equal(err, 'eniwhere: x.yaml: no such file\n');
  });

  test('ends with 2 and the reason when no lab can be made here', async () => {
    const { exitCode, err } = await run('lab run x.yaml --network namespaces', {
      openLab: () => Promise.resolve({ kind: 'Impossible', message: 'no namespaces; use --network memory' }),
    });
    assert.equal(exitCode, 2);
    assert.equal(err, 'eniwhere: no namespaces; use --network memory\n');
  });

  test('ends as its child did when it had to run in one', async () => {
    const { exitCode } = await run('lab run x.yaml', {
      openLab: () => Promise.resolve({ kind: 'RanInChild', exitCode: 1 }),
    });
    assert.equal(exitCode, 1);
  });

  test('closes the lab and ends with 130 when interrupted', async () => {
    const { exitCode } = await run('lab run x.yaml', { whenInterrupted: Promise.resolve() });
    assert.equal(exitCode, 130);
  });

  test('simulates many seeds, and sums them up', async () => {
    const { exitCode, out } = await run('lab simulate --from 7 --count 3');
    assert.deepEqual(
      [exitCode, out],
      [0, '3 seeds: every rule held; 30 events, 6 pods served, 3 h of virtual time, in 0.0 s\n'],
    );
  });

  test('tells a seed that breaks a rule: the rule, the smallest run, its story, the command that replays it', async () => {
    const { exitCode, out } = await run('lab simulate --from 7 --count 3 --faults ec2.staleOdds=0.5', {
      simulation: simulationOf(false),
    });
    assert.equal(exitCode, 1);
    assert.match(out, /^seed 8 breaks IP-1: 10\.0\.0\.4 is live twice\n/);
    assert.match(out, /something happens in seed 8/);
    assert.match(
      out,
      /replay: eniwhere lab simulate --seed 8 --nodes 1 --minutes 0\.1 --faults none --log\n/,
    );
    assert.match(out, /3 seeds: 1 broke a rule/);
  });

  test('tells all that happens in one seed when asked to', async () => {
    const { out } = await run('lab simulate --seed 8 --log');
    assert.match(out, /^\+0\.000s info something happens in seed 8\n/);
  });

  test('refuses faults and numbers that it does not know', async () => {
    for (const args of ['--faults ec2.nonsense=1', '--faults ec2.staleOdds', '--seed x', '--hours -1']) {
      const { exitCode, err } = await run(`lab simulate ${args}`);
      assert.equal(exitCode, 2, args);
      assert.notEqual(err, '');
    }
  });

  test('colours its output only when told to', async () => {
    assert.ok((await run('lab run x.yaml', { colour: true })).out.includes('\u001b['));
    assert.ok(!(await run('lab run x.yaml')).out.includes('\u001b['));
  });

  test('plays the demo without packets, and every line that needs none holds', async () => {
    const { exitCode, out } = await run('lab run demo.yaml', {
      text: await readFile('scenarios/demo.yaml', 'utf8'),
    });
    assert.equal(exitCode, 0, out);
    assert.match(out, /expectations: \d+ held, 0 broken, \d+ not run/);
  });
});
