// The tools against a real API server, as a kubectl plugin: before and after the CRDs are there, and with rights to read alone.

import assert from 'node:assert/strict';
import { globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { type Ended, runToEnd } from '../runtime/support/run-to-end.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { programPath } from './programs.ts';

const READER = 'reader';

let plane: ControlPlane;
let path = '';

before(async () => {
  plane = await startControlPlane({ users: [{ name: READER }] });
  const bin = join(plane.directory, 'bin');
  mkdirSync(bin);
  // As npm installs it: a link to the program, under the name that kubectl looks for.
  const link = join(plane.directory, 'kubectl-eniwhere');
  symlinkSync(resolve('src/bin/eniwhere.ts'), link);
  const plugin = join(bin, 'kubectl-eniwhere');
  writeFileSync(plugin, `#!/bin/sh\nexec '${process.execPath}' '${link}' "$@"\n`, { mode: 0o755 });
  path = `${bin}:${dirname(programPath('kubectl'))}:${process.env['PATH'] ?? ''}`;
});
after(() => plane?.close());

/** `kubectl eniwhere ...` as one of the users. EC2 is not asked. */
const kubectlEniwhere = (user: string, ...args: readonly string[]): Promise<Ended> =>
  runToEnd('kubectl', ['eniwhere', ...args, '--offline'], {
    PATH: path,
    HOME: plane.directory,
    KUBECONFIG: plane.kubeconfigOf(user),
  });

test('before anything is installed doctor names the kinds that are missing, and the command that brings them', async () => {
  const { exitCode, out, err } = await kubectlEniwhere('admin', 'doctor');
  assert.equal(exitCode, 1, err);
  assert.equal(out.match(/does not know (eniconfigs|nodenetworks|nodenetworkclasses)\./g)?.length, 3, out);
  assert.match(out, /fix: kubectl apply --server-side -f deploy\/crds/);
});

test('[TOOL-1] with rights to read alone, explain finds the node and its ENIConfig by the API server', async () => {
  for (const crd of globSync('deploy/crds/*.yaml')) await plane.apply(readFileSync(crd, 'utf8'));
  await plane.kubectl('wait', '--for=condition=Established', '--all', 'crd', '--timeout=60s');
  await plane.apply([
    {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n1', labels: { 'topology.kubernetes.io/zone': 'eu-west-1a' } },
      spec: { providerID: 'aws:///eu-west-1a/i-00000000000000001' },
    },
    {
      apiVersion: 'crd.k8s.amazonaws.com/v1alpha1',
      kind: 'ENIConfig',
      metadata: { name: 'eu-west-1a' },
      spec: { subnet: 'subnet-00000000000000001' },
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'eniwhere-tools' },
      rules: [
        { apiGroups: [''], resources: ['nodes', 'pods'], verbs: ['get', 'list', 'watch'] },
        {
          apiGroups: ['crd.k8s.amazonaws.com', 'eniwhere.io'],
          resources: ['eniconfigs', 'nodenetworks', 'nodenetworkclasses'],
          verbs: ['get', 'list', 'watch'],
        },
      ],
    },
  ]);
  const forbidden = await kubectlEniwhere(READER, 'status');
  assert.equal(forbidden.exitCode, 2);
  assert.match(forbidden.err, /forbidden/i);

  await plane.kubectl(
    'create',
    'clusterrolebinding',
    'tools',
    '--clusterrole=eniwhere-tools',
    `--user=${READER}`,
  );
  const explained = await kubectlEniwhere(READER, 'explain', 'node', 'n1', '-o', 'json');
  assert.equal(explained.exitCode, 1, explained.err);
  const found = JSON.parse(explained.out);
  assert.equal(found.zone, 'eu-west-1a');
  assert.match(found.missing.join(), /has not published a NodeNetwork for the node/);

  const eniConfig = await kubectlEniwhere(READER, 'explain', 'eniconfig', 'eu-west-1a');
  assert.match(eniConfig.out, /the controller has not said anything of ENIConfig "eu-west-1a" yet/);

  const status = await kubectlEniwhere(READER, 'status');
  assert.equal(status.exitCode, 1);
  const help = await kubectlEniwhere(READER, 'status', '--help');
  assert.match(help.out, /^Usage: kubectl eniwhere status /);
  assert.match(status.out, /^n1 +eu-west-1a /m);
});
