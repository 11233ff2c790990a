// The commands that lead the router from one state to another, in ip's own syntax.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cidr } from '../../domain/address/testing.ts';
import type { AttachmentId } from '../../domain/ids.ts';
import type { EniLink } from './eni-links.ts';
import {
  desiredRouter,
  EMPTY_ROUTER,
  primaryEniCommands,
  type RouterState,
  routerChange,
} from './router-state.ts';
import { NODE, PRIMARY, SECONDARY, VIEW, withIpv6 } from './testing.ts';
import type { EniTruth, VpcView } from './vpc-truth.ts';

const linkOf = (eni: EniTruth, number: number): EniLink => ({
  attachmentId: `eni-attach-${number}` as AttachmentId,
  eniId: eni.eniId,
  instanceId: NODE,
  mac: eni.mac,
  isPrimary: number === 0,
  routerLink: `eni${eni.eniId.slice(4)}`,
  appearsAs: `eth${number}`,
  nodeLink: `eth${number}`,
});
const ETH0 = linkOf(PRIMARY, 0);
const ETH1 = linkOf(SECONDARY, 1);
const change = (have: RouterState, view: VpcView, plugged: readonly EniLink[]) =>
  routerChange({ have, want: desiredRouter(view, plugged), plugged }, () => 'node');
const WITH_BOTH = desiredRouter(VIEW, [ETH0, ETH1]);

describe('from one state of the router to another', () => {
  test('at first everything is made: gateways, links, and a route for whatever an ENI holds', () => {
    const { removals, changes, added } = change(EMPTY_ROUTER, VIEW, [ETH1]);
    assert.deepEqual(removals, []);
    assert.deepEqual(added, [ETH1]);
    assert.deepEqual(changes, [
      'addr replace 10.1.0.1/32 dev lo',
      'addr replace 10.1.8.1/32 dev lo',
      'link add name eni11111111 mtu 9001 type veth peer name eth1 address 02:00:00:00:00:01 mtu 9001 netns node',
      'link set dev eni11111111 alias eni-11111111 up',
      'ntable change name arp_cache dev eni11111111 proxy_delay 0',
      'neigh replace 169.254.0.1 lladdr 02:00:00:00:00:01 dev eni11111111 nud permanent',
      'route replace 10.1.8.4/32 via 169.254.0.1 dev eni11111111 onlink',
      'route replace 10.1.8.5/32 via 169.254.0.1 dev eni11111111 onlink',
      'route replace 10.1.8.32/28 via 169.254.0.1 dev eni11111111 onlink',
    ]);
  });

  test('from a state to itself there is nothing to do', () => {
    const { removals, changes, added } = change(WITH_BOTH, VIEW, [ETH0, ETH1]);
    assert.deepEqual([removals, changes, added], [[], [], []]);
  });

  test('an address that moves to another ENI is one replaced route', () => {
    const enis = [
      { ...PRIMARY, addresses: SECONDARY.addresses },
      { ...SECONDARY, addresses: [] },
    ];
    const { removals, changes } = change(WITH_BOTH, { ...VIEW, enis }, [ETH0, ETH1]);
    assert.deepEqual(removals, []);
    assert.deepEqual(changes, ['route replace 10.1.8.5/32 via 169.254.0.1 dev eni00000000 onlink']);
  });

  test('an address or subnet that is gone is removed', () => {
    const enis = [PRIMARY, { ...SECONDARY, addresses: [], prefixes: [] }];
    const view = { ...VIEW, enis, subnets: VIEW.subnets.slice(0, 1) };
    const { removals, changes } = change(WITH_BOTH, view, [ETH0, ETH1]);
    assert.deepEqual(removals, [
      'route del 10.1.8.5/32',
      'route del 10.1.8.32/28',
      'addr del 10.1.8.1/32 dev lo',
    ]);
    assert.deepEqual(changes, []);
  });

  test('a link that is gone takes its routes with it', () => {
    const { removals, remaining } = change(WITH_BOTH, VIEW, [ETH0]);
    assert.deepEqual(removals, ['link del eni11111111']);
    assert.deepEqual([...remaining.routes.keys()], [cidr('10.1.0.10/32')]);
  });

  test('an ENI that was detached and attached again is a new link with all its routes', () => {
    const again = { ...ETH1, attachmentId: 'eni-attach-9' as AttachmentId };
    const { removals, changes } = change(WITH_BOTH, VIEW, [ETH0, again]);
    assert.deepEqual(removals, ['link del eni11111111']);
    assert.equal(changes.filter((command) => command.startsWith('link add name eni11111111 ')).length, 1);
    assert.equal(changes.filter((command) => command.startsWith('route replace')).length, 3);
  });

  test('a link that was not plugged in wholly is begun anew', () => {
    const links = new Map([...WITH_BOTH.links, ['eni11111111', undefined] as const]);
    const { removals, added } = change({ ...WITH_BOTH, links }, VIEW, [ETH0, ETH1]);
    assert.deepEqual(removals, ['link del eni11111111']);
    assert.deepEqual(added, [ETH1]);
  });
});

test("the primary ENI is configured with its subnet's length and gateway", () => {
  assert.deepEqual(primaryEniCommands(ETH0, VIEW), [
    'addr add 10.1.0.10/24 dev eth0',
    'link set dev eth0 up',
    'route replace default via 10.1.0.1 dev eth0',
  ]);
});

test('an ENI in a subnet with IPv6 has the gateway as its neighbour, and its prefix delivered whole', () => {
  const { changes } = change(EMPTY_ROUTER, withIpv6(VIEW), [ETH1]);
  assert.deepEqual(
    changes.filter((command) => command.includes('::')),
    [
      'addr replace 2600:1f14:0:ab01::1/128 dev eni11111111 nodad',
      'neigh replace fe80::a9fe:1 lladdr 02:00:00:00:00:01 dev eni11111111 nud permanent',
      'route replace 2600:1f14:0:ab01:7::/80 via fe80::a9fe:1 dev eni11111111 onlink',
    ],
  );
});

test('an IPv6 prefix that is given back, and a gateway, are taken away; a link that is gone takes both with it', () => {
  const view = withIpv6(VIEW);
  const have = desiredRouter(view, [ETH0, ETH1]);
  const without = { ...view, enis: VIEW.enis };
  assert.deepEqual(change(have, without, [ETH0, ETH1]).removals, ['route del 2600:1f14:0:ab01:7::/80']);
  assert.deepEqual(change(have, { ...view, subnets: VIEW.subnets }, [ETH0, ETH1]).removals, [
    'route del 2600:1f14:0:ab01:7::/80',
    'addr del 2600:1f14:0:ab00::1/128 dev eni00000000',
    'addr del 2600:1f14:0:ab01::1/128 dev eni11111111',
  ]);
  assert.deepEqual(change(have, view, [ETH0]).removals, ['link del eni11111111']);
});
