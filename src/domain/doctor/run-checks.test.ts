// Each check: a cluster in order has no finding, and one thing that is wrong has the right one.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { cidr } from '../address/testing.ts';
import { node, picture, pod, POD_SUBNET, subnet } from '../explain/testing.ts';
import type { InstanceId, NodeName } from '../ids.ts';
import { exitCodeOf } from './finding.ts';
import type { PermissionFinding } from './permission-finding.ts';
import { CHECKS, examine } from './run-checks.ts';
import { ACCOUNT, find, IN_ORDER, permitted } from './testing.ts';
import { clusterCases } from './testing-cases.ts';
import { networkCases } from './testing-network-cases.ts';

const cases = [...clusterCases, ...networkCases];

suite('doctor', () => {
  test('a cluster in order has no finding, and every check is made', () => {
    const { findings, passed, skipped } = examine(picture(IN_ORDER), ACCOUNT);
    assert.deepEqual(findings, []);
    assert.equal(passed.length, CHECKS.length);
    assert.deepEqual(skipped, []);
  });

  for (const one of cases)
    test(`finds: ${one.title}`, () => {
      const findings = find(one.picture, one.account);
      const found = findings.find(({ check }) => check === one.check);
      assert.ok(found !== undefined, JSON.stringify(findings, null, 2));
      assert.equal(found.severity, one.severity);
      assert.match(found.what, one.says);
      assert.ok(found.why.length > 20 && found.fix.length > 5);
    });

  test('every check has a case that it finds', () => {
    const found = new Set(cases.map(({ check }) => check));
    assert.deepEqual(
      CHECKS.map(({ id }) => id).filter((id) => !found.has(id)),
      [],
    );
  });

  test('[TOOL-5] what cannot be told is skipped, not called in order', () => {
    const { skipped } = examine(picture(), { unread: [] });
    assert.deepEqual(
      skipped.map(({ check }) => check),
      [
        'max-pods',
        'free-blocks',
        'other-roles',
        'routes',
        'endpoints',
        'gateway-endpoints',
        'endpoint-groups',
        'dns-groups',
        'api-groups',
        'webhook-groups',
        'kernels',
        'metadata',
        'read-permissions',
        'create-permissions',
        'change-permissions',
      ],
    );
  });

  test('[TOOL-5] a permission without an answer leaves its check unmade, unless another of it is denied', () => {
    const unmade = (not: Readonly<Record<string, PermissionFinding['verdict']>>): readonly string[] =>
      examine(picture(IN_ORDER), {
        ...ACCOUNT,
        ...permitted('Controller', not),
      }).skipped.map(({ check }) => check);
    assert.deepEqual(unmade({ AttachNetworkInterface: 'Unknown' }), ['change-permissions']);
    assert.deepEqual(unmade({ AttachNetworkInterface: 'Unknown', DeleteNetworkInterface: 'Denied' }), []);
    const { skipped } = examine(picture(IN_ORDER), {
      ...ACCOUNT,
      permissions: {
        of: 'Controller',
        tried: [{ action: 'DescribeVpcs', verdict: 'Unknown', message: 'this EC2 ignores DryRun' }],
      },
    });
    assert.equal(skipped.length, 3);
  });

  test('[U07] a subnet that is reserved for prefixes is not taken for a full one', () => {
    const prefix = ['100.64.0.32/27', '100.64.0.64/26', '100.64.0.128/25'].map(cidr);
    const { findings } = examine(picture({ ...IN_ORDER, subnets: [subnet({ freeAddressCount: 20 })] }), {
      ...ACCOUNT,
      reservations: new Map([[POD_SUBNET, { prefix, explicit: [] }]]),
    });
    assert.deepEqual(
      findings.filter(({ check }) => check.startsWith('free-')),
      [],
    );
  });

  test('before an installation the AWS VPC CNI is only mentioned', () => {
    const pods = [pod('aws-node-x2k4f', { namespace: 'kube-system', hostNetwork: true })];
    const found = find({ networks: [], pods }).find(({ check }) => check === 'aws-cni');
    assert.equal(found?.severity, 'info');
  });

  test('errors come first, and the exit code is that of the worst', () => {
    const findings = find({
      nodes: [
        node({ podCapacity: 29 }),
        node({ name: 'n2' as NodeName, instanceId: 'i-00000002' as InstanceId }),
      ],
    });
    assert.deepEqual(
      findings.map(({ severity }) => severity),
      ['error', 'warning'],
    );
    assert.equal(exitCodeOf(findings), 2);
    assert.equal(exitCodeOf(findings.slice(1)), 1);
    assert.equal(exitCodeOf([]), 0);
  });
});
