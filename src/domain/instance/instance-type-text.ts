// The shipped form of the table of instance types: a line of text per family, a word per size.

import type { InstanceLimits } from './instance-limits.ts';

/**
 * `c6in large:3x10/2 32xlarge:8x50/128,cards=2`: 3 ENIs of 10 addresses and 2 vCPUs; the ENIs are those of network card 0.
 * Behind a comma stands what is not usual: more network cards than one, `xen`, `metal`, another number of IPv6 addresses.
 */
const WORD = /^([^:]+):(\d+)x(\d+)\/(\d+)((?:,[a-z0-9=]+)*)$/;

/** Rows by family, sizes by vCPUs, both otherwise by code units. */
export function instanceTypeRows(types: readonly InstanceLimits[]): readonly string[] {
  const families = new Map<string, InstanceLimits[]>();
  for (const limits of types) {
    const { family } = nameParts(limits.instanceType);
    families.set(family, [...(families.get(family) ?? []), limits]);
  }
  return [...families]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([family, sizes]) => [family, ...sizes.sort(bySize).map(wordOf)].join(' '));
}

const bySize = (a: InstanceLimits, b: InstanceLimits): number =>
  a.vcpuCount - b.vcpuCount || (a.instanceType < b.instanceType ? -1 : 1);

function nameParts(instanceType: string): { readonly family: string; readonly size: string } {
  const dot = instanceType.indexOf('.');
  return { family: instanceType.slice(0, dot), size: instanceType.slice(dot + 1) };
}

function wordOf(limits: InstanceLimits): string {
  const { eniMax, ipv4PerEniMax, ipv6PerEniMax, networkCardCount, hypervisor, vcpuCount } = limits;
  return [
    `${nameParts(limits.instanceType).size}:${eniMax}x${ipv4PerEniMax}/${vcpuCount}`,
    ...(networkCardCount === 1 ? [] : [`cards=${networkCardCount}`]),
    ...(hypervisor === 'nitro' ? [] : [hypervisor]),
    ...(ipv6PerEniMax === ipv4PerEniMax ? [] : [`ipv6=${ipv6PerEniMax}`]),
  ].join(',');
}

/** The types of one row; words that cannot be read are left out, and a test finds that there are none. */
export function typesOfRow(row: string): readonly InstanceLimits[] {
  const [family = '', ...words] = row.split(' ');
  return words.flatMap((word) => {
    const [, size, enis, addresses, vcpus, unusual = ''] = WORD.exec(word) ?? [];
    if (size === undefined) return [];
    const marks = new Map(
      unusual.split(',').map((mark) => [mark.split('=')[0] ?? '', mark.split('=')[1]] as const),
    );
    const ipv4PerEniMax = Number(addresses);
    return [
      {
        instanceType: `${family}.${size}`,
        eniMax: Number(enis),
        ipv4PerEniMax,
        ipv6PerEniMax: Number(marks.get('ipv6') ?? ipv4PerEniMax),
        networkCardCount: Number(marks.get('cards') ?? 1),
        hypervisor: marks.has('xen') ? 'xen' : marks.has('metal') ? 'metal' : 'nitro',
        vcpuCount: Number(vcpus),
      },
    ];
  });
}
