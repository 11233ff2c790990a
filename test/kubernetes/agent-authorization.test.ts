// docs/examples/agent-authorization.yaml in a real API server: an agent lists the pods of its own node alone.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createTransport, type Transport } from '../../src/adapters/kubernetes/transport.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { eventually } from '../runtime/support/eventually.ts';
import { connectionTo } from './api.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';

const EXAMPLE = 'docs/examples/agent-authorization.yaml';
const NOBODY = '/etc/kubernetes/nobody.kubeconfig';
/** As the API server says it when an authorizer that must be asked cannot be. */
const REFUSED = 500;
const TIMEOUT_MS = 60_000;

let plane: ControlPlane;
let agent: Transport;

before(async () => {
  plane = await startControlPlane({
    controllers: ['serviceaccount'],
    authorizationConfig: (directory) => {
      const kubeconfig = join(directory, 'nobody.kubeconfig');
      writeFileSync(kubeconfig, nobody());
      return readFileSync(EXAMPLE, 'utf8').replace(NOBODY, kubeconfig);
    },
  });
  await plane.kubectl('apply', '--server-side', '-f', 'deploy/crds', '-f', 'deploy/manifests');
  await plane.kubectl('wait', '--for=condition=Established', '-f', 'deploy/crds');
  await plane.apply(['n0', 'n1'].map((name) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name } })));
  const bound = ['--bound-object-kind', 'Node', '--bound-object-name', 'n0'];
  const token = await plane.kubectl('-n', 'kube-system', 'create', 'token', 'eniwhere-agent', ...bound);
  agent = createTransport({ connection: connectionTo(plane, token), clock: systemClock, userAgent: 'test' });
});
after(async () => {
  agent?.close();
  await plane?.close();
});

/** The kubeconfig of docs/install.md. */
function nobody(): string {
  const [, text = ''] = /cat > \/etc\/kubernetes\/nobody\.kubeconfig <<'END'\n([^]+?)\nEND\n/.exec(
    readFileSync('docs/install.md', 'utf8'),
  ) ?? [''];
  return text;
}

/** A kind that was defined a moment ago is not served yet, which 429 says. */
const statusOf = (path: string): Promise<number> =>
  eventually('the kind is served', TIMEOUT_MS, async () => {
    const answer = await agent.send({ method: 'GET', path, timeoutMs: TIMEOUT_MS });
    assert.ok(answer.kind === 'Answered', JSON.stringify(answer));
    return answer.status === 429 ? undefined : answer.status;
  });

const NODE_NETWORKS = '/apis/eniwhere.io/v1alpha1/nodenetworks';
const cases: readonly (readonly [path: string, status: number])[] = [
  ['/api/v1/pods?fieldSelector=spec.nodeName%3Dn0', 200],
  ['/api/v1/pods?fieldSelector=spec.nodeName%3Dn0,status.phase%3DRunning', 200],
  ['/api/v1/pods?fieldSelector=spec.nodeName%3Dn1', REFUSED],
  ['/api/v1/pods?fieldSelector=spec.nodeName%21%3Dn0', REFUSED],
  ['/api/v1/pods', REFUSED],
  ['/api/v1/namespaces/kube-system/pods', REFUSED],
  [`${NODE_NETWORKS}?fieldSelector=metadata.name%3Dn0`, 200],
  [`${NODE_NETWORKS}?fieldSelector=metadata.name%3Dn1`, REFUSED],
  [NODE_NETWORKS, REFUSED],
];
for (const [path, status] of cases)
  test(`the agent of node n0 asks for ${decodeURIComponent(path)}: ${status}`, async () => {
    assert.equal(await statusOf(path), status);
  });

test('everybody else is as before', async () => {
  assert.match(await plane.kubectl('get', 'nodes', '-o', 'name'), /node\/n1/);
  const list = ['list', 'pods', '-A', '--as', 'system:serviceaccount:kube-system:eniwhere-controller'];
  assert.equal(await plane.kubectl('auth', 'can-i', ...list), 'yes');
});
