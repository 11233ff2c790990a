// The fabric enforces security groups with real packets: statefully, on both sides, by address and by group.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { EchoConnection } from '../../src/ports/namespace-sockets.ts';
import type { Fabric } from '../../src/lab/fabric/fabric.ts';
import {
  type FabricWorld,
  fromCidr,
  fromGroup,
  groupId,
  handMadeVpc,
  instanceId,
  ip,
  okOf,
  type Probe,
  skip,
  startFabric,
} from './fabric-support.ts';
import { valueOf } from './linux-support.ts';

const WEB = 8080;
const OTHER = 8081;
const ADDRESS = { client: '10.1.0.10', server: '10.1.1.10', third: '10.1.0.12' } as const;
type Machine = keyof typeof ADDRESS;

describe('security groups in the fabric', { skip }, () => {
  const vpc = handMadeVpc();
  let world: FabricWorld;
  let fabric: Fabric;
  let probe: Probe;
  const at = (machine: Machine): string => fabric.nodeNetnsPath(instanceId(machine));
  /** `open`, or `silent`: a group drops, it does not refuse. */
  const look = async (netnsPath: string, to: Machine, port: number): Promise<string> => {
    const seen = await probe.visit({ netnsPath }, { address: ADDRESS[to], port });
    return seen === 'ETIMEDOUT' ? 'silent' : /^[0-9.]+$/.test(seen) ? 'open' : seen;
  };
  const setGroups = (machine: Machine, groups: readonly string[]): void =>
    vpc.putEni(`${machine}-eth0`, { securityGroupIds: groups.map(groupId) });
  /** Everything that a case does not set is as if it had not been set before. */
  const reset = (): void => {
    vpc.putGroup('open', { ingress: [fromCidr('0.0.0.0/0')] });
    vpc.putGroup('clients', { ingress: [] });
    vpc.putGroup('servers', { ingress: [] });
    setGroups('client', ['clients']);
    setGroups('server', ['servers']);
    setGroups('third', ['open']);
  };

  before(async () => {
    vpc.launch('client', { subnet: 'node-a', address: ADDRESS.client, groups: ['clients'] });
    vpc.launch('server', { subnet: 'node-b', address: ADDRESS.server, groups: ['servers'] });
    vpc.launch('third', { subnet: 'node-a', address: ADDRESS.third, groups: ['open'] });
    reset();
    world = await startFabric(vpc);
    ({ fabric, probe } = world);
    await probe.serve((['client', 'server', 'third'] as const).map(at), WEB, OTHER);
  });
  after(() => world?.close());

  interface Case {
    readonly title: string;
    readonly given: () => void;
    /** What `client` finds at the server's two ports, what `third` does, and what the server finds at the client's. */
    readonly client: readonly [web: string, other: string];
    readonly third: readonly [web: string, other: string];
    readonly back: string;
  }
  const cases: readonly Case[] = [
    {
      title: 'a group without rules lets nothing in',
      given: () => {},
      client: ['silent', 'silent'],
      third: ['silent', 'silent'],
      back: 'silent',
    },
    {
      title: 'a rule for a block lets in that block alone, and the answers need no rule',
      given: () => vpc.putGroup('servers', { ingress: [fromCidr('10.1.0.8/30')] }),
      client: ['open', 'open'],
      third: ['silent', 'silent'],
      back: 'silent',
    },
    {
      title: 'a rule for a port lets in that port alone',
      given: () =>
        vpc.putGroup('servers', {
          ingress: [fromCidr('0.0.0.0/0', { protocol: 'tcp', ports: { from: WEB, to: WEB } })],
        }),
      client: ['open', 'silent'],
      third: ['open', 'silent'],
      back: 'silent',
    },
    {
      title: 'a range of ports includes both its ends',
      given: () =>
        vpc.putGroup('servers', {
          ingress: [fromCidr('0.0.0.0/0', { protocol: 'tcp', ports: { from: WEB, to: OTHER } })],
        }),
      client: ['open', 'open'],
      third: ['open', 'open'],
      back: 'silent',
    },
    {
      title: 'a rule for UDP or ICMP lets no TCP in',
      given: () =>
        vpc.putGroup('servers', {
          ingress: [fromCidr('0.0.0.0/0', { protocol: 'udp' }), fromCidr('0.0.0.0/0', { protocol: 'icmp' })],
        }),
      client: ['silent', 'silent'],
      third: ['silent', 'silent'],
      back: 'silent',
    },
    {
      title: 'a rule for a group lets in every ENI that has it, and no other',
      given: () =>
        vpc.putGroup('servers', {
          ingress: [fromGroup('clients', { protocol: 'tcp', ports: { from: WEB, to: WEB } })],
        }),
      client: ['open', 'silent'],
      third: ['silent', 'silent'],
      back: 'silent',
    },
    {
      title: "what several groups of an ENI allow adds up, on the rule's side and on the member's",
      given: () => {
        vpc.putGroup('servers', {
          ingress: [fromGroup('clients', { protocol: 'tcp', ports: { from: WEB, to: WEB } })],
        });
        vpc.putGroup('more', {
          ingress: [fromCidr('10.1.0.12/32', { protocol: 'tcp', ports: { from: OTHER, to: OTHER } })],
        });
        setGroups('server', ['servers', 'more']);
        setGroups('third', ['open', 'clients']);
      },
      client: ['open', 'silent'],
      third: ['open', 'open'],
      back: 'silent',
    },
    {
      title: 'a group without egress rules lets nothing out, but answers',
      given: () => {
        vpc.putGroup('servers', { ingress: [fromCidr('0.0.0.0/0')], egress: [] });
        vpc.putGroup('clients', { ingress: [fromCidr('0.0.0.0/0')], egress: [] });
      },
      client: ['silent', 'silent'],
      third: ['open', 'open'],
      back: 'silent',
    },
    {
      title: 'egress rules choose by port and by group, too',
      given: () => {
        vpc.putGroup('servers', { ingress: [fromCidr('0.0.0.0/0')], egress: [fromGroup('clients')] });
        vpc.putGroup('clients', {
          ingress: [fromCidr('0.0.0.0/0')],
          egress: [fromCidr('10.1.1.0/24', { protocol: 'tcp', ports: { from: OTHER, to: OTHER } })],
        });
      },
      client: ['silent', 'open'],
      third: ['open', 'open'],
      back: 'open',
    },
  ];
  for (const { title, given, client, third, back } of cases) {
    test(title, async () => {
      reset();
      given();
      okOf(await fabric.sync());
      const found = await Promise.all([
        look(at('client'), 'server', WEB),
        look(at('client'), 'server', OTHER),
        look(at('third'), 'server', WEB),
        look(at('third'), 'server', OTHER),
        look(at('server'), 'client', WEB),
      ]);
      assert.deepEqual(found, [...client, ...third, back]);
    });
  }

  test('a connection that is established outlives the rule that let it in', async () => {
    reset();
    vpc.putGroup('servers', { ingress: [fromCidr('0.0.0.0/0')] });
    okOf(await fabric.sync());
    const connection: EchoConnection = valueOf(
      await probe.sockets.connect({
        netnsPath: at('client'),
        address: ip(ADDRESS.server),
        port: WEB,
        timeoutMs: 500,
      }),
    );
    vpc.putGroup('servers', { ingress: [] });
    okOf(await fabric.sync());
    assert.equal(await look(at('client'), 'server', WEB), 'silent');
    assert.equal((await connection.ping()).kind, 'ok');
    await connection.close();
  });

  test('the premises are let in by their address, and the internet answers whom egress lets out', async () => {
    reset();
    vpc.putGroup('servers', { ingress: [fromCidr('192.168.50.0/24', { protocol: 'tcp' })], egress: [] });
    okOf(await fabric.sync());
    assert.equal(await look(fabric.onPremHost.netnsPath, 'server', WEB), 'open');
    assert.equal(await look(fabric.onPremHost.netnsPath, 'client', WEB), 'silent');
    const internet = { address: fabric.internetHost.address, port: WEB };
    await probe.serve([fabric.internetHost.netnsPath], WEB);
    assert.equal(await probe.visit({ netnsPath: at('client') }, internet), '198.18.0.10');
    assert.equal(await probe.visit({ netnsPath: at('server') }, internet), 'ETIMEDOUT');
  });

  test('nothing of all this was in trouble', () => {
    assert.deepEqual(world.complaints, []);
  });
});
