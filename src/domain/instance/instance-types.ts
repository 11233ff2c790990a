// Limits of instance types, for where DescribeInstanceTypes cannot be asked: the lab, and planning at a desk.

import type { InstanceLimits } from './instance-limits.ts';
import { INSTANCE_TYPE_ROWS } from './instance-type-rows.ts';
import { typesOfRow } from './instance-type-text.ts';

/** The types with their limits, by family and size. */
export const INSTANCE_TYPES: readonly InstanceLimits[] = INSTANCE_TYPE_ROWS.flatMap(typesOfRow);

const BY_NAME: ReadonlyMap<string, InstanceLimits> = new Map(
  INSTANCE_TYPES.map((limits) => [limits.instanceType, limits]),
);

/** Limits of a type of the table; undefined for one that it does not hold. EC2's own answer is right where it differs. */
export const knownLimits = (instanceType: string): InstanceLimits | undefined => BY_NAME.get(instanceType);
