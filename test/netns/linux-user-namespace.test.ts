// The kernel tests again without root: inside a user namespace, where an unprivileged person runs the lab.

import { describe, test } from 'node:test';
import { passesInside, whyNoUserNamespace } from './linux-support.ts';

const UNSHARE = ['unshare', '--user', '--map-root-user', '--net', '--mount'];
const FILES = ['linux-stack.test.ts', 'linux-oracle.test.ts', 'linux-sockets.test.ts'];

describe('adapters/linux in a user namespace', { skip: whyNoUserNamespace(UNSHARE) }, () => {
  for (const file of FILES) test(`${file} passes, and skips nothing`, () => passesInside(UNSHARE, file));
});
