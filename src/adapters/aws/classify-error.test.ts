// How errors of EC2, of the way to it and of the SDK are told apart.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EC2ServiceException } from '@aws-sdk/client-ec2';
import type { Ec2Failure } from '../../ports/ec2.ts';
import { classifyError, kindOf } from './classify-error.ts';

describe('what EC2 refuses is classified by the cure', () => {
  const cases: readonly [
    Ec2Failure['kind'],
    { action?: string; code: string; message?: string; httpStatus?: number },
  ][] = [
    ['throttled', { code: 'RequestLimitExceeded', httpStatus: 503 }],
    ['throttled', { code: 'SomethingNew', httpStatus: 429 }],
    ['subnet-full', { code: 'InsufficientFreeAddressesInSubnet' }],
    ['no-free-block', { code: 'InsufficientCidrBlocks' }],
    ['eni-full', { code: 'PrivateIpAddressLimitExceeded' }],
    ['instance-full', { code: 'AttachmentLimitExceeded' }],
    ['not-found', { code: 'InvalidNetworkInterfaceID.NotFound' }],
    ['not-found', { code: 'InvalidAnythingID.NotFound' }],
    ['unauthorized', { code: 'UnauthorizedOperation', httpStatus: 403 }],
    ['server-error', { code: 'SomethingNew', httpStatus: 502 }],
    // A code that says more than its status.
    ['throttled', { code: 'Throttling', httpStatus: 400 }],
    [
      'device-index-taken',
      {
        action: 'AttachNetworkInterface',
        code: 'InvalidParameterValue',
        message: "Instance 'i-1' already has an interface attached at device index '1'.",
      },
    ],
    [
      'in-use',
      {
        action: 'DeleteNetworkInterface',
        code: 'InvalidParameterValue',
        message: "Network interface 'eni-1' is currently in use.",
      },
    ],
    // The same words about another action mean something else, which nobody has seen yet.
    [
      'invalid',
      {
        action: 'CreateNetworkInterface',
        code: 'InvalidParameterValue',
        message: 'The address is currently in use.',
      },
    ],
    ['invalid', { code: 'IdempotentParameterMismatch' }],
    ['invalid', { code: 'SomethingNew' }],
  ];
  for (const [kind, refusal] of cases) {
    test(`${refusal.code}, HTTP ${refusal.httpStatus ?? 400}, of ${refusal.action ?? 'any action'} is ${kind}`, () => {
      assert.equal(kindOf({ action: 'DescribeSubnets', message: 'no', ...refusal }), kind);
    });
  }
});

const read = { action: 'DescribeSubnets', effect: 'read' } as const;
const write = { action: 'AttachNetworkInterface', effect: 'write' } as const;

const refusal = (name: string, httpStatusCode: number): EC2ServiceException =>
  new EC2ServiceException({
    name,
    message: 'said EC2',
    $fault: httpStatusCode >= 500 ? 'server' : 'client',
    $metadata: { httpStatusCode, requestId: 'r-1' },
  });

const nodeError = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code });
const named = (name: string): Error => Object.assign(new Error('late'), { name });

describe('what a call leaves open', () => {
  test("EC2's own trouble is a failure of a read, and leaves open what a write did", () => {
    const outcome = classifyError(refusal('InternalError', 500), read);
    assert.deepEqual(outcome, {
      kind: 'failed',
      failure: { kind: 'server-error', code: 'InternalError', message: 'said EC2 (request r-1)' },
    });
    assert.equal(classifyError(refusal('InternalError', 500), write).kind, 'unknown');
    assert.equal(classifyError(refusal('Unavailable', 503), write).kind, 'unknown');
  });

  test('a throttle is definite, though it comes with HTTP 503', () => {
    const outcome = classifyError(refusal('RequestLimitExceeded', 503), write);
    assert.equal(outcome.kind === 'failed' && outcome.failure.kind, 'throttled');
  });

  test('a prefix of older front ends is no part of the code', () => {
    const outcome = classifyError(refusal('Client.UnauthorizedOperation', 403), write);
    assert.equal(outcome.kind === 'failed' && outcome.failure.code, 'UnauthorizedOperation');
  });

  for (const error of [nodeError('ECONNRESET'), nodeError('EPIPE'), named('TimeoutError')]) {
    test(`${error.name} "${error.message}" leaves it open`, () => {
      assert.equal(classifyError(error, write).kind, 'unknown');
      assert.equal(classifyError(error, read).kind, 'unknown');
    });
  }

  test('a request that no connection carried has changed nothing', () => {
    const both = new AggregateError([nodeError('ECONNREFUSED'), nodeError('ECONNREFUSED')]);
    for (const error of [nodeError('ENOTFOUND'), both]) {
      const outcome = classifyError(error, write);
      assert.equal(outcome.kind === 'failed' && outcome.failure.kind, 'server-error');
    }
  });

  test('an answer that cannot be read is one that nobody knows', () => {
    const error = Object.assign(new SyntaxError('no XML'), { $response: { statusCode: 502 } });
    assert.equal(classifyError(error, write).kind, 'unknown');
  });

  test('missing credentials are told to a person', () => {
    const outcome = classifyError(named('CredentialsProviderError'), write);
    assert.equal(outcome.kind === 'failed' && outcome.failure.kind, 'unauthorized');
  });

  test('a mistake of the program is not hidden', () => {
    assert.throws(() => classifyError(new TypeError('undefined is not a function'), write), TypeError);
  });
});
