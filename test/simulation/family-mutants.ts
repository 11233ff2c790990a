// Mistakes with IPv6 planted into the product: see mutants.ts.

import type { Mutant } from './mutants.ts';

export const FAMILY_MUTANTS: readonly Mutant[] = [
  {
    name: 'ENIs that were made before their pods had IPv6 get no /80',
    edits: [
      {
        file: 'domain/ipam/plan-ipv6.ts',
        find: 'const ready = lacking.filter(({ eni }) => (eni.heldUntil ?? 0) <= view.now);',
        replace: 'const ready = lacking.filter(({ eni }) => (eni.heldUntil ?? 0) > Infinity);',
      },
    ],
    faults: 'node.ipv6=true,workload.familiesOdds=0.05,person.ipv6UnassignmentsPerHour=30',
    seedCount: 10,
  },
  {
    name: 'a /80 is asked for again before it is known what became of the first call',
    edits: [
      {
        file: 'controller/execute.ts',
        find: "family: 6, count: 1 });\n      if (outcome.kind === 'unknown')",
        replace: "family: 6, count: 1 });\n      if (outcome.kind !== 'unknown')",
      },
    ],
    faults: 'node.ipv6=true,workload.familiesOdds=0.05,ec2.lostAnswerOdds=0.3',
    seedCount: 40,
  },
  {
    name: 'a pod gets IPv4 alone where its ENI has no /80 yet',
    edits: [
      {
        file: 'domain/ipam/pod-addresses.ts',
        find: 'return prefix && { granted, addressesOf: (ip) => [ip, ipv6AddressOf(prefix, ip)] };',
        replace:
          'return { granted, addressesOf: (ip) => (prefix === undefined ? [ip] : [ip, ipv6AddressOf(prefix, ip)]) };',
      },
    ],
    faults:
      'node.ipv6=true,workload.familiesOdds=0.05,person.ipv6UnassignmentsPerHour=30,ec2.lostAnswerOdds=0.3,workload.burstOdds=0.4',
    seedCount: 20,
  },
  {
    name: 'a subnet without an IPv6 block serves pods that are to have IPv6',
    edits: [
      {
        file: 'domain/eniconfig/family-needs.ts',
        find: "if (!families.includes('IPv6')) return views;",
        replace: 'if (families.length > 0) return views;',
      },
    ],
    faults: 'node.ipv6=true,workload.ipv6BlockOdds=0.1',
    seedCount: 10,
  },
  {
    name: 'what pods without IPv4 have is granted no more as soon as others get IPv4',
    edits: [
      {
        file: 'domain/ipam/pool.ts',
        find: 'return [...left, ...[...used, ...cooling].filter(isLost)];',
        replace: 'return left.filter((ip) => used.has(ip) && isLost(ip));',
      },
    ],
    faults: 'node.ipv6=true,node.ipv6Only=true,workload.familiesOdds=0.05',
    seedCount: 10,
  },
];
