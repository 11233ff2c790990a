// Settings under the names that users know, and what is said of wrong ones.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseControllerSettings } from './controller-settings.ts';

function parsed(env: Record<string, string>) {
  const result = parseControllerSettings(env);
  assert.ok(result.ok, JSON.stringify(result));
  return result.value;
}

test('an empty environment gives the AWS VPC CNI defaults', () => {
  const settings = parsed({});
  assert.equal(settings.customNetworking, false);
  assert.equal(settings.annotationKey, 'k8s.amazonaws.com/eniConfig');
  assert.equal(settings.labelKey, 'k8s.amazonaws.com/eniConfig');
  assert.deepEqual(settings.targets, { warmEni: 1, warmPrefix: 1 });
  assert.equal(settings.mode, 'SecondaryIP');
  assert.equal(settings.cooldownMs, 30_000);
  assert.equal(settings.mtu, 9001);
  assert.equal(settings.vethPrefix, 'eni');
  assert.equal(settings.externalSnat, false);
});

test('variables are read under the names that users know', () => {
  const settings = parsed({
    AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG: 'true',
    ENI_CONFIG_LABEL_DEF: 'topology.kubernetes.io/zone',
    WARM_IP_TARGET: '5',
    MINIMUM_IP_TARGET: '10',
    MAX_ENI: '2',
    ENABLE_IPv6: 'true',
    ENABLE_PREFIX_DELEGATION: 'true',
    WARM_PREFIX_TARGET: '3',
    AWS_VPC_K8S_CNI_EXTERNALSNAT: 'true',
    AWS_VPC_K8S_CNI_EXCLUDE_SNAT_CIDRS: '10.0.0.0/8, 192.168.0.0/16',
    IP_COOLDOWN_PERIOD: '60',
  });
  assert.equal(settings.customNetworking, true);
  assert.equal(settings.labelKey, 'topology.kubernetes.io/zone');
  assert.deepEqual(settings.targets, { warmIp: 5, minimumIp: 10, warmEni: 1, warmPrefix: 3, maxEni: 2 });
  assert.equal(settings.mode, 'Prefix');
  assert.deepEqual(settings.addressFamilies, ['IPv4', 'IPv6']);
  assert.deepEqual(settings.excludeSnatCidrs, ['10.0.0.0/8', '192.168.0.0/16']);
  assert.equal(settings.cooldownMs, 60_000);
});

for (const [variable, value, says] of [
  [
    'AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG',
    'yes',
    /AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG="yes": expected true or false/,
  ],
  // An upgrade that blanks a value must not switch a cluster's mode in silence (U11).
  ['AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG', '', /expected true or false/],
  ['WARM_IP_TARGET', '-1', /WARM_IP_TARGET="-1": expected a whole number/],
  ['WARM_ENI_TARGET', '1.5', /expected a whole number/],
  ['AWS_VPC_ENI_MTU', '9500', /from 576 to 9001/],
  ['AWS_VPC_K8S_CNI_RANDOMIZESNAT', 'maybe', /expected one of prng, hashrandom, none/],
  ['AWS_VPC_K8S_CNI_EXCLUDE_SNAT_CIDRS', '10.0.0.1/8', /AWS_VPC_K8S_CNI_EXCLUDE_SNAT_CIDRS: /],
  ['AWS_VPC_K8S_CNI_VETHPREFIX', 'toolong', /one to four letters/],
  ['AWS_VPC_K8S_CNI_VETHPREFIX', 'eth', /write another, such as "eni"/],
] as const) {
  test(`${variable}="${value}" is refused with a text that says what is allowed`, () => {
    const result = parseControllerSettings({ [variable]: value });
    assert.ok(!result.ok);
    assert.match(result.error.join('\n'), says);
  });
}

test('a cluster whose pods have neither family is refused', () => {
  const result = parseControllerSettings({ ENABLE_IPv4: 'false' });
  assert.ok(!result.ok);
  assert.match(result.error.join(), /ENABLE_IPv4 and ENABLE_IPv6 are both false/);
});

test('all mistakes are told at once', () => {
  const result = parseControllerSettings({ WARM_IP_TARGET: 'x', AWS_VPC_ENI_MTU: 'y' });
  assert.ok(!result.ok);
  assert.equal(result.error.length, 2);
});
