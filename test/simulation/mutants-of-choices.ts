// Mistakes planted into what decides for a node which ENIConfig it gets, and whether any.

import type { Mutant } from './mutants.ts';

export const MUTANTS_OF_CHOICES: readonly Mutant[] = [
  {
    name: 'a node goes to the emptiest subnet at any time',
    edits: [
      {
        file: 'domain/eniconfig/class-strategy.ts',
        find: 'const moves = present.free < SCARCE_FREE_COUNT && isWorthIt;',
        replace: 'const moves = isWorthIt || best.left > present.left;',
      },
    ],
    faults: 'workload.classOdds=0.02,workload.burstOdds=0.4,workload.massDeletionOdds=0.02',
    seedCount: 120,
  },
  {
    name: 'an ENIConfig of another VPC is used',
    edits: [
      {
        file: 'domain/eniconfig/select-eni-config.ts',
        find: 'if (view.subnet.vpcId !== node.vpcId) return inOtherVpc(choice, view, context);',
        replace: "if (view.subnet.vpcId === '') return inOtherVpc(choice, view, context);",
      },
    ],
    faults: 'workload.mistakeOdds=0.2,workload.burstOdds=0.4',
    seedCount: 20,
  },
  {
    name: "where a class's ENIConfig is broken its fallback holds",
    edits: [
      {
        file: 'domain/eniconfig/select-by-class.ts',
        find: 'if (invalid !== undefined || missing !== undefined) {',
        replace: 'if (missing !== undefined) {',
      },
    ],
    faults: 'workload.mistakeOdds=0.2,workload.classOdds=0.2',
    seedCount: 40,
  },
  {
    name: 'a node that is to be left alone is not',
    edits: [
      {
        file: 'controller/snapshot.ts',
        find: "if (node.labels[MANAGED_LABEL] === 'false')",
        replace: "if (node.labels[MANAGED_LABEL] === 'never')",
      },
    ],
    faults: 'workload.optOutOdds=0.1,workload.annotationOdds=0.2,workload.burstOdds=0.4',
    seedCount: 10,
  },
];
