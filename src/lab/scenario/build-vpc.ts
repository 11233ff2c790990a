// Makes the VPC of a scenario in the simulated EC2.

import type { Cidr } from '../../domain/address/ip.ts';
import { parseCidr } from '../../domain/address/cidr.ts';
import { assert, type Result } from '../../domain/result.ts';
import type { Ec2Failure } from '../../ports/ec2.ts';
import type { Ec2Hand } from '../ec2/lab-ec2.ts';
import { EGRESS_ALL, type GroupRule } from '../ec2/security-group.ts';
import { INSTANCE_TYPES } from '../../domain/instance/instance-types.ts';
import { type Scenario, securityGroupOf } from './scenario.ts';
import type { ScenarioRule } from './world-schema.ts';

export async function buildVpc(scenario: Scenario, hand: Ec2Hand): Promise<void> {
  const { id: vpcId, cidr, secondaryCidrs, ipv6Cidr, subnets, securityGroups } = scenario.vpc;
  await hand.setInstanceLimits(INSTANCE_TYPES);
  const cidrs = [cidr, ...secondaryCidrs, ...(ipv6Cidr === undefined ? [] : [ipv6Cidr])];
  made(await hand.createVpc({ vpcId, cidrs }));
  for (const { id, zone, cidr, ipv6Cidr, prefixReservations, tags } of subnets) {
    const ipv6 = ipv6Cidr === undefined ? {} : { ipv6Cidr };
    made(await hand.createSubnet({ subnetId: id, vpcId, zone, cidr, ...ipv6, tags }));
    for (const block of prefixReservations) made(await hand.reserveForPrefixes(id, block));
  }
  // Groups may name each other, so all of them exist before any rule is set.
  for (const { id, name } of securityGroups)
    made(await hand.createSecurityGroup({ securityGroupId: id, vpcId, name }));
  for (const { id, ingress, egress } of securityGroups)
    made(
      await hand.setGroupRules(id, {
        ingress: ingress.map((rule) => groupRule(scenario, rule)),
        egress: egress === undefined ? EGRESS_ALL : egress.map((rule) => groupRule(scenario, rule)),
      }),
    );
  await hand.setFaults(scenario.ec2Faults);
}

function made(result: Result<unknown, Ec2Failure>): void {
  assert(result.ok, `a checked scenario can be built: ${result.ok ? '' : result.error.message}`);
}

function groupRule(scenario: Scenario, { protocol, port, peer }: ScenarioRule): GroupRule {
  const cidr: Result<Cidr, string> = parseCidr(peer);
  return {
    protocol,
    ...(port === undefined ? {} : { ports: { from: port.first, to: port.last } }),
    peer: cidr.ok
      ? { kind: 'Cidr', cidr: cidr.value }
      : { kind: 'Group', securityGroupId: securityGroupOf(scenario, peer).id },
  };
}
