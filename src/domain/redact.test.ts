// What is hidden of a text that leaves the node, and what must stay readable.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { redact } from './redact.ts';

const JWT = 'eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl-_';

describe('a secret is hidden', () => {
  for (const [text, expected] of [
    [`authorization: Bearer ${JWT}`, 'authorization: Bearer [redacted]'],
    [`token ${JWT} expired`, 'token [redacted] expired'],
    ['Authorization: Basic dXNlcjpwYXNzd29yZA==', 'Authorization: Basic [redacted]'],
    ['AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE', 'AWS_ACCESS_KEY_ID=[redacted]'],
    ['user AKIAIOSFODNN7EXAMPLE called', 'user [redacted] called'],
    ['AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG', 'AWS_SECRET_ACCESS_KEY=[redacted]'],
    ['{"password": "p\\"w d", "user": "u"}', '{"password": [redacted], "user": "u"}'],
    ['{"clientToken":"abc","other":1}', '{"clientToken":[redacted],"other":1}'],
    ["db_password: 'x y' next", 'db_password: [redacted] next'],
    ['https://user:pass@proxy:3128/', 'https://[redacted]@proxy:3128/'],
    ['?X-Amz-Signature=abcdef&X=1', '?X-Amz-Signature=[redacted]&X=1'],
    [
      'key:\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nend',
      'key:\n[redacted]\nend',
    ],
    ['-----BEGIN PRIVATE KEY-----\ncut off', '[redacted]'],
  ] as const) {
    test(JSON.stringify(text), () => {
      assert.equal(redact(text), expected);
      assert.equal(redact(redact(text)), expected, 'twice is once');
    });
  }
});

describe('what helps a maintainer stays', () => {
  for (const text of [
    '10.1.0.4 via 10.1.0.1 dev eth1 table 1002 proto 225',
    'pod shop/web holds 2001:db8::5',
    'eni-0123456789abcdef0 in subnet-0123456789abcdef0',
    '-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----',
    'https://10.0.0.1:443/api/v1/pods',
    'the tokens of a bucket are used up',
    '{"mac":"02:00:00:00:00:01","mtu":9001}',
  ]) {
    test(text, () => assert.equal(redact(text), text));
  }
});
