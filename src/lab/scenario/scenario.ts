// A whole scenario, as read from its file and checked.

import { z } from 'zod';
import { assert } from '../../domain/result.ts';
import { closed } from './schema-words.ts';
import { step } from './step-schema.ts';
import { type ScenarioSecurityGroup, type ScenarioSubnet, worldShape } from './world-schema.ts';

export const scenarioSchema = closed({
  ...worldShape,
  steps: z.array(step).default([]),
});

export type Scenario = z.output<typeof scenarioSchema>;

/** The subnet that a checked scenario calls `ref`, by name or id. */
export function subnetOf(scenario: Scenario, ref: string): ScenarioSubnet {
  const found = scenario.vpc.subnets.find((subnet) => subnet.name === ref || subnet.id === ref);
  assert(found !== undefined, `the scenario's references are checked: subnet ${ref}`);
  return found;
}

/** The security group that a checked scenario calls `ref`, by name or id. */
export function securityGroupOf(scenario: Scenario, ref: string): ScenarioSecurityGroup {
  const found = scenario.vpc.securityGroups.find((group) => group.name === ref || group.id === ref);
  assert(found !== undefined, `the scenario's references are checked: security group ${ref}`);
  return found;
}
