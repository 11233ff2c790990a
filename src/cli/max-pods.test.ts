// `eniwhere max-pods`: whose limits it takes, and what a person reads.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { knownLimits } from '../domain/instance/instance-types.ts';
import type { InstanceLimits } from '../domain/instance/instance-limits.ts';
import { done, failed } from '../ports/outcome.ts';
import type { AccountReader } from '../ports/account.ts';
import type { Ec2Outcome, Ec2Reader } from '../ports/ec2.ts';
import { ok } from '../domain/result.ts';
import type { CliContext } from './context.ts';
import { runCommand } from './testing.ts';

const answering = (answer: Ec2Outcome<readonly InstanceLimits[]>): Partial<CliContext> => ({
  openEc2: () =>
    Promise.resolve(
      ok({
        region: 'eu-west-1',
        account: {} as AccountReader,
        permissions: { checkPermissions: () => Promise.resolve([]) },
        // The command asks for nothing else, and would fail on it.
        ec2: { describeInstanceTypes: () => Promise.resolve(answer) } as unknown as Ec2Reader,
      }),
    ),
});

suite('eniwhere max-pods', () => {
  test("takes EC2's limits when EC2 answers", async () => {
    const newer = { ...(knownLimits('m5.large') as InstanceLimits), instanceType: 'm99.large', eniMax: 4 };
    const { exitCode, out } = await runCommand(
      ['max-pods', '--instance-type', 'm99.large', '--custom-networking'],
      answering(done([newer])),
    );
    assert.equal(exitCode, 0);
    assert.match(out, /^m99\.large: 29 pods\n/);
    assert.match(out, /\nlimits: by EC2 in eu-west-1\n$/);
  });

  test('takes the table when EC2 refuses, and says why and of which month the table is', async () => {
    const failure = { kind: 'unauthorized', code: 'UnauthorizedOperation', message: 'no' } as const;
    const { exitCode, out } = await runCommand(
      ['max-pods', '--instance-type', 'm5.large', '--custom-networking', '-o', 'json'],
      answering(failed(failure)),
    );
    assert.equal(exitCode, 0);
    const { source, answers } = JSON.parse(out);
    assert.equal(answers[0].maxPods, 20);
    assert.equal(source.kind, 'Table');
    assert.match(source.asOf, /^\d{4}-\d{2}$/);
    assert.match(source.why, /EC2 in eu-west-1 did not answer: UnauthorizedOperation: no/);
  });

  test('ends with 2 for a type that nobody knows, and still answers for the others', async () => {
    const { exitCode, out } = await runCommand([
      'max-pods',
      '--instance-type',
      'm5.large,m5.larg',
      '--custom-networking',
    ]);
    assert.equal(exitCode, 2);
    assert.match(out, /m5\.large: 20 pods/);
    assert.match(out, /m5\.larg: no answer \(UnknownInstanceType\)\n.*did you mean "m5\.large"\?/);
  });
});
