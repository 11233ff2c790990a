// The agent's settings: names that users of the AWS CNI know, and every mistake at once.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseAgentSettings, parseHostSettings, type ParsedAgentSettings } from './agent-settings.ts';

const POD = { MY_NODE_NAME: 'ip-10-0-0-10.ec2.internal', KUBERNETES_SERVICE_HOST: '172.20.0.1' };

function parsed(env: Record<string, string>): ParsedAgentSettings {
  const result = parseAgentSettings({ ...POD, ...env });
  assert.ok(result.ok, JSON.stringify(result));
  return result.value;
}

const chained = (env: Record<string, string>): readonly unknown[] =>
  parsed(env).settings.chained.map((plugin) =>
    plugin.type === 'tuning' ? [plugin.type, Object.fromEntries(plugin.sysctls)] : plugin.type,
  );

describe("the agent's settings", () => {
  test('in a pod that names its node: the defaults of the AWS CNI', () => {
    const { settings, warnings } = parsed({});
    assert.deepEqual(warnings, []);
    assert.deepEqual(settings, {
      nodeName: POD.MY_NODE_NAME,
      apiServer: { host: '172.20.0.1', port: '443' },
      socketPath: '/run/eniwhere/agent.sock',
      journalPath: '/run/eniwhere/journal',
      netnsPath: '/proc/self/ns/net',
      pluginDirectory: '/host/opt/cni/bin',
      configDirectory: '/host/etc/cni/net.d',
      pluginSource: undefined,
      chained: [{ type: 'portmap' }],
      introspection: { kind: 'Tcp', host: '127.0.0.1', port: 61679 },
      metrics: { kind: 'Tcp', port: 61678 },
      logLevel: 'info',
      addWaitMs: 10_000,
      awsCniVethPrefix: 'eni',
    });
  });

  for (const { env, path, value } of [
    { env: { DISABLE_INTROSPECTION: 'true' }, path: 'introspection', value: undefined },
    { env: { DISABLE_METRICS: '1' }, path: 'metrics', value: undefined },
    {
      env: { INTROSPECTION_BIND_ADDRESS: 'unix:/run/eniwhere/introspection.sock' },
      path: 'introspection',
      value: { kind: 'Unix', path: '/run/eniwhere/introspection.sock' },
    },
    { env: { AWS_VPC_K8S_CNI_LOGLEVEL: 'DEBUG' }, path: 'logLevel', value: 'debug' },
    { env: { HOST_CNI_BIN_PATH: '/opt/cni/bin' }, path: 'pluginDirectory', value: '/opt/cni/bin' },
    { env: { ENIWHERE_ADD_WAIT_SECONDS: '0' }, path: 'addWaitMs', value: 0 },
    {
      env: { CLUSTER_ENDPOINT: 'https://ABC.gr7.eu-west-1.eks.amazonaws.com' },
      path: 'apiServer',
      value: { host: 'ABC.gr7.eu-west-1.eks.amazonaws.com', port: '443' },
    },
    {
      env: { CLUSTER_ENDPOINT: 'https://[fd00::1]:6443/' },
      path: 'apiServer',
      value: { host: 'fd00::1', port: '6443' },
    },
  ] as const) {
    test(`${JSON.stringify(env)} sets ${path}`, () => {
      const { settings } = parsed(env);
      assert.deepEqual(settings[path], value);
    });
  }

  for (const { env, expected } of [
    { env: {}, expected: ['portmap'] },
    { env: { ENIWHERE_CHAINED_PLUGINS: '' }, expected: [] },
    { env: { ENABLE_BANDWIDTH_PLUGIN: 'true' }, expected: ['portmap', 'bandwidth'] },
    {
      env: { ENIWHERE_CHAINED_PLUGINS: 'bandwidth, portmap', ENABLE_BANDWIDTH_PLUGIN: 'true' },
      expected: ['bandwidth', 'portmap'],
    },
    {
      env: { ENIWHERE_TUNING_SYSCTLS: 'net.core.somaxconn=1024, net.ipv4.tcp_tw_reuse=1' },
      expected: ['portmap', ['tuning', { 'net.core.somaxconn': '1024', 'net.ipv4.tcp_tw_reuse': '1' }]],
    },
    {
      env: { DISABLE_POD_V6: 'true', ENIWHERE_CHAINED_PLUGINS: '' },
      expected: [
        [
          'tuning',
          {
            'net.ipv6.conf.all.disable_ipv6': '1',
            'net.ipv6.conf.default.disable_ipv6': '1',
            'net.ipv6.conf.lo.disable_ipv6': '1',
          },
        ],
      ],
    },
  ] as const) {
    test(`chained plugins of ${JSON.stringify(env)}: ${JSON.stringify(expected)}`, () => {
      assert.deepEqual(chained(env), expected);
    });
  }

  test('what the controller decides is named when it is set here, for it has no effect', () => {
    const { warnings } = parsed({ AWS_VPC_K8S_CNI_EXTERNALSNAT: 'true', WARM_IP_TARGET: '5' });
    assert.equal(warnings.length, 2);
    assert.match(
      warnings[0] ?? '',
      /^AWS_VPC_K8S_CNI_EXTERNALSNAT has no effect on the agent: .* set it there$/,
    );
  });

  for (const [name, value, says] of [
    ['MY_NODE_NAME', '', /MY_NODE_NAME: .*spec\.nodeName/],
    ['KUBERNETES_SERVICE_HOST', '', /run in a pod, or set CLUSTER_ENDPOINT/],
    ['CLUSTER_ENDPOINT', 'http://10.0.0.1', /expected https:\/\/HOST/],
    ['CLUSTER_ENDPOINT', 'https://10.0.0.1/path', /and no path/],
    [
      'INTROSPECTION_BIND_ADDRESS',
      'localhost:1',
      /^INTROSPECTION_BIND_ADDRESS="localhost:1": expected an address/,
    ],
    ['ENIWHERE_METRICS_BIND_ADDRESS', ':0', /ENIWHERE_METRICS_BIND_ADDRESS/],
    ['DISABLE_METRICS', 'yes', /DISABLE_METRICS="yes": expected true or false/],
    ['AWS_VPC_K8S_CNI_LOGLEVEL', 'trace', /^AWS_VPC_K8S_CNI_LOGLEVEL="trace": expected one of debug, info/],
    ['HOST_CNI_BIN_PATH', 'opt/cni/bin', /HOST_CNI_BIN_PATH="opt\/cni\/bin": expected an absolute path/],
    ['ENIWHERE_CHAINED_PLUGINS', 'portmap,calico', /names "calico": expected portmap, bandwidth or tuning/],
    ['ENIWHERE_TUNING_SYSCTLS', 'kernel.panic=1', /expected net\.NAME=VALUE/],
    ['ENIWHERE_ADD_WAIT_SECONDS', '90', /from 0 to 45/],
  ] as const) {
    test(`${name}="${value}" is refused with a text that says what is allowed`, () => {
      const result = parseAgentSettings({ ...POD, [name]: value });
      assert.ok(!result.ok);
      assert.equal(result.error.length, 1, result.error.join('\n'));
      assert.match(result.error[0] ?? '', says);
    });
  }

  test('all mistakes are told at once', () => {
    const result = parseAgentSettings({ DISABLE_METRICS: 'x', HOST_CNI_CONFDIR_PATH: 'y' });
    assert.ok(!result.ok);
    assert.equal(result.error.length, 4);
  });

  test('commands for a node need neither its name nor the API server', () => {
    assert.ok(parseHostSettings({}).ok);
    assert.ok(!parseHostSettings({ ENIWHERE_JOURNAL: 'x' }).ok);
  });
});
