// The fabric again without root: inside a user namespace, as `unshare` makes it for whoever may not do it here.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { canMakeNamespaces } from '../../src/lab/fabric/can-make-namespaces.ts';
import { passesInside, skip, whyNoUserNamespace } from './linux-support.ts';

const UNSHARE = ['unshare', '-Urnm', '--'];
const FILES = ['fabric-delivery', 'fabric-life', 'fabric-metadata'];

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

describe('the fabric in a user namespace', { skip: skip || whyNoUserNamespace(UNSHARE) }, () => {
  for (const file of FILES) {
    test(`${file} passes, skips nothing, and shows nothing outside`, () => {
      const before = routers();
      passesInside(UNSHARE, `${file}.test.ts`);
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
