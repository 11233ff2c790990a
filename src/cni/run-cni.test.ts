// What the plugin prints and with what code it ends, for every way in which the agent may answer, or not.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CniReply } from '../protocol/agent-socket/cni-message.ts';
import { type CniOutput, runCni, type SendOutcome, type SendRequest } from './run-cni.ts';

const ENV = {
  CNI_COMMAND: 'ADD',
  CNI_CONTAINERID: 'a1',
  CNI_NETNS: '/run/netns/a1',
  CNI_IFNAME: 'eth0',
  CNI_ARGS: 'K8S_POD_NAMESPACE=shop;K8S_POD_NAME=cart-0',
};
const CONF = { cniVersion: '1.0.0', name: 'eniwhere', agentSocket: '/run/test.sock' };

interface Ask {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly outcome?: SendOutcome;
}

const answered = (reply: CniReply): SendOutcome => ({
  kind: 'Answered',
  status: 200,
  body: JSON.stringify(reply),
});

async function run(ask: Ask): Promise<{ readonly output: CniOutput; readonly sent: readonly SendRequest[] }> {
  const sent: SendRequest[] = [];
  const output = await runCni({
    env: { ...ENV, ...ask.env },
    stdin: ask.stdin ?? JSON.stringify(CONF),
    send: async (request) => {
      sent.push(request);
      return ask.outcome ?? answered({ kind: 'Done' });
    },
  });
  return { output, sent };
}

describe('the plugin', () => {
  test('prints the result of ADD in the version of the configuration', async () => {
    const result = {
      interfaces: [{ name: 'eth0', sandbox: '/run/netns/a1', mtu: 9001 }],
      ips: [{ address: '10.1.0.4/32', interface: 0 }],
      routes: [],
    };
    const { output, sent } = await run({ outcome: answered({ kind: 'Result', result }) });
    assert.equal(output.exitCode, 0);
    assert.deepEqual(JSON.parse(output.stdout), {
      cniVersion: '1.0.0',
      interfaces: [{ name: 'eth0', sandbox: '/run/netns/a1' }],
      ips: [{ address: '10.1.0.4/32', interface: 0 }],
      routes: [],
      dns: {},
    });
    assert.equal(sent[0]?.socketPath, '/run/test.sock');
    assert.match(sent[0]?.body ?? '', /"command":"ADD".*"name":"cart-0"/);
  });

  for (const body of ['', '{"kind":"Res']) {
    test(`says "try again later" when the agent dies in the middle of its answer, after ${body.length} bytes`, async () => {
      const { output } = await run({ outcome: { kind: 'Answered', status: 200, body } });
      const error = JSON.parse(output.stdout) as { readonly code: number; readonly details: string };
      assert.equal(error.code, 11);
      assert.match(error.details, /\/run\/test\.sock took ADD, and the agent ended/);
    });
  }

  test('prints nothing for DEL', async () => {
    assert.deepEqual((await run({ env: { CNI_COMMAND: 'DEL' } })).output, { stdout: '', exitCode: 0 });
  });

  test('answers VERSION itself, with the agent down', async () => {
    const { output, sent } = await run({ env: { CNI_COMMAND: 'VERSION' } });
    assert.deepEqual(JSON.parse(output.stdout), {
      cniVersion: '1.0.0',
      supportedVersions: ['0.3.1', '0.4.0', '1.0.0', '1.1.0'],
    });
    assert.deepEqual([output.exitCode, sent.length], [0, 0]);
  });

  const cases: readonly {
    readonly what: string;
    readonly ask: Ask;
    readonly code: number;
    readonly says: RegExp;
  }[] = [
    {
      what: 'an error of the agent as it is',
      ask: {
        outcome: answered({
          kind: 'Error',
          error: { code: 11, msg: 'no address', details: 'the subnet is full' },
        }),
      },
      code: 11,
      says: /^no address: the subnet is full$/,
    },
    {
      what: 'an agent that is not reached, with the socket that was tried',
      ask: { outcome: { kind: 'Unreachable', cause: 'there is no such socket' } },
      code: 11,
      says: /tried socket \/run\/test\.sock .*there is no such socket; check that the eniwhere agent runs/,
    },
    {
      what: 'the same for STATUS with the code that makes a node NotReady',
      ask: {
        env: { CNI_COMMAND: 'STATUS' },
        stdin: JSON.stringify({ ...CONF, cniVersion: '1.1.0' }),
        outcome: { kind: 'Unreachable', cause: 'nobody listens on it' },
      },
      code: 50,
      says: /nobody listens on it/,
    },
    {
      what: 'an agent that did not answer in time',
      ask: { outcome: { kind: 'NoAnswer', cause: 'not answered within 60000 ms' } },
      code: 11,
      says: /ADD was sent to \/run\/test\.sock and not answered/,
    },
    {
      what: 'an answer that is none of ours',
      ask: { outcome: { kind: 'Answered', status: 200, body: '<html>' } },
      code: 999,
      says: /reply is not JSON: line 1, column 1.*another program listens there/,
    },
    {
      what: 'a refusal over HTTP',
      ask: { outcome: { kind: 'Answered', status: 400, body: 'request.pod is odd\n' } },
      code: 999,
      says: /status 400: request\.pod is odd;/,
    },
    {
      what: 'a configuration that is not JSON, without asking the agent',
      ask: { stdin: 'x' },
      code: 6,
      says: /line 1, column 1/,
    },
  ];
  for (const { what, ask, code, says } of cases) {
    test(`ends with 1 and prints ${what}`, async () => {
      const { output } = await run(ask);
      assert.equal(output.exitCode, 1);
      const error = JSON.parse(output.stdout);
      assert.equal(error.code, code);
      assert.match(`${error.msg}: ${error.details}`, says);
      assert.equal(output.stderr, `eniwhere-cni: ${error.msg}: ${error.details}\n`);
    });
  }
});
