// Launches the instance of a scenario's node.

import type { Ec2Instance } from '../../ports/ec2.ts';
import type { Ec2Hand } from '../ec2/lab-ec2.ts';
import { type Scenario, securityGroupOf, subnetOf } from './scenario.ts';
import type { ScenarioNode } from './world-schema.ts';

/** Rejects with EC2's words when it refuses: the subnet may be full by then. */
export async function launchInstanceOf(
  scenario: Scenario,
  wanted: ScenarioNode,
  hand: Ec2Hand,
): Promise<Ec2Instance> {
  const launched = await hand.launchInstance({
    instanceType: wanted.type,
    subnetId: subnetOf(scenario, wanted.subnet).id,
    securityGroupIds: wanted.securityGroups.map((ref) => securityGroupOf(scenario, ref).id),
  });
  if (!launched.ok) throw new Error(`node ${wanted.name} cannot be launched: ${launched.error.message}`);
  return launched.value;
}
