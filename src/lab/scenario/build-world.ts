// Makes the VPC of a scenario in the simulated EC2, and its ENIConfigs in the simulated cluster.

import type { Cidr } from '../../domain/address/ip.ts';
import { parseCidr } from '../../domain/address/cidr.ts';
import { assert, type Result } from '../../domain/result.ts';
import type { Ec2Failure } from '../../ports/ec2.ts';
import type { SimCluster } from '../cluster/sim-cluster.ts';
import type { SimEc2 } from '../ec2/sim-ec2.ts';
import { EGRESS_ALL, type GroupRule } from '../ec2/security-group.ts';
import { INSTANCE_TYPES } from '../../domain/instance/instance-types.ts';
import { applyEniConfig, applyNodeNetworkClass } from './perform.ts';
import { type Scenario, securityGroupOf } from './scenario.ts';
import type { ScenarioRule } from './world-schema.ts';

export function buildWorld(scenario: Scenario, ec2: SimEc2, cluster: SimCluster): void {
  const { id: vpcId, cidr, secondaryCidrs, subnets, securityGroups } = scenario.vpc;
  const { admin } = ec2;
  admin.setInstanceLimits(INSTANCE_TYPES);
  made(admin.createVpc({ vpcId, cidrs: [cidr, ...secondaryCidrs] }));
  for (const { id, zone, cidr } of subnets) made(admin.createSubnet({ subnetId: id, vpcId, zone, cidr }));
  // Groups may name each other, so all of them exist before any rule is set.
  for (const { id, name } of securityGroups)
    made(admin.createSecurityGroup({ securityGroupId: id, vpcId, name }));
  for (const { id, ingress, egress } of securityGroups)
    made(
      admin.setGroupRules(id, {
        ingress: ingress.map((rule) => groupRule(scenario, rule)),
        egress: egress === undefined ? EGRESS_ALL : egress.map((rule) => groupRule(scenario, rule)),
      }),
    );
  for (const manifest of scenario.eniConfigs) applyEniConfig({ cluster }, manifest);
  for (const manifest of scenario.nodeNetworkClasses) applyNodeNetworkClass({ cluster }, manifest);
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
