// `eniwhere status`: once, and again and again.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { ok } from '../domain/result.ts';
import type { CliContext } from './context.ts';
import { type Ran, runCommand } from './testing.ts';
import { systemClock } from '../adapters/system/clock.ts';

const status = (
  args: readonly string[],
  scenario = 'docs/examples/trouble.yaml',
  overrides: Partial<CliContext> = {},
): Promise<Ran> =>
  runCommand(['status', '--scenario', scenario, ...args], {
    readFile: (path) => Promise.resolve(ok(readFileSync(path, 'utf8'))),
    ...overrides,
  });

suite('eniwhere status', () => {
  test('shows nodes, subnets with bars, and what waits and why', async () => {
    const { exitCode, out } = await status([]);
    assert.equal(exitCode, 1);
    assert.match(
      out,
      /^node-1 +eu-west-1a +m5\.large +ENIConfig "eu-west-1a" +Zone +1 +2\/20 +2 of 4 +- {2}✓$/m,
    );
    assert.match(out, /^node-3 .* 12\/20 +9 of 9 +3 {2}✗$/m);
    assert.match(
      out,
      /^subnet-05a0c0000000000b1 +eu-west-1b +eu-west-1b +100\.64\.1\.0\/28 +█+\S*·* +91 % +1 +9 +0$/m,
    );
    assert.match(out, /✗ node-2, 1 pods wait: annotation .* names "Pods_A"/);
  });

  test('ends with 0 when nothing is missing', async () => {
    const { exitCode, out } = await status([], 'scenarios/smoke.yaml');
    assert.equal(exitCode, 0);
    assert.match(out, /Nothing is missing, and no pod waits\.\n$/);
  });

  test('says which nodes have prefixes and which have IPv6, where any have', async () => {
    const kinds = /^(In mode|With IP)/m;
    assert.match((await status([], 'scenarios/prefixes.yaml')).out, /✓\nIn mode Prefix: first, second\n\n/);
    assert.match((await status([], 'scenarios/families.yaml')).out, /✓\nWith IPv4 and IPv6: all nodes\n\n/);
    assert.doesNotMatch((await status([])).out, kinds);
    const { nodes } = JSON.parse((await status(['-o', 'json'], 'scenarios/prefixes.yaml')).out);
    assert.deepEqual(
      nodes.map((node: Record<string, unknown>) => [node['name'], node['mode'], node['addressFamilies']]),
      [
        ['first', 'Prefix', ['IPv4']],
        ['old', 'SecondaryIP', ['IPv4']],
        ['second', 'Prefix', ['IPv4']],
      ],
    );
  });

  test('gives programs the same', async () => {
    const { out } = await status(['-o', 'json']);
    const { nodes, subnets, problems } = JSON.parse(out);
    assert.deepEqual([nodes.length, subnets.length, problems.length], [3, 2, 2]);
    assert.deepEqual(subnets[0].eniConfigs, ['eu-west-1a', 'pods-a']);
  });

  test('--watch shows it again until it is interrupted, and clears a terminal', async () => {
    let sleeps = 0;
    let interrupt = (): void => {};
    const whenInterrupted = new Promise<void>((resolve) => {
      interrupt = resolve;
    });
    const clock = {
      ...systemClock,
      sleep: (ms: number) => {
        assert.equal(ms, 2_000);
        sleeps += 1;
        if (sleeps === 3) interrupt();
        return sleeps === 3 ? whenInterrupted : Promise.resolve();
      },
    };
    const { exitCode, out } = await status(['--watch', '--interval', '2'], 'scenarios/smoke.yaml', {
      clock,
      whenInterrupted,
      colour: true,
    });
    assert.equal(exitCode, 0);
    assert.equal(out.split('\u001b[2J\u001b[H').length, 4);
  });

  test('colours only a terminal', async () => {
    assert.ok(!(await status([])).out.includes('\u001b['));
    const { out } = await status([], undefined, { colour: true });
    assert.ok(out.includes('\u001b[31m'));
  });
});

suite('progress', () => {
  test('a wait of more than two seconds is told on stderr, a shorter one is not', async () => {
    const answered = { ok: false as const, error: 'no credentials' };
    const slow = (ms: number): Partial<CliContext> => ({
      openEc2: () => Promise.resolve(answered),
      clock: {
        ...systemClock,
        timer: (after, label, run) => {
          if (label === 'progress' && after < ms) run();
          return { cancel: () => {} };
        },
      },
    });
    const run = (ms: number): Promise<Ran> =>
      runCommand(['max-pods', '--instance-type', 'm5.large'], slow(ms));
    assert.equal((await run(5_000)).err, 'eniwhere: looking for AWS credentials ...\n');
    assert.equal((await run(1_000)).err, '');
  });
});
