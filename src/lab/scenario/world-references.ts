// Checks of the fixed part of a scenario: ids and names are unique, blocks nest, and what is named exists.

import {
  cidrContains,
  cidrContainsCidr,
  cidrOverlaps,
  cidrPrefixLength,
  parseCidr,
} from '../../domain/address/cidr.ts';
import { INSTANCE_TYPES } from '../../domain/instance/instance-types.ts';
import { checkGroup, checkSubnet, type Complain, oneOf } from './reference-words.ts';
import type { Scenario } from './scenario.ts';
import { checkSettings } from './settings-references.ts';

export function checkWorld(scenario: Scenario, complain: Complain): void {
  checkVpc(scenario, complain);
  checkNodes(scenario, complain);
  checkSettings(scenario.settings, (path, message) => complain(['settings', ...path], message));
  checkUnique(
    scenario.eniConfigs.map(({ name }) => name),
    (index, name) => complain(['eniConfigs', index], `a second ENIConfig named "${name}"`),
  );
  checkUnique(
    scenario.nodeNetworkClasses.map(({ name }) => name),
    (index, name) => complain(['nodeNetworkClasses', index], `a second NodeNetworkClass named "${name}"`),
  );
}

function checkUnique(names: readonly string[], onSecond: (index: number, name: string) => void): void {
  const seen = new Set<string>();
  for (const [index, name] of names.entries()) {
    if (seen.has(name)) onSecond(index, name);
    seen.add(name);
  }
}

/** AWS: a subnet's block is a /16 to a /28. */
const SUBNET_PREFIX_LENGTH_MIN = 16;
const SUBNET_PREFIX_LENGTH_MAX = 28;

function checkVpc(scenario: Scenario, complain: Complain): void {
  const { subnets, securityGroups, cidr, secondaryCidrs } = scenario.vpc;
  const blocks = [cidr, ...secondaryCidrs];
  for (const field of ['id', 'name', 'cidr'] as const)
    checkUnique(
      subnets.map((subnet) => subnet[field]),
      (index, value) =>
        complain(['vpc', 'subnets', index, field], `a second subnet with ${field} "${value}"`),
    );
  for (const field of ['id', 'name'] as const)
    checkUnique(
      securityGroups.map((group) => group[field]),
      (index, value) =>
        complain(['vpc', 'securityGroups', index, field], `a second security group with ${field} "${value}"`),
    );
  for (const [index, subnet] of subnets.entries()) {
    const path = ['vpc', 'subnets', index, 'cidr'];
    const length = cidrPrefixLength(subnet.cidr);
    if (!blocks.some((block) => cidrContainsCidr(block, subnet.cidr)))
      complain(path, `${subnet.cidr} lies outside the VPC (${blocks.join(', ')})`);
    if (length < SUBNET_PREFIX_LENGTH_MIN || length > SUBNET_PREFIX_LENGTH_MAX)
      complain(
        path,
        `${subnet.cidr}: a subnet is a /${SUBNET_PREFIX_LENGTH_MIN} to a /${SUBNET_PREFIX_LENGTH_MAX}`,
      );
    for (const block of subnet.prefixReservations)
      if (!cidrContainsCidr(subnet.cidr, block) || cidrPrefixLength(block) > SUBNET_PREFIX_LENGTH_MAX)
        complain(
          ['vpc', 'subnets', index, 'prefixReservations'],
          `${block} is no block of /${SUBNET_PREFIX_LENGTH_MAX} or larger within ${subnet.cidr}`,
        );
    const other = subnets.slice(0, index).find(({ cidr }) => cidrOverlaps(cidr, subnet.cidr));
    if (other !== undefined && other.cidr !== subnet.cidr)
      complain(path, `${subnet.cidr} overlaps subnet ${other.name} (${other.cidr})`);
  }
  checkIpv6(scenario, complain);
  for (const host of ['internet', 'onPrem'] as const)
    if (blocks.some((block) => cidrContains(block, scenario.hosts[host])))
      complain(['hosts', host], `${scenario.hosts[host]} lies inside the VPC; choose an address outside`);
  for (const [index, group] of securityGroups.entries())
    for (const direction of ['ingress', 'egress'] as const)
      for (const [number, { peer }] of (group[direction] ?? []).entries())
        if (!parseCidr(peer).ok)
          checkGroup(
            scenario,
            peer,
            () => ['vpc', 'securityGroups', index, direction, number, 'peer'],
            complain,
          );
}

/** AWS: a VPC's IPv6 block is a /56, and a subnet's a /64 of it. Other lengths, which AWS takes too, are not played here. */
const VPC_IPV6_LENGTH = 56;
const SUBNET_IPV6_LENGTH = 64;

function checkIpv6({ vpc, hosts }: Scenario, complain: Complain): void {
  const { ipv6Cidr: block, subnets } = vpc;
  if (block !== undefined && cidrPrefixLength(block) !== VPC_IPV6_LENGTH)
    complain(['vpc', 'ipv6Cidr'], `${block}: a VPC's IPv6 block is a /${VPC_IPV6_LENGTH}`);
  if (block !== undefined && cidrContains(block, hosts.internetIpv6))
    complain(
      ['hosts', 'internetIpv6'],
      `${hosts.internetIpv6} lies inside the VPC; choose an address outside`,
    );
  for (const [index, { ipv6Cidr }] of subnets.entries()) {
    const path = ['vpc', 'subnets', index, 'ipv6Cidr'];
    if (ipv6Cidr === undefined) continue;
    if (cidrPrefixLength(ipv6Cidr) !== SUBNET_IPV6_LENGTH)
      complain(path, `${ipv6Cidr}: a subnet's IPv6 block is a /${SUBNET_IPV6_LENGTH}`);
    if (block === undefined || !cidrContainsCidr(block, ipv6Cidr))
      complain(path, `${ipv6Cidr} lies outside the VPC's IPv6 block (${block ?? 'it has none'})`);
    const other = subnets
      .slice(0, index)
      .find((one) => one.ipv6Cidr !== undefined && cidrOverlaps(one.ipv6Cidr, ipv6Cidr));
    if (other !== undefined) complain(path, `${ipv6Cidr} overlaps subnet ${other.name}`);
  }
}

const ZONE_LABEL = 'topology.kubernetes.io/zone';

function checkNodes(scenario: Scenario, complain: Complain): void {
  checkUnique(
    scenario.nodes.map(({ name }) => name),
    (index, name) => complain(['nodes', index, 'name'], `a second node named "${name}"`),
  );
  for (const [index, node] of scenario.nodes.entries()) {
    const types = INSTANCE_TYPES.map(({ instanceType }) => instanceType);
    if (!types.includes(node.type))
      complain(['nodes', index, 'type'], oneOf('instance type', node.type, types));
    checkSubnet(scenario, node.subnet, ['nodes', index, 'subnet'], complain);
    for (const [position, group] of node.securityGroups.entries())
      checkGroup(scenario, group, () => ['nodes', index, 'securityGroups', position], complain);
    const zone = node.labels[ZONE_LABEL];
    const subnet = scenario.vpc.subnets.find(({ id, name }) => id === node.subnet || name === node.subnet);
    if (zone !== undefined && subnet !== undefined && zone !== subnet.zone)
      complain(
        ['nodes', index, 'labels', ZONE_LABEL],
        `node ${node.name} is in zone ${subnet.zone} by its subnet; leave the label out, it is set by itself`,
      );
  }
}
