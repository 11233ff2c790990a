// The shapes that scripts for the AWS CNI read, from a snapshot; and health, readiness and paths.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cidr, ip } from '../domain/address/testing.ts';
import { allocation } from '../domain/ipam/testing-node.ts';
import { agentRoutes } from './agent-routes.ts';
import type { AgentSnapshot } from './agent-snapshot.ts';
import { emptySnapshot, nodeNetwork, snapshot } from './testing-snapshot.ts';

const ask = (
  path: string,
  state: AgentSnapshot,
  notInstalled?: string,
): { readonly status: number; readonly body: unknown } => {
  const answer = agentRoutes({ describe: () => state, notInstalled: () => notInstalled }).get(path)?.();
  assert.ok(answer, `${path} is served`);
  return { status: answer.status, body: JSON.parse(answer.body) as unknown };
};

const bodyOf = (path: string, state: AgentSnapshot): unknown => {
  const { status, body } = ask(path, state);
  assert.equal(status, 200);
  return body;
};

const NEVER = '0001-01-01T00:00:00Z';
const single = (address: string, use: Readonly<Record<string, unknown>> = {}): object => ({
  Cidr: { IP: address, Mask: '/////w==' },
  IPAddresses: use,
  IsPrefix: false,
  AddressFamily: '',
});

