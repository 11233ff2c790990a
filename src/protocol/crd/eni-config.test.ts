// What an ENIConfig object may look like, and what is said of one that cannot work.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parse } from 'yaml';
import { parseEniConfigManifest } from './eni-config.ts';

const SUBNET = 'subnet-0123456789abcdef0';
const GROUP = 'sg-0123456789abcdef0';

const object = (spec: unknown, metadata: unknown = { name: 'pods-1a' }): unknown => ({
  apiVersion: 'crd.k8s.amazonaws.com/v1alpha1',
  kind: 'ENIConfig',
  metadata,
  spec,
});

suite('an ENIConfig as users have it', () => {
  test('is read from the YAML of the AWS guide', () => {
    const manifest = parseEniConfigManifest(
      parse(`
apiVersion: crd.k8s.amazonaws.com/v1alpha1
kind: ENIConfig
metadata:
  name: ap-southeast-1a
  labels: { zone: internal }
spec:
  securityGroups:
    - sg-0dff111a1d11c1c11
    - sg-0dff222b2d22c2c22
  subnet: subnet-011b111c1f11fdf11
`),
    );
    assert.deepEqual(manifest, {
      ok: true,
      value: {
        name: 'ap-southeast-1a',
        labels: { zone: 'internal' },
        annotations: {},
        spec: {
          kind: 'Parsed',
          eniConfig: {
            name: 'ap-southeast-1a',
            labels: { zone: 'internal' },
            subnetId: 'subnet-011b111c1f11fdf11',
            securityGroupIds: ['sg-0dff111a1d11c1c11', 'sg-0dff222b2d22c2c22'],
          },
        },
      },
    });
  });

  const accepted: readonly [string, unknown, readonly string[]][] = [
    ['no securityGroups: the node’s own groups', { subnet: SUBNET }, []],
    ['securityGroups: null, as templates leave it', { subnet: SUBNET, securityGroups: null }, []],
    ['an empty list', { subnet: SUBNET, securityGroups: [] }, []],
    ['old short ids', { subnet: 'subnet-0a1b2c3d', securityGroups: ['sg-0a1b2c3d'] }, ['sg-0a1b2c3d']],
    ['a group listed twice counts once', { subnet: SUBNET, securityGroups: [GROUP, GROUP] }, [GROUP]],
    ['unknown fields', { subnet: SUBNET, securityGroups: [GROUP], note: { any: 1 } }, [GROUP]],
  ];
  for (const [title, spec, groups] of accepted)
    test(`may have ${title}`, () => {
      const manifest = parseEniConfigManifest(object(spec));
      assert.ok(manifest.ok && manifest.value.spec.kind === 'Parsed');
      assert.deepEqual(manifest.value.spec.eniConfig.securityGroupIds, groups);
    });
});

suite('an ENIConfig whose spec cannot work is Malformed, with the field, the value and the fix', () => {
  const cases: readonly [string, unknown, RegExp, RegExp][] = [
    ['no spec', undefined, /"pods-1a": spec is missing/, /add spec/],
    ['spec a text', 'subnet', /spec is "subnet"/, /add spec/],
    ['no subnet', { securityGroups: [GROUP] }, /spec\.subnet is missing/, /set spec\.subnet/],
    ['an empty subnet', { subnet: '' }, /spec\.subnet is missing/, /set spec\.subnet/],
    ['the subnet under another key', { subnetId: SUBNET }, /has spec\.subnetId/, /set spec\.subnet/],
    ['a malformed subnet id', { subnet: 'subnet-12345' }, /"subnet-12345" is not a subnet id/, /subnet-0123/],
    ['a CIDR for a subnet', { subnet: '10.0.0.0/24' }, /"10\.0\.0\.0\/24" is not a subnet id/, /the id of/],
    ['a list of subnets', { subnet: [SUBNET] }, /not a text/, /one subnet, not a list/],
    ['a number for a subnet', { subnet: 7 }, /spec\.subnet is 7/, /set spec\.subnet/],
    ['spaces around the id', { subnet: ` ${SUBNET}` }, /spaces around/, /remove the spaces/],
    ['groups that are a text', { subnet: SUBNET, securityGroups: GROUP }, /not a list/, /as a list/],
    [
      'groups that are a mapping',
      { subnet: SUBNET, securityGroups: { a: GROUP } },
      /not a list/,
      /as a list/,
    ],
    [
      'a group’s name for its id',
      { subnet: SUBNET, securityGroups: [GROUP, 'web'] },
      /securityGroups\[1\]: "web" is not/,
      /not its name/,
    ],
    [
      'a group that is a number',
      { subnet: SUBNET, securityGroups: [1] },
      /\[0\] is 1, not a text/,
      /give the id/,
    ],
  ];
  for (const [title, spec, message, fix] of cases)
    test(title, () => {
      const manifest = parseEniConfigManifest(object(spec));
      assert.ok(manifest.ok && manifest.value.spec.kind === 'Malformed');
      assert.match(manifest.value.spec.message, message);
      assert.match(manifest.value.spec.fix, fix);
    });
});

suite('an object that the API server would refuse is an error', () => {
  const cases: readonly [string, unknown, RegExp][] = [
    ['not an object', ['ENIConfig'], /must be an object/],
    ['nothing at all', null, /must be an object, but is null/],
    ['another apiVersion', { apiVersion: 'v1', kind: 'ENIConfig' }, /apiVersion is "v1"/],
    [
      'another kind',
      { apiVersion: 'crd.k8s.amazonaws.com/v1alpha1', kind: 'EniConfig' },
      /kind is "EniConfig"/,
    ],
    ['no metadata', object({ subnet: SUBNET }, null), /metadata is missing/],
    ['no name', object({ subnet: SUBNET }, {}), /metadata\.name is nothing/],
    ['an upper-case name', object({ subnet: SUBNET }, { name: 'Pods' }), /metadata\.name is "Pods"/],
    [
      'a label without quotes',
      object({}, { name: 'a', labels: { n: 1 } }),
      /metadata\.labels has 1 under "n"/,
    ],
    ['labels in a list', object({}, { name: 'a', labels: ['n'] }), /metadata\.labels is \["n"\]/],
  ];
  for (const [title, value, message] of cases)
    test(title, () => {
      const manifest = parseEniConfigManifest(value);
      assert.ok(!manifest.ok);
      assert.match(manifest.error.message, message);
      assert.notEqual(manifest.error.fix, '');
    });
});
