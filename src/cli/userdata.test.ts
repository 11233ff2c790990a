// `eniwhere userdata`: the document alone on stdout, notes on stderr, mistakes refused.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { runCommand } from './testing.ts';

const run = (text: string): ReturnType<typeof runCommand> => runCommand(['userdata', ...text.split(' ')]);

suite('eniwhere userdata', () => {
  test('prints the document on stdout and its notes on stderr', async () => {
    const { exitCode, out, err } = await run(
      '--os al2023 --nodes managed --cluster prod --instance-type m5.large,m5.xlarge --offline',
    );
    assert.equal(exitCode, 0);
    assert.match(out, /^MIME-Version: 1\.0\n/);
    assert.doesNotMatch(out, /^note:/m);
    assert.match(err, /^note: max pods on the nodes: 20\n/);
    assert.match(err, /limited by m5\.large; alone, these could hold more: m5\.xlarge 44/);
  });

  test('answers programs with the figure beside the document', async () => {
    const { out } = await run(
      '--os bottlerocket --nodes managed --cluster prod --instance-type c5.xlarge --offline -o json',
    );
    const { effectiveMaxPods, format } = JSON.parse(out);
    assert.deepEqual([effectiveMaxPods, format], [44, 'toml']);
  });

  const wrong: readonly [string, string, RegExp][] = [
    ['no figure', '--os al2023 --nodes managed --cluster c', /give --instance-type/],
    [
      'an unknown type',
      '--os al2023 --nodes managed --cluster c --instance-type m99.mega',
      /"m99\.mega" is not known/,
    ],
    [
      'more pods than addresses',
      '--os al2023 --nodes managed --cluster c --instance-type m5.large --max-pods 35',
      /35 pods are more than m5\.large has addresses for: it holds 20/,
    ],
    [
      'a row without names',
      '--os al2023 --nodes managed --cluster c --max-pods 9 --by-address 10.0.0.0/24',
      /Expected CIDR=NAME/,
    ],
    [
      'a block that is none',
      '--os al2023 --nodes managed --cluster c --max-pods 9 --by-address 10.0.0.7/24=a',
      /10\.0\.0\.7\/24/,
    ],
    [
      'a label with a quote in it',
      `--os al2023 --nodes managed --cluster c --max-pods 9 --label a=b'c`,
      /A label is KEY=VALUE/,
    ],
    [
      'an operating system that is not made',
      '--os windows --nodes managed --cluster c',
      /Allowed choices are al2/,
    ],
  ];
  for (const [title, args, message] of wrong)
    test(`ends with 2 on ${title}`, async () => {
      const { exitCode, out, err } = await run(args);
      assert.equal(exitCode, 2);
      assert.match(err, message);
      assert.equal(out, '');
    });
});
