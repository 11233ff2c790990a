// Bind addresses, and what is said of wrong ones.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeBindAddress, parseBindAddress } from './bind-address.ts';

for (const [text, address] of [
  ['127.0.0.1:61679', { kind: 'Tcp', host: '127.0.0.1', port: 61679 }],
  ['[::1]:80', { kind: 'Tcp', host: '::1', port: 80 }],
  [':61678', { kind: 'Tcp', port: 61678 }],
  ['unix:/run/eniwhere/introspection.sock', { kind: 'Unix', path: '/run/eniwhere/introspection.sock' }],
] as const) {
  test(`${text} is a bind address, and is told by the same text`, () => {
    assert.deepEqual(parseBindAddress(text), { ok: true, value: address });
    assert.equal(describeBindAddress(address), text);
  });
}

for (const text of [
  'localhost:80', // a name may lead anywhere
  '127.0.0.1',
  '127.0.0.1:0',
  '127.0.0.1:65536',
  '127.0.0.1:x',
  '010.0.0.1:80',
  '::1:80',
  '[::1:80',
  'unix:',
  'unix:relative.sock',
  'unix:/a\0b',
]) {
  test(`${JSON.stringify(text)} is refused, with what is allowed`, () => {
    const parsed = parseBindAddress(text);
    assert.ok(!parsed.ok);
    assert.match(parsed.error, /expected an address with a port, such as 127\.0\.0\.1:61679/);
  });
}
