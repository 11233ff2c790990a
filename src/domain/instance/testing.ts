// For tests: limits of instance types.

import assert from 'node:assert/strict';
import type { InstanceLimits } from './instance-limits.ts';
import { knownLimits } from './instance-types.ts';

export function limitsOf(instanceType: string): InstanceLimits {
  const found = knownLimits(instanceType);
  assert.ok(found !== undefined, instanceType);
  return found;
}

/** Three ENIs of ten addresses, on Nitro. */
export const M5_LARGE: InstanceLimits = limitsOf('m5.large');
