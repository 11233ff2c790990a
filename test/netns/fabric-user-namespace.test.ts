// The fabric again without root: inside a user namespace, as `unshare` makes it for whoever may not do it here.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { canMakeNamespaces } from '../../src/lab/fabric/can-make-namespaces.ts';
import { skip } from './fabric-support.ts';

const UNSHARE = ['unshare', '-Urnm', '--'];
const FILES = ['fabric-delivery', 'fabric-life', 'fabric-metadata'];

function whyNoUserNamespace(): string | false {
  if (skip !== false) return skip;
  const [program = '', ...values] = UNSHARE;
  const tried = spawnSync(program, [...values, 'true'], { encoding: 'utf8' });
  return tried.status === 0 ? false : `the kernel refuses user namespaces here: ${tried.stderr}`;
}

/** Every fabric has a router: by it one is told from the namespaces of whatever else runs on the machine. */
const routers = (): readonly string[] => {
  try {
    return readdirSync('/run/netns')
      .filter((name) => name.endsWith('-vpc-router'))
      .sort();
  } catch {
    return [];
  }
};

describe('the fabric in a user namespace', { skip: whyNoUserNamespace() }, () => {
  for (const file of FILES) {
    test(`${file} passes, skips nothing, and shows nothing outside`, () => {
      const path = fileURLToPath(new URL(`${file}.test.ts`, import.meta.url));
      const [program = '', ...values] = UNSHARE;
      const before = routers();
      // NODE_TEST_CONTEXT would make the inner runner report to the outer one in its own binary form.
      const { NODE_TEST_CONTEXT: _, ...env } = process.env;
      const ran = spawnSync(program, [...values, process.execPath, '--test', '--test-reporter=tap', path], {
        encoding: 'utf8',
        env,
      });
      assert.equal(ran.status, 0, ran.stdout + ran.stderr);
      assert.match(ran.stdout, /^# pass [1-9]/m);
      assert.match(ran.stdout, /^# skipped 0$/m);
      assert.deepEqual(routers(), before);
    });
  }
});

describe('whether the fabric can run here', { skip }, () => {
  test('as root it can', async () => {
    assert.deepEqual(await canMakeNamespaces(), { kind: 'Here' });
  });

  test('elsewhere than on Linux it cannot, and the reason names the system', async () => {
    const means = await canMakeNamespaces('darwin');
    assert.ok(means.kind === 'Nowhere');
    assert.match(means.failure.message, /need Linux, and this is darwin/);
  });
});
