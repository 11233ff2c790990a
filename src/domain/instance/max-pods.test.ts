// Max pods: the published values, the cap, and the sum that is shown.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { InstanceLimits } from './instance-limits.ts';
import { INSTANCE_TYPE_ROWS, INSTANCE_TYPES_AS_OF } from './instance-type-rows.ts';
import { instanceTypeRows } from './instance-type-text.ts';
import { INSTANCE_TYPES, knownLimits } from './instance-types.ts';
import { type MaxPodsInput, maxPods } from './max-pods.ts';
import { podEniMax, slotsPerEni } from './slots.ts';

function limits(instanceType: string): InstanceLimits {
  const found = knownLimits(instanceType);
  assert.ok(found !== undefined, instanceType);
  return found;
}

const of = (
  instanceType: string,
  options: Partial<Omit<MaxPodsInput, 'limits'>> = {},
): ReturnType<typeof maxPods> =>
  maxPods({ limits: limits(instanceType), customNetworking: false, prefix: false, ...options });

describe('maxPods [K8S-1]', () => {
  const rows: readonly [type: string, plain: number, custom: number, cappedCustom: number][] = [
    ['a1.medium', 8, 5, 5],
    ['t2.medium', 17, 12, 12],
    ['t3.small', 11, 8, 8],
    ['t3.medium', 17, 12, 12],
    ['t3.2xlarge', 58, 44, 44],
    ['m5.large', 29, 20, 20],
    ['c5.large', 29, 20, 20],
    ['c5.xlarge', 58, 44, 44],
    ['c5.4xlarge', 234, 205, 110],
    ['c5.18xlarge', 737, 688, 250],
    ['m5.24xlarge', 737, 688, 250],
    ['m6g.medium', 8, 5, 5],
  ];
  for (const [type, plain, custom, capped] of rows) {
    it(`${type} has addresses for ${plain} pods, ${custom} under custom networking, and runs ${capped} then`, () => {
      assert.equal(of(type).addressSum, plain);
      assert.equal(of(type, { customNetworking: true }).addressSum, custom);
      assert.equal(of(type, { customNetworking: true }).maxPods, capped);
    });
  }

  it('has 16 addresses in each slot with prefixes, and the ceiling decides', () => {
    const { addressSum, maxPods: capped } = of('c5.xlarge', { customNetworking: true, prefix: true });
    assert.deepEqual([addressSum, capped], [674, 110]);
    assert.equal(of('r8gd.medium', { prefix: true }).maxPods, 98);
  });

  it('knows that xen instances have no prefixes, and says so', () => {
    const { maxPods: capped, explanation } = of('t2.medium', { prefix: true });
    assert.equal(capped, 17);
    assert.match(explanation, /its hypervisor \(xen\) has no prefixes/);
  });

  it('takes further reserved ENIs off, such as a trunk', () => {
    assert.equal(of('m6i.large', { furtherReservedEniCount: 1 }).maxPods, 20);
    assert.equal(of('m5.large', { customNetworking: true, furtherReservedEniCount: 1 }).maxPods, 11);
    assert.equal(of('a1.medium', { customNetworking: true, furtherReservedEniCount: 5 }).maxPods, 2);
  });

  it('caps at 110 below 30 vCPUs and at 250 from there up', () => {
    for (const [vcpuCount, cap] of [
      [29, 110],
      [30, 250],
      [31, 250],
    ] as const) {
      const found = maxPods({
        limits: { ...limits('c5.18xlarge'), vcpuCount },
        customNetworking: false,
        prefix: false,
      });
      assert.deepEqual([found.cap, found.maxPods], [cap, cap]);
    }
  });

  it('writes the sum out', () => {
    assert.equal(
      of('m5.large', { customNetworking: true }).explanation,
      'm5.large: (3 ENIs - 1 reserved) x (10 addresses - 1) + 2 on the host network = 20; ' +
        'the ceiling for 2 vCPUs is 110; so 20',
    );
    assert.equal(
      of('c5.18xlarge', { prefix: true }).explanation,
      'c5.18xlarge: 15 ENIs x (50 addresses - 1) x 16 + 2 on the host network = 11762; ' +
        'the ceiling for 72 vCPUs is 250; so 250',
    );
  });

  it('counts a /80 per ENI where pods have IPv6 only, in either mode', () => {
    for (const prefix of [false, true])
      assert.equal(
        of('m5.large', { customNetworking: true, prefix, ipv6Only: true }).explanation,
        'm5.large: (3 ENIs - 1 reserved) x 256 addresses of an IPv6 prefix + 2 on the host network = 514; ' +
          'the ceiling for 2 vCPUs is 110; so 110',
      );
  });

  it('never promises more pods than there are addresses and host-network pods', () => {
    const anyType = fc.constantFrom(...INSTANCE_TYPES);
    fc.assert(
      fc.property(
        anyType,
        fc.boolean(),
        fc.boolean(),
        fc.nat({ max: 20 }),
        (type, customNetworking, prefix, further) => {
          const found = maxPods({ limits: type, customNetworking, prefix, furtherReservedEniCount: further });
          const enis = Math.max(0, type.eniMax - (customNetworking ? 1 : 0) - further);
          const addresses = enis * (type.ipv4PerEniMax - 1) * (prefix ? 16 : 1);
          assert.ok(found.maxPods <= addresses + 2 && found.maxPods <= found.cap && found.maxPods >= 2);
          const withoutFurther = maxPods({ limits: type, customNetworking, prefix });
          assert.ok(found.maxPods <= withoutFurther.maxPods);
        },
      ),
      { seed: 20_271 },
    );
  });
});

