// The IAM policy: all that the EC2 adapter calls, no more, and what people read about it.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { iamPolicy, PERMISSIONS, type PolicyStatement } from './iam-policy.ts';

const policy = iamPolicy({ clusterName: 'my-cluster', partition: 'aws' });

const statementsOf = (action: string): readonly PolicyStatement[] =>
  policy.Statement.filter((one) => one.Action.includes(`ec2:${action}`));

const table = [
  '| action | what for | on |',
  '|---|---|---|',
  ...PERMISSIONS.map(({ action, why, on }) => `| \`ec2:${action}\` | ${why} | ${on.join(', ')} |`),
].join('\n');

suite('IAM policy', () => {
  test('every action that the adapter calls is allowed, and beside it only the tags on create', () => {
    const called = globSync('src/adapters/aws/*.ts')
      .filter((path) => !path.endsWith('.test.ts'))
      .flatMap((path) => [...readFileSync(path, 'utf8').matchAll(/new (\w+)Command\(/g)])
      .map((match) => match[1] ?? '');
    assert.ok(called.length > 0);
    assert.deepEqual(
      PERMISSIONS.map((one) => one.action).sort(),
      [...new Set([...called, 'CreateTags'])].sort(),
    );
    for (const { action } of PERMISSIONS) assert.notDeepEqual(statementsOf(action), [], action);
  });

  test("[ENI-2] an ENI is created with the cluster's tag, and changed only when it has it", () => {
    for (const { action, on } of PERMISSIONS.filter((one) => !one.on.includes('everything'))) {
      const tag = on.includes('new ENIs') ? 'aws:RequestTag' : 'aws:ResourceTag';
      const onEnis = statementsOf(action).filter((one) =>
        [one.Resource]
          .flat()
          .some((resource) => resource === '*' || resource.includes(':network-interface/')),
      );
      assert.equal(onEnis.length, 1, action);
      assert.equal(
        onEnis[0]?.Condition?.StringEquals[`${tag}/eniwhere.io/cluster`],
        'my-cluster',
        `${action} is bound to the tag`,
      );
    }
  });

  test('tags are written by the creating request alone', () => {
    const conditions = statementsOf('CreateTags').map(
      (one) => one.Condition?.StringEquals['ec2:CreateAction'],
    );
    assert.deepEqual(conditions, ['CreateNetworkInterface']);
  });

  test('all ARNs are of the partition, and every statement has a name of its own', () => {
    const { Statement } = iamPolicy({ clusterName: 'c', partition: 'aws-cn' });
    const resources = Statement.flatMap((one) => one.Resource);
    assert.deepEqual(
      resources.filter((one) => one !== '*' && !one.startsWith('arn:aws-cn:ec2:')),
      [],
    );
    assert.equal(new Set(Statement.map((one) => one.Sid)).size, Statement.length);
    for (const { Sid } of Statement) assert.match(Sid, /^[A-Za-z0-9]+$/);
  });

  test('docs/iam-policy.md has the same policy and the same reasons', () => {
    const text = readFileSync('docs/iam-policy.md', 'utf8');
    const shown = /```json\n([\s\S]*?)```/.exec(text)?.[1];
    assert.equal(shown, `${JSON.stringify(policy, null, 2)}\n`);
    assert.ok(text.includes(table), `its table is\n${table}`);
  });
});
