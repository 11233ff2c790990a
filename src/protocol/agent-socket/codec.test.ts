// Every message of the agent socket survives the way, and nothing else gets through.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CniReply, CniRequest } from './cni-message.ts';
import { decodeReply, decodeRequest, encodeReply, encodeRequest } from './codec.ts';

const sandbox = { containerId: 'a', ifName: 'eth0' };
const pod = { namespace: 'shop', name: 'cart-0', uid: '' };
const result = {
  interfaces: [{ name: 'eth0', sandbox: '/run/netns/a' }],
  ips: [{ address: '10.1.0.4/32' }],
  routes: [],
};

const requests: readonly CniRequest[] = [
  { command: 'ADD', sandbox, netnsPath: '/run/netns/a', pod },
  {
    command: 'ADD',
    sandbox,
    netnsPath: '/run/netns/a',
    pod,
    podAnnotations: { 'eniwhere.io/eni-config': 'red' },
  },
  { command: 'DEL', sandbox },
  { command: 'DEL', sandbox, netnsPath: '/run/netns/a', pod, prevResult: result },
  { command: 'CHECK', sandbox, netnsPath: '/run/netns/a', prevResult: result },
  { command: 'STATUS' },
  { command: 'GC', validAttachments: [sandbox] },
  { command: 'GC', validAttachments: [] },
];
const replies: readonly CniReply[] = [
  { kind: 'Result', result },
  { kind: 'Done' },
  { kind: 'Error', error: { code: 11, msg: 'no address', details: 'the subnet is full' } },
];

describe('the codec', () => {
  for (const request of requests) {
    test(`carries the request ${JSON.stringify(request)}`, () => {
      assert.deepEqual(decodeRequest(encodeRequest(request)), { ok: true, value: request });
    });
  }
  for (const reply of replies) {
    test(`carries the reply ${JSON.stringify(reply)}`, () => {
      assert.deepEqual(decodeReply(encodeReply(reply)), { ok: true, value: reply });
    });
  }
  for (const [body, error] of [
    ['', 'request is not JSON: line 1, column 1: expected a value, the text ends'],
    ['[]', 'request.command must be one of ADD, DEL, CHECK, STATUS, GC'],
    ['{"command":"toString"}', 'request.command must be one of ADD, DEL, CHECK, STATUS, GC'],
    ['{"command":"ADD"}', 'request.sandbox must be an object, it is undefined'],
    ['{"command":"GC"}', 'request.validAttachments must be a list, it is undefined'],
    [
      '{"command":"DEL","sandbox":{"containerId":1,"ifName":"eth0"}}',
      'request.sandbox.containerId must be a string, it is number',
    ],
  ] as const) {
    test(`refuses the request ${body || 'that is empty'}`, () => {
      assert.deepEqual(decodeRequest(body), { ok: false, error });
    });
  }
  test('refuses a reply with an error code that nobody defined', () => {
    const body = '{"kind":"Error","error":{"code":12,"msg":"","details":""}}';
    assert.deepEqual(decodeReply(body), { ok: false, error: 'reply.error.code is no error code: 12' });
  });
});
