// The ENIConfigs that are made for a class with subnet tags.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { SecurityGroupId, SubnetId } from '../ids.ts';
import { anyLabels } from './label-selector.ts';
import type { NodeNetworkClass } from './node-network-class.ts';
import {
  type ExistingEniConfig,
  isOwnEniConfig,
  planOwnEniConfigs,
  planWithoutClass,
} from './own-eni-configs.ts';
import { CLASS_LABEL } from './select-by-class.ts';

const GROUP = 'sg-00000001' as SecurityGroupId;
const id = (n: number): SubnetId => `subnet-0000000${n}` as SubnetId;

const prod: NodeNetworkClass = {
  name: 'prod',
  priority: 0,
  match: { nodeSelector: anyLabels },
  candidates: { kind: 'SubnetTags', tags: { pods: 'prod' }, securityGroupIds: [GROUP] },
  strategy: 'First',
  fallback: 'None',
  overrides: {},
};

const own = (n: number, change: Partial<ExistingEniConfig> = {}): ExistingEniConfig => ({
  name: `prod.0000000${n}`,
  labels: { [CLASS_LABEL]: 'prod' },
  subnetId: id(n),
  securityGroupIds: [GROUP],
  ...change,
});
const foreign: ExistingEniConfig = {
  name: 'prod.00000003',
  labels: {},
  subnetId: id(3),
  securityGroupIds: [],
};

describe('[SEL-14] the ENIConfigs of a class with subnet tags', () => {
  it('one is made per subnet, one that was changed is corrected, one whose subnet is lost is removed', () => {
    const changed = own(2, { securityGroupIds: [] });
    const plan = planOwnEniConfigs(prod, [changed, own(4)], {
      kind: 'Known',
      found: [id(1), id(2)],
      lately: new Set(),
    });
    assert.deepEqual(
      plan.create.map(({ name }) => name),
      ['prod.00000001'],
    );
    assert.deepEqual(
      plan.correct.map(({ name, securityGroupIds }) => [name, securityGroupIds]),
      [['prod.00000002', [GROUP]]],
    );
    assert.deepEqual(plan.remove, ['prod.00000004']);
  });

  it('one whose subnet was seen lately stays, and so do all when no subnet is left', () => {
    const lately = planOwnEniConfigs(prod, [own(1), own(4)], {
      kind: 'Known',
      found: [id(1)],
      lately: new Set([id(4)]),
    });
    assert.deepEqual(lately.remove, []);
    const nothing = planOwnEniConfigs(prod, [own(1)], { kind: 'Known', found: [], lately: new Set() });
    assert.deepEqual(nothing.remove, []);
    assert.match(
      nothing.problem ?? '',
      /no subnet carries its tags; the ENIConfigs that were made for it stay/,
    );
  });

  it('one of somebody else’s with the same name is left alone and told', () => {
    const plan = planOwnEniConfigs(prod, [foreign], { kind: 'Known', found: [id(3)], lately: new Set() });
    assert.deepEqual([plan.create, plan.correct, plan.remove], [[], [], []]);
    assert.match(plan.problem ?? '', /"prod\.00000003" is there and has no label/);
  });

  it('nothing is done before EC2 has answered', () => {
    assert.deepEqual(planOwnEniConfigs(prod, [own(1)], { kind: 'Unknown' }).remove, []);
  });

  it('only own ones are ever corrected or removed', () => {
    const existing = fc.array(
      fc.record({
        name: fc.constantFrom('prod.00000001', 'prod.00000002', 'zone-a', 'other.00000001'),
        labels: fc.constantFrom<Record<string, string>>(
          {},
          { [CLASS_LABEL]: 'prod' },
          { [CLASS_LABEL]: 'other' },
        ),
        subnetId: fc.constantFrom(id(1), id(2)),
        securityGroupIds: fc.constantFrom<SecurityGroupId[]>([], [GROUP]),
      }),
    );
    const found = fc.subarray([id(1), id(2)]);
    fc.assert(
      fc.property(existing, found, fc.boolean(), (list, subnets, isGone) => {
        const all = [...new Map(list.map((one) => [one.name, one])).values()];
        const plan = isGone
          ? planWithoutClass('prod', all)
          : planOwnEniConfigs(prod, all, { kind: 'Known', found: subnets, lately: new Set() });
        const ownNames: readonly string[] = all
          .filter((one) => isOwnEniConfig(one, 'prod'))
          .map(({ name }) => name);
        for (const name of [...plan.remove, ...plan.correct.map((one) => one.name)])
          assert.ok(ownNames.includes(name), name);
        for (const { name } of plan.create) assert.ok(!all.some((one) => one.name === name));
      }),
      { seed: 20_261, numRuns: 1000 },
    );
  });
});
