// What the contract suite of NetworkStack stands on: a world around a stack, and a pod and a host to wish for.

import assert from 'node:assert/strict';
import type { Ip } from '../domain/address/ip.ts';
import type { HostDatapath } from '../domain/datapath/host-datapath.ts';
import type { PodDatapath } from '../domain/datapath/pod-datapath.ts';
import type { Clock } from './clock.ts';
import type { NetworkStack, StackFailure, StackOutcome } from './network-stack.ts';

/** What a person or another program does to the host. */
export type OutsideAct =
  | 'delete the rule to the pods'
  | 'delete an ENI rule'
  | 'delete an ENI route'
  | 'lead an ENI route elsewhere'
  | 'flush nftables'
  | 'empty a chain of our table'
  | 'take away the ENI address'
  | 'give the ENI address with its subnet'
  | 'set the ENI link down'
  | 'set another MTU on the ENI'
  | 'turn forwarding off';

/** Things of others that look much like ours. */
export type ForeignThing =
  | 'a rule at our priority'
  | 'a rule with our protocol at another priority'
  | 'a route in table main'
  | 'a route in an ENI table'
  | 'a route with our protocol in a table below ours'
  | 'an nftables table';

export type PodDamage =
  | 'host link deleted'
  | 'host link down'
  | 'host link MTU'
  | 'host route deleted'
  | 'host route elsewhere'
  | 'pod link down'
  | 'pod link MTU'
  | 'pod link MAC'
  | 'pod address deleted'
  | 'pod address added'
  | 'pod neighbour deleted'
  | 'pod link route deleted'
  | 'pod default route deleted'
  | 'pod loopback down';

/** One node's world around a stack. */
export interface NetworkStackWorld {
  readonly stack: NetworkStack;
  /** The clock that the stack lives by; in a simulation, sleeping is what moves it. */
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly hasIpv6: boolean;
  /** A new, empty namespace, as a container runtime makes it. Answers its path. */
  readonly makePodNamespace: () => Promise<string>;
  readonly removePodNamespace: (netnsPath: string) => Promise<void>;
  /** An ENI's link appears, down. Answers its MAC. */
  readonly plugLink: (name: string) => Promise<string>;
  readonly unplugLink: (name: string) => Promise<void>;
  readonly act: (act: OutsideAct) => Promise<void>;
  readonly addForeign: (thing: ForeignThing) => Promise<void>;
  readonly hasForeign: (thing: ForeignThing) => Promise<boolean>;
  /** A route of ours in table PODS that leads to no link. */
  readonly addOrphanRoute: (address: Ip) => Promise<void>;
  readonly damagePod: (damage: PodDamage, pod: PodDatapath) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** The world of the test that runs now. */
export type Current = () => NetworkStackWorld;

export const PREFIX = 'eni';
export const POD_IPV4 = '10.1.0.5' as Ip;
export const POD_IPV6 = '2600:1f18::5' as Ip;
export const OTHER_IP = '10.1.0.77' as Ip;
export const ENI_ADDRESS = '10.1.0.4' as Ip;
export const ENI_GATEWAY = '10.1.0.1' as Ip;
export const PRIMARY_LINK = 'eth0';
export const ENI_LINK = 'eth1';
export const ENI_TABLE = 1002;
export const podAt = (netnsPath: string, over: Partial<PodDatapath> = {}): PodDatapath => ({
  hostLink: 'eni00000000001',
  hostMac: '02:00:00:00:00:01',
  podMac: '02:00:00:00:00:02',
  netnsPath,
  podLink: 'eth0',
  addresses: [POD_IPV4],
  mtu: 9001,
  ...over,
});

const NFT_TABLE_TEXT = `table inet eniwhere {
  chain guard {
    type filter hook prerouting priority raw; policy accept;
    iifname "eni*" fib saddr . iif oif missing counter drop
  }
}
`;

/** A primary and a secondary ENI. */
export const desiredHost = (macs: { readonly primary: string; readonly eni: string }): HostDatapath => ({
  eniLinks: [
    { link: PRIMARY_LINK, mac: macs.primary, mtu: 9001, primary: true, addresses: ['10.0.0.10' as Ip] },
    { link: ENI_LINK, mac: macs.eni, mtu: 9001, primary: false, addresses: [ENI_ADDRESS] },
  ],
  routes: [
    {
      family: 4,
      table: ENI_TABLE,
      destination: 'default',
      via: ENI_GATEWAY,
      link: ENI_LINK,
      onlink: true,
      scopeLink: false,
    },
  ],
  rules: [
    { family: 4, priority: 512, table: 1000 },
    { family: 4, priority: 1536, table: ENI_TABLE, fwmark: { mark: 2, mask: 0x7f } },
  ],
  pods: [],
  sysctls: [{ path: 'net/ipv4/ip_forward', value: '1' }],
  nftTable: NFT_TABLE_TEXT,
});

/** Two ENI links and the desired host over them, applied. */
export async function appliedHost(world: NetworkStackWorld): Promise<HostDatapath> {
  const primary = await world.plugLink(PRIMARY_LINK);
  const eni = await world.plugLink(ENI_LINK);
  const desired = desiredHost({ primary, eni });
  valueOf(await world.stack.applyHost(desired));
  return desired;
}

export function valueOf<T>(outcome: StackOutcome<T>): T {
  assert(outcome.kind === 'ok', `expected ok, got ${JSON.stringify(outcome)}`);
  return outcome.value;
}

export function failureOf(outcome: StackOutcome<unknown>): StackFailure {
  assert(outcome.kind === 'failed', `expected a failure, got ${JSON.stringify(outcome)}`);
  return outcome.failure;
}