describe('introspection', () => {
  test('/v1/enis: by network card, ENI, block and address; without what a forged DEL needs', () => {
    const body = bodyOf('/v1/enis', snapshot()) as Record<string, { ENIs: Record<string, unknown> }>;
    assert.deepEqual(Object.keys(body), ['0']);
    assert.deepEqual(body['0'], {
      TotalIPs: 4,
      AssignedIPs: 1,
      ENIs: {
        'eni-00000000': body['0']?.ENIs['eni-00000000'],
        'eni-00000001': {
          ID: 'eni-00000001',
          IsPrimary: false,
          IsTrunk: false,
          IsEFA: false,
          DeviceNumber: 1,
          AvailableIPv4Cidrs: {
            '10.1.0.4/32': single('10.1.0.4', {
              '10.1.0.4': {
                Address: '10.1.0.4',
                IPAMKey: { networkName: 'eniwhere', containerID: '', ifName: '' },
                IPAMMetadata: { k8sPodNamespace: 'shop', k8sPodName: 'web' },
                AssignedTime: NEVER,
                UnassignedTime: NEVER,
              },
            }),
            '10.1.0.5/32': single('10.1.0.5', {
              '10.1.0.5': {
                Address: '10.1.0.5',
                IPAMKey: { networkName: '', containerID: '', ifName: '' },
                IPAMMetadata: {},
                AssignedTime: NEVER,
                UnassignedTime: '2026-11-30T10:00:00.000Z',
              },
            }),
            '10.1.0.6/32': single('10.1.0.6'),
            '10.1.0.7/32': single('10.1.0.7'),
          },
          IPv6Cidrs: {},
          IsExcludedForPodIPs: false,
          RouteTableID: 1002,
          SubnetID: 'subnet-0000000b',
          ENIConfig: 'blue',
          MAC: '02:00:00:00:00:01',
          Withdrawing: ['10.1.0.6'],
        },
      },
    });
  });

  test('/v1/enis: a prefix shows the addresses in it, and IPv6 goes by itself', () => {
    const [, second] = nodeNetwork.enis;
    assert.ok(second);
    const eni = {
      ...second,
      networkCardIndex: 1,
      addresses: [ip('10.1.0.18'), ip('2001:db8::5')],
      prefixes: [cidr('10.1.0.16/28'), cidr('2001:db8::/80')],
    };
    const held = { ...allocation('web', '10.1.0.18'), addresses: [ip('10.1.0.18'), ip('2001:db8::5')] };
    const body = bodyOf(
      '/v1/enis',
      snapshot({ nodeNetwork: { ...nodeNetwork, enis: [eni] }, allocations: [held] }),
    );
    const cards = body as Record<string, { ENIs: Record<string, Record<string, Record<string, unknown>>> }>;
    assert.deepEqual(Object.keys(cards), ['0', '1']);
    assert.deepEqual(cards['0'], { TotalIPs: 0, AssignedIPs: 0, ENIs: {} });
    const shown = cards['1']?.ENIs['eni-00000001'];
    assert.deepEqual(Object.keys(shown?.['AvailableIPv4Cidrs'] ?? {}), ['10.1.0.16/28']);
    assert.deepEqual(Object.keys(shown?.['IPv6Cidrs'] ?? {}), ['2001:db8::/80']);
    const block = shown?.['AvailableIPv4Cidrs']?.['10.1.0.16/28'] as Record<string, object>;
    assert.deepEqual(block['Cidr'], { IP: '10.1.0.16', Mask: '////8A==' });
    assert.deepEqual(Object.keys(block['IPAddresses'] ?? {}), ['10.1.0.18']);
    assert.equal(block['IsPrefix'], true);
  });

  test('/v1/eni-configs: the name alone; 404 where there is none', () => {
    assert.equal(bodyOf('/v1/eni-configs', snapshot()), 'blue');
    const selection = { ...nodeNetwork.selection, kind: 'None', source: 'Nothing' } as never;
    assert.equal(
      ask('/v1/eni-configs', snapshot({ nodeNetwork: { ...nodeNetwork, selection } })).status,
      404,
    );
    assert.equal(ask('/v1/eni-configs', emptySnapshot).status, 404);
  });

  test('/v1/pods: by name, with their addresses and ENIs', () => {
    const pods = [allocation('web', '10.1.0.4'), allocation('cart', '10.1.0.7')];
    assert.deepEqual(bodyOf('/v1/pods', snapshot({ allocations: pods, imdsAllowed: [ip('10.1.0.7')] })), [
      {
        namespace: 'shop',
        name: 'cart',
        uid: 'uid-cart',
        addresses: ['10.1.0.7'],
        enis: ['eni-00000001'],
        hostLink: 'enicart',
        imdsAllowed: true,
      },
      {
        namespace: 'shop',
        name: 'web',
        uid: 'uid-web',
        addresses: ['10.1.0.4'],
        enis: ['eni-00000001'],
        hostLink: 'eniweb',
        imdsAllowed: false,
      },
    ]);
  });

  for (const [randomizeSnat, number] of [
    ['none', 0],
    ['hashrandom', 1],
    ['prng', 2],
  ] as const) {
    test(`/v1/networkutils-env-settings: ${randomizeSnat} is ${number}`, () => {
      const settings = { ...nodeNetwork.settings, randomizeSnat };
      assert.deepEqual(
        bodyOf('/v1/networkutils-env-settings', snapshot({ nodeNetwork: { ...nodeNetwork, settings } })),
        {
          AWS_VPC_CNI_NODE_PORT_SUPPORT: true,
          AWS_VPC_ENI_MTU: 9001,
          AWS_VPC_K8S_CNI_CONNMARK: 127,
          AWS_VPC_K8S_CNI_EXCLUDE_SNAT_CIDRS: ['10.0.0.0/16'],
          AWS_VPC_K8S_CNI_EXTERNALSNAT: false,
          AWS_VPC_K8S_CNI_RANDOMIZESNAT: number,
          AWS_VPC_K8S_CNI_VETHPREFIX: 'eni',
          AWS_EXTERNAL_SERVICE_CIDRS: [],
        },
      );
    });
  }

  test('/v1/ipamd-env-settings: what the node knows; warm targets are the controller’s', () => {
    assert.deepEqual(bodyOf('/v1/ipamd-env-settings', snapshot()), {
      AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG: true,
      IP_COOLDOWN_PERIOD: 30,
      WARM_ENI_TARGET: null,
      WARM_IP_TARGET: null,
    });
  });

  test('/v1/snapshot has no container id', () => {
    const text = JSON.stringify(bodyOf('/v1/snapshot', snapshot()));
    assert.match(text, /shop\/web/);
    assert.doesNotMatch(text, /containerId|ifName/);
  });

  test('/ lists the paths', () => {
    assert.deepEqual(bodyOf('/', emptySnapshot), {
      AvailableCommands: [
        '/v1/enis',
        '/v1/eni-configs',
        '/v1/pods',
        '/v1/networkutils-env-settings',
        '/v1/ipamd-env-settings',
        '/v1/snapshot',
      ],
    });
  });

  test('nothing fails before the agent knows anything', () => {
    for (const path of agentRoutes({ describe: () => emptySnapshot, notInstalled: () => 'x' }).keys())
      assert.ok(ask(path, emptySnapshot).status < 600);
    assert.deepEqual(bodyOf('/v1/enis', emptySnapshot), { 0: { TotalIPs: 0, AssignedIPs: 0, ENIs: {} } });
  });
});

describe('health and readiness', () => {
  test('/healthz answers as long as the process does', () => {
    assert.equal(ask('/healthz', emptySnapshot).status, 200);
  });

  for (const { title, state, notInstalled, status, body } of [
    { title: 'serves, and the runtime knows it', state: snapshot(), status: 200, body: 'ok' },
    { title: 'does not serve', state: emptySnapshot, status: 503, body: 'the journal is being read' },
    {
      title: 'is not known to the runtime',
      state: snapshot(),
      notInstalled: 'portmap is not there',
      status: 503,
      body: 'portmap is not there',
    },
  ]) {
    test(`/readyz of an agent that ${title}: ${status}`, () => {
      assert.deepEqual(ask('/readyz', state, notInstalled), { status, body });
    });
  }
});
