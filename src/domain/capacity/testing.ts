// Builders for tests of capacity: every option that is set matters to the test.

import { cidr } from '../address/testing.ts';
import { limitsOf } from '../instance/testing.ts';
import type { PlannedGroup, PlannedSubnet } from './model.ts';

export const subnet = (name: string, block: string, with_: Partial<PlannedSubnet> = {}): PlannedSubnet => ({
  name,
  zone: 'a',
  cidr: cidr(block),
  for: 'pods',
  otherCount: 0,
  ...with_,
});

export const group = (with_: Partial<PlannedGroup> & { readonly type?: string } = {}): PlannedGroup => {
  const { type = 'm5.large', ...rest } = with_;
  return {
    name: 'workers',
    limits: limitsOf(type),
    zones: ['a'],
    eniConfigs: [],
    strategy: 'MostFree',
    mode: 'SecondaryIP',
    targets: { warmEni: 1, warmPrefix: 1 },
    nodeCount: 0,
    podsPerNode: 10,
    ...rest,
  };
};
