// What the plugin reads from environment and stdin, and every way in which it refuses.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type CniInvocation, type Environment, parseInvocation } from './parse-invocation.ts';

const ENV: Environment = {
  CNI_COMMAND: 'ADD',
  CNI_CONTAINERID: '3f6940ab5ab4',
  CNI_NETNS: '/run/netns/cni-1',
  CNI_IFNAME: 'eth0',
  CNI_ARGS: 'IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=cart-0;K8S_POD_UID=u-1',
  CNI_PATH: '/opt/cni/bin',
};
const CONF = { cniVersion: '1.1.0', name: 'eniwhere', type: 'eniwhere-cni' };
const PREV_RESULT = {
  cniVersion: '1.0.0',
  interfaces: [
    { name: 'eni123', mac: '02:00:00:00:00:01' },
    { name: 'eth0', sandbox: '/run/netns/cni-1' },
  ],
  ips: [{ version: '4', address: '10.1.0.4/32', interface: 1 }],
};

function parse(env: Environment, conf: unknown = CONF): CniInvocation {
  const result = parseInvocation({ ...ENV, ...env }, typeof conf === 'string' ? conf : JSON.stringify(conf));
  assert.ok(result.ok, JSON.stringify(result));
  return result.value;
}

describe('the plugin reads', () => {
  test('ADD, with pod, sandbox and namespace', () => {
    assert.deepEqual(parse({}), {
      kind: 'Request',
      cniVersion: '1.1.0',
      socketPath: '/run/eniwhere/agent.sock',
      request: {
        command: 'ADD',
        sandbox: { containerId: '3f6940ab5ab4', ifName: 'eth0' },
        netnsPath: '/run/netns/cni-1',
        pod: { namespace: 'shop', name: 'cart-0', uid: 'u-1' },
      },
    });
  });

  test("ADD with those of the pod's annotations that are ours, where the runtime passes annotations", () => {
    const annotations = { 'eniwhere.io/eni-config': 'red', 'kubernetes.io/config.source': 'api' };
    const addOf = (runtimeConfig: unknown) => {
      const invocation = parse({}, { ...CONF, runtimeConfig });
      assert.ok(invocation.kind === 'Request' && invocation.request.command === 'ADD');
      return invocation.request.podAnnotations;
    };
    assert.deepEqual(addOf({ 'io.kubernetes.cri.pod-annotations': annotations }), {
      'eniwhere.io/eni-config': 'red',
    });
    assert.deepEqual(addOf({ 'io.kubernetes.cri.pod-annotations': { a: 'b' } }), {});
    for (const none of [undefined, {}, { 'io.kubernetes.cri.pod-annotations': null }])
      assert.equal(addOf(none), undefined);
  });

  test("the agent's socket from the configuration", () => {
    const invocation = parse({}, { ...CONF, agentSocket: '/run/lab/n1.sock' });
    assert.ok(invocation.kind === 'Request' && invocation.socketPath === '/run/lab/n1.sock');
  });

  test('DEL with what the runtime still knows: it may have neither namespace, pod nor result', () => {
    const full = parse({ CNI_COMMAND: 'DEL' }, { ...CONF, prevResult: PREV_RESULT });
    assert.ok(full.kind === 'Request' && full.request.command === 'DEL');
    assert.equal(full.request.pod?.name, 'cart-0');
    assert.deepEqual(full.request.prevResult?.ips, [{ address: '10.1.0.4/32', interface: 1 }]);
    const bare = parse({ CNI_COMMAND: 'DEL', CNI_NETNS: '', CNI_ARGS: undefined });
    assert.ok(bare.kind === 'Request');
    assert.deepEqual(bare.request, {
      command: 'DEL',
      sandbox: { containerId: '3f6940ab5ab4', ifName: 'eth0' },
    });
  });

  test('DEL whose previous result makes no sense: an error would keep the pod from going away', () => {
    const invocation = parse({ CNI_COMMAND: 'DEL' }, { ...CONF, prevResult: { ips: 'none' } });
    assert.ok(invocation.kind === 'Request' && invocation.request.command === 'DEL');
    assert.equal(invocation.request.prevResult, undefined);
  });

  test('CHECK with the previous result', () => {
    const invocation = parse({ CNI_COMMAND: 'CHECK' }, { ...CONF, prevResult: PREV_RESULT });
    assert.ok(invocation.kind === 'Request' && invocation.request.command === 'CHECK');
    assert.equal(invocation.request.prevResult.interfaces[1]?.sandbox, '/run/netns/cni-1');
  });

  for (const key of ['cni.dev/valid-attachments', 'cni.dev/attachments']) {
    test(`GC with the attachments under ${key}`, () => {
      const conf = { ...CONF, [key]: [{ containerID: 'a', ifname: 'eth0' }] };
      const invocation = parse({ CNI_COMMAND: 'GC' }, conf);
      assert.ok(invocation.kind === 'Request');
      assert.deepEqual(invocation.request, {
        command: 'GC',
        validAttachments: [{ containerId: 'a', ifName: 'eth0' }],
      });
    });
  }

  test('GC with a null list, as Go writes one that was never made: no pod is to be kept', () => {
    const invocation = parse({ CNI_COMMAND: 'GC' }, { ...CONF, 'cni.dev/valid-attachments': null });
    assert.ok(invocation.kind === 'Request');
    assert.deepEqual(invocation.request, { command: 'GC', validAttachments: [] });
  });

  test('STATUS, which needs nothing but the configuration', () => {
    const result = parseInvocation({ CNI_COMMAND: 'STATUS' }, JSON.stringify(CONF));
    assert.ok(result.ok && result.value.kind === 'Request' && result.value.request.command === 'STATUS');
  });

  for (const [stdin, cniVersion] of [
    ['{"cniVersion":"0.4.0"}', '0.4.0'],
    ['{"cniVersion":"9.9.9"}', '1.1.0'],
    ['', '1.1.0'],
  ] as const) {
    test(`VERSION, answered in ${cniVersion} for ${stdin || 'an empty stdin'}`, () => {
      assert.deepEqual(parseInvocation({ CNI_COMMAND: 'VERSION' }, stdin), {
        ok: true,
        value: { kind: 'Version', cniVersion },
      });
    });
  }
});

