// Kubeconfigs as people have them: several files, tokens, certificates, credential programs, mistakes.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { systemClock } from '../system/clock.ts';
import { type ChosenConnection, kubeconfigConnection } from './kubeconfig.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const config = (user: string, cluster = ''): string => `
apiVersion: v1
kind: Config
current-context: prod
contexts:
  - { name: prod, context: { cluster: eks, user: me, namespace: shop } }
  - { name: other, context: { cluster: missing, user: me } }
clusters:
  - name: eks
    cluster: { server: 'https://example.com:6443/', certificate-authority-data: ${base64('CA')}${cluster} }
users:
  - { name: me, user: ${user} }
`;

suite('kubeconfig', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'eniwhere-kubeconfig-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const open = async (text: string, context?: string) => {
    const path = join(folder, 'config');
    await writeFile(path, text);
    return kubeconfigConnection({
      paths: [path],
      clock: systemClock,
      env: process.env,
      ...(context === undefined ? {} : { context }),
    });
  };
  const chosen = async (text: string): Promise<ChosenConnection> => {
    const found = await open(text);
    assert.ok(found.ok, found.ok ? '' : found.error);
    return found.value;
  };

  test('a token and the authority of the server', async () => {
    const { connection, context } = await chosen(config('{ token: secret }'));
    assert.equal(context, 'prod');
    assert.equal(connection.server, 'https://example.com:6443');
    assert.deepEqual(await connection.credentials(), { authorization: 'Bearer secret', ca: 'CA' });
  });

  test('a client certificate, and files beside the kubeconfig', async () => {
    await writeFile(join(folder, 'client.key'), 'KEY');
    const { connection } = await chosen(
      config(`{ client-certificate-data: ${base64('CERT')}, client-key: client.key }`),
    );
    assert.deepEqual(await connection.credentials(), { cert: 'CERT', key: 'KEY', ca: 'CA' });
  });

  test('a credential program, as EKS uses it, is run anew after a refusal and before its token ends', async () => {
    const program = join(folder, 'get-token');
    const line = (seconds: number): string =>
      `#!/bin/sh\necho run >>"${folder}/runs"\nprintf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s-%s","expirationTimestamp":"${new Date(Date.now() + seconds * 1000).toISOString()}"}}' "$1" "$STAGE"\n`;
    await writeFile(program, line(3600), { mode: 0o755 });
    const { connection } = await chosen(
      config(
        `{ exec: { apiVersion: client.authentication.k8s.io/v1, command: ${program}, args: [eks], env: [{ name: STAGE, value: one }] } }`,
      ),
    );
    assert.equal((await connection.credentials()).authorization, 'Bearer eks-one');
    await writeFile(program, line(3600).replace('%s-%s', 'second-%s-%s'), { mode: 0o755 });
    assert.equal((await connection.credentials()).authorization, 'Bearer eks-one');
    connection.refused();
    assert.equal((await connection.credentials()).authorization, 'Bearer second-eks-one');
  });

  test('a credential program that is not there says how to get it', async () => {
    const { connection } = await chosen(
      config(
        "{ exec: { apiVersion: client.authentication.k8s.io/v1, command: no-such-program-here, installHint: 'install it' } }",
      ),
    );
    await assert.rejects(connection.credentials(), /no-such-program-here failed: .*ENOENT\ninstall it/s);
  });

  test('the first of several files that names a thing wins, and files that are not there are passed over', async () => {
    const second = join(folder, 'second');
    await writeFile(join(folder, 'first'), config('{ token: first }').replace('current-context: prod', ''));
    await writeFile(second, config('{ token: second }'));
    const found = await kubeconfigConnection({
      paths: [join(folder, 'none'), join(folder, 'first'), second],
      clock: systemClock,
      env: {},
    });
    assert.ok(found.ok);
    assert.equal((await found.value.connection.credentials()).authorization, 'Bearer first');
  });

  const wrong: readonly [string, string, string | undefined, RegExp][] = [
    [
      'no context of that name',
      config('{ token: x }'),
      'dev',
      /there is no context "dev"; there are prod, other/,
    ],
    [
      'a cluster that is not there',
      config('{ token: x }'),
      'other',
      /names cluster "missing", which is not there/,
    ],
    ['no YAML', 'a: [', undefined, /is no YAML/],
    ['another document', 'kind: Pod', undefined, /is no kubeconfig: contexts: /],
    [
      'a proxy',
      config('{ token: x }', ', proxy-url: http://p'),
      undefined,
      /proxy-url, which is not supported/,
    ],
    ['a dropped auth-provider', config('{ auth-provider: { name: gcp } }'), undefined, /auth-provider "gcp"/],
  ];
  for (const [title, text, context, message] of wrong)
    test(`is refused for ${title}`, async () => {
      const found = await open(text, context);
      assert.ok(!found.ok);
      assert.match(found.error, message);
    });

  test('none at all says how EKS makes one', async () => {
    const found = await kubeconfigConnection({ paths: [join(folder, 'none')], clock: systemClock, env: {} });
    assert.ok(!found.ok);
    assert.match(found.error, /aws eks update-kubeconfig --name CLUSTER/);
  });
});