describe('slots', () => {
  it('are the addresses of an ENI without its own, on all ENIs but the primary', () => {
    assert.equal(slotsPerEni(limits('m5.large')), 9);
    assert.equal(podEniMax(limits('m5.large')), 2);
  });
});

describe('the table of instance types', () => {
  it('holds each type once, with its month', () => {
    const names = INSTANCE_TYPES.map(({ instanceType }) => instanceType);
    assert.equal(new Set(names).size, names.length);
    assert.match(INSTANCE_TYPES_AS_OF, /^\d{4}-\d{2}$/);
  });

  it('does not know types that are not in it', () => {
    assert.equal(knownLimits('m99.mega'), undefined);
    assert.equal(knownLimits('constructor'), undefined);
  });

  it('holds what the generator would write of it, so no word is lost on the way', () => {
    assert.deepEqual(instanceTypeRows(INSTANCE_TYPES), INSTANCE_TYPE_ROWS);
    assert.equal(
      INSTANCE_TYPES.length,
      INSTANCE_TYPE_ROWS.join(' ').split(' ').length - INSTANCE_TYPE_ROWS.length,
    );
    assert.ok(INSTANCE_TYPES.length > 1000);
  });

  // https://docs.aws.amazon.com/ec2/latest/instancetypes/: the figures of single types.
  const rows: readonly [type: string, eniMax: number, ipv4: number, cards: number, hypervisor: string][] = [
    ['t2.medium', 3, 6, 1, 'xen'],
    ['d3en.xlarge', 4, 3, 1, 'nitro'],
    ['p4d.24xlarge', 15, 50, 4, 'nitro'],
    ['p5.48xlarge', 2, 50, 32, 'nitro'],
    ['hpc6id.32xlarge', 1, 50, 2, 'nitro'],
    ['m5.metal', 15, 50, 1, 'metal'],
    ['c5n.9xlarge', 8, 30, 1, 'nitro'],
  ];
  for (const [type, eniMax, ipv4, cards, hypervisor] of rows)
    it(`has ${type} with ${eniMax} ENIs of ${ipv4} addresses on card 0 of ${cards}`, () => {
      const found = limits(type);
      assert.deepEqual(
        [found.eniMax, found.ipv4PerEniMax, found.networkCardCount, found.hypervisor],
        [eniMax, ipv4, cards, hypervisor],
      );
    });

  it('holds only figures that can be', () => {
    for (const { instanceType, eniMax, ipv4PerEniMax, vcpuCount } of INSTANCE_TYPES) {
      assert.ok(eniMax >= 1 && eniMax <= 24, instanceType);
      assert.ok(ipv4PerEniMax >= 2 && ipv4PerEniMax <= 64, instanceType);
      assert.ok(vcpuCount >= 1 && vcpuCount <= 960, instanceType);
    }
  });
});