describe('the plugin refuses [CNI-6]', () => {
  const longPath = `/${'x'.repeat(107)}`;
  const cases: readonly {
    readonly what: string;
    readonly env?: Environment;
    readonly conf?: unknown;
    readonly code: number;
    readonly says: RegExp;
  }[] = [
    { what: 'no command', env: { CNI_COMMAND: undefined }, code: 4, says: /CNI_COMMAND is not set/ },
    {
      what: 'an unknown command',
      env: { CNI_COMMAND: 'add' },
      code: 4,
      says: /CNI_COMMAND is "add"; it must be ADD/,
    },
    { what: 'no container id', env: { CNI_CONTAINERID: '' }, code: 4, says: /CNI_CONTAINERID is not set/ },
    {
      what: 'a container id that begins with a dash',
      env: { CNI_CONTAINERID: '-a' },
      code: 4,
      says: /CNI_CONTAINERID is "-a"; it must begin with a letter or digit/,
    },
    {
      what: 'a container id with a slash, which could name a path',
      env: { CNI_CONTAINERID: '../a' },
      code: 4,
      says: /CNI_CONTAINERID/,
    },
    { what: 'a link name of 16 bytes', env: { CNI_IFNAME: 'x'.repeat(16) }, code: 4, says: /1 to 15 bytes/ },
    {
      what: 'a link name of 15 letters and 16 bytes',
      env: { CNI_IFNAME: `${'x'.repeat(14)}é` },
      code: 4,
      says: /CNI_IFNAME/,
    },
    { what: 'the link name ".."', env: { CNI_IFNAME: '..' }, code: 4, says: /CNI_IFNAME is ".."/ },
    {
      what: 'a link name with a space',
      env: { CNI_IFNAME: 'eth 0' },
      code: 4,
      says: /CNI_IFNAME is "eth 0"/,
    },
    { what: 'a link name with a colon', env: { CNI_IFNAME: 'eth:0' }, code: 4, says: /CNI_IFNAME/ },
    { what: 'ADD without a namespace', env: { CNI_NETNS: undefined }, code: 4, says: /CNI_NETNS is not set/ },
    { what: 'a relative namespace', env: { CNI_NETNS: 'netns/a' }, code: 4, says: /absolute path/ },
    {
      what: 'ADD for no pod',
      env: { CNI_ARGS: '' },
      code: 4,
      says: /CNI_ARGS is not set; it must hold K8S_POD_NAMESPACE/,
    },
    {
      what: 'arguments without "="',
      env: { CNI_ARGS: 'K8S_POD_NAME' },
      code: 4,
      says: /"K8S_POD_NAME" is not of the form/,
    },
    {
      what: 'a pod name that Kubernetes would not have',
      env: { CNI_ARGS: 'K8S_POD_NAMESPACE=shop;K8S_POD_NAME=a/b' },
      code: 4,
      says: /K8S_POD_NAME, the name of a Kubernetes object/,
    },
    {
      what: 'a configuration that is not JSON',
      conf: '{"cniVersion": }',
      code: 6,
      says: /line 1, column 16/,
    },
    { what: 'an empty stdin', conf: '', code: 6, says: /line 1, column 1: expected a value, the text ends/ },
    { what: 'a configuration that is a list', conf: [], code: 7, says: /must hold an object/ },
    {
      what: 'a version of the future',
      conf: { ...CONF, cniVersion: '2.0.0' },
      code: 1,
      says: /"2.0.0"; Eniwhere speaks 0.3.1, 0.4.0, 1.0.0, 1.1.0/,
    },
    { what: 'no version', conf: { name: 'eniwhere' }, code: 1, says: /cniVersion is missing/ },
    { what: 'no network name', conf: { cniVersion: '1.1.0' }, code: 7, says: /name is missing/ },
    { what: 'a network name with a slash', conf: { ...CONF, name: 'a/b' }, code: 7, says: /name is "a\/b"/ },
    {
      what: 'a relative socket',
      conf: { ...CONF, agentSocket: 'agent.sock' },
      code: 7,
      says: /agentSocket is "agent.sock"/,
    },
    {
      what: 'a socket path longer than the kernel takes',
      conf: { ...CONF, agentSocket: longPath },
      code: 7,
      says: /at most 107 bytes/,
    },
    {
      what: 'a place behind another plugin',
      conf: { ...CONF, prevResult: PREV_RESULT },
      code: 7,
      says: /must be the first plugin/,
    },
    {
      what: 'CHECK without a previous result',
      env: { CNI_COMMAND: 'CHECK' },
      code: 7,
      says: /prevResult is missing/,
    },
    {
      what: 'CHECK with a previous result that makes no sense',
      env: { CNI_COMMAND: 'CHECK' },
      conf: { ...CONF, prevResult: { ips: [{ address: 10 }] } },
      code: 7,
      says: /prevResult\.ips\[0\]\.address must be a string, it is number/,
    },
    {
      what: 'CHECK before 0.4.0',
      env: { CNI_COMMAND: 'CHECK' },
      conf: { ...CONF, cniVersion: '0.3.1' },
      code: 1,
      says: /CHECK exists since CNI 0.4.0/,
    },
    {
      what: 'STATUS before 1.1.0',
      env: { CNI_COMMAND: 'STATUS' },
      conf: { ...CONF, cniVersion: '1.0.0' },
      code: 1,
      says: /STATUS exists since CNI 1.1.0/,
    },
    {
      what: 'GC without a list: taken for an empty one, it would release every pod [RST-1]',
      env: { CNI_COMMAND: 'GC' },
      code: 7,
      says: /cni\.dev\/valid-attachments is missing/,
    },
    {
      what: 'GC with a list that cannot be read',
      env: { CNI_COMMAND: 'GC' },
      conf: { ...CONF, 'cni.dev/valid-attachments': [{ containerID: 'a' }] },
      code: 7,
      says: /valid-attachments\[0\]\.ifname must be a string/,
    },
  ];
  for (const { what, env = {}, conf = CONF, code, says } of cases) {
    test(what, () => {
      const stdin = typeof conf === 'string' ? conf : JSON.stringify(conf);
      const result = parseInvocation({ ...ENV, ...env }, stdin);
      assert.ok(!result.ok, 'it is refused');
      assert.equal(result.error.error.code, code);
      assert.match(result.error.error.details, says);
    });
  }

  test('in the version that was asked for, where that can be told', () => {
    const result = parseInvocation(
      { ...ENV, CNI_IFNAME: '' },
      JSON.stringify({ ...CONF, cniVersion: '0.4.0' }),
    );
    assert.ok(!result.ok && result.error.cniVersion === '0.4.0');
    const unknown = parseInvocation(ENV, '{"cniVersion": "2.0.0"}');
    assert.ok(!unknown.ok && unknown.error.cniVersion === '1.1.0');
  });
});
