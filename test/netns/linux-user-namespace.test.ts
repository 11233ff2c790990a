// The kernel tests again without root: inside a user namespace, where an unprivileged person runs the lab.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const UNSHARE = ['unshare', '--user', '--map-root-user', '--net', '--mount'];
const FILES = ['linux-stack.test.ts', 'linux-oracle.test.ts', 'linux-sockets.test.ts'];

function whyNoUserNamespace(): string | false {
  if (process.platform !== 'linux') return 'user namespaces need Linux';
  const [program = '', ...values] = UNSHARE;
  const tried = spawnSync(program, [...values, 'true'], { encoding: 'utf8' });
  return tried.status === 0 ? false : `the kernel refuses user namespaces here: ${tried.stderr}`;
}

describe('adapters/linux in a user namespace', { skip: whyNoUserNamespace() }, () => {
  for (const file of FILES) {
    test(`${file} passes, and skips nothing`, () => {
      const path = fileURLToPath(new URL(file, import.meta.url));
      const [program = '', ...values] = UNSHARE;
      // NODE_TEST_CONTEXT would make the inner runner report to the outer one in its own binary form.
      const { NODE_TEST_CONTEXT: _, ...env } = process.env;
      const ran = spawnSync(program, [...values, process.execPath, '--test', '--test-reporter=tap', path], {
        encoding: 'utf8',
        env,
      });
      assert.equal(ran.status, 0, ran.stdout + ran.stderr);
      assert.match(ran.stdout, /^# pass [1-9]/m);
      assert.match(ran.stdout, /^# skipped 0$/m);
    });
  }
});
