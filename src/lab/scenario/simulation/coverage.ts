// Which faults met the world in which states: a fault that never fell into a withdrawal has proven nothing about it.

import type { EniConfigRecord, NodeNetworkRecord } from '../../../ports/cluster.ts';
import { isDualStack } from '../../../domain/address/families.ts';
import { CLASS_LABEL } from '../../../domain/eniconfig/select-by-class.ts';
import { isOptedOut } from '../../checkers/opt-out-checker.ts';
import type { SimCluster } from '../../cluster/sim-cluster.ts';
import type { SimEc2 } from '../../ec2/sim-ec2.ts';
import { FAULT_ROWS, faultName } from '../../faults/fault-table.ts';

/** `fault state` -> how often the fault struck while the world was in the state. */
export type Coverage = ReadonlyMap<string, number>;

interface Facts {
  readonly records: readonly NodeNetworkRecord[];
  readonly eniConfigs: readonly EniConfigRecord[];
  readonly attachments: ReadonlySet<string>;
  readonly isSubnetFull: boolean;
  readonly isLeftAlone: boolean;
}

/** What the world may be in the middle of, from the widest to the rarest. */
const STATES: Readonly<Record<string, (facts: Facts) => boolean>> = {
  'an intent is open': ({ records }) => records.some(({ spec }) => spec.intents.length > 0),
  'an ENI is attaching': ({ attachments }) => attachments.has('attaching'),
  'an ENI is detaching': ({ attachments }) => attachments.has('detaching'),
  'an ENI is attached to nothing': ({ attachments }) => attachments.has('none'),
  'an address is being withdrawn': ({ records }) =>
    records.some(({ spec, status }) =>
      spec.enis.some((eni) => eni.withdrawing.some((ip) => !status.withdrawn.includes(ip))),
    ),
  'an address is withdrawn': ({ records }) => records.some(({ status }) => status.withdrawn.length > 0),
  'an address rests': ({ records }) => records.some(({ status }) => status.cooling.length > 0),
  'an ENI is cordoned': ({ records }) => records.some(({ spec }) => spec.enis.some((eni) => eni.cordoned)),
  'a choice is wrong': ({ records }) => records.some(({ spec }) => spec.selection.kind === 'None'),
  'a subnet is full': ({ isSubnetFull }) => isSubnetFull,
  'a class chooses': ({ records }) => records.some(({ spec }) => spec.selection.source === 'Class'),
  'a node has ENIs for pods that chose': ({ records }) =>
    records.some(({ spec }) => spec.enis.some((eni) => eni.chosenOnly === true)),
  "a pod's choice is refused": ({ records }) =>
    records.some(({ spec }) => spec.choosing?.pods.some(({ kind }) => kind === 'Refused') === true),
  'an ENIConfig is missing': ({ eniConfigs }) =>
    eniConfigs.filter(({ labels }) => labels[CLASS_LABEL] === undefined).length < ENI_CONFIG_COUNT,
  'an ENIConfig is wrong': ({ eniConfigs }) => eniConfigs.some(({ status }) => status?.ready === false),
  'a node is to be left alone': ({ isLeftAlone }) => isLeftAlone,
  'pods get both address families': ({ records }) =>
    records.some(({ spec }) => isDualStack(spec.addressFamilies)),
  'pods get IPv6 addresses alone': ({ records }) =>
    records.some(({ spec }) => !spec.addressFamilies.includes('IPv4')),
  'a pod lives': ({ records }) => records.some(({ status }) => status.used.length > 0),
};
const ENI_CONFIG_COUNT = 4;

/** Faults that strike at a moment; the others are sizes of these, or last the whole run. */
const STRIKING = FAULT_ROWS.filter(
  ({ unit, field }) => unit === 'odds' || unit === 'per hour' || field.includes('Skew'),
).map(faultName);

export interface CoverageRecorder {
  /** The fault of that name strikes now. */
  struck(fault: string): void;
  counts(): Coverage;
}

export function createCoverage(ec2: SimEc2, cluster: SimCluster): CoverageRecorder {
  // fault -> how often it struck in each of the states, in their order
  const counts = new Map<string, number[]>();
  const facts = (): Facts => ({
    records: cluster.admin.list('NodeNetwork'),
    eniConfigs: cluster.admin.list('EniConfig'),
    attachments: new Set(ec2.truth.enis().map(({ attachment }) => attachment?.status ?? 'none')),
    isLeftAlone: cluster.admin.list('Node').some(isOptedOut),
    isSubnetFull: ec2.truth.subnets().some(({ freeAddressCount }) => freeAddressCount === 0),
  });
  // Faults strike far more often than anything changes.
  let known: readonly number[] | undefined;
  const forget = (): void => {
    known = undefined;
  };
  ec2.onChange(forget);
  cluster.admin.onChange(forget);
  const statesNow = (): readonly number[] => {
    const now = facts();
    return Object.values(STATES).flatMap((holds, index) => (holds(now) ? [index] : []));
  };
  return {
    struck: (fault) => {
      known ??= statesNow();
      let ofFault = counts.get(fault);
      if (ofFault === undefined) counts.set(fault, (ofFault = []));
      for (const state of known) ofFault[state] = (ofFault[state] ?? 0) + 1;
    },
    counts: () => new Map([...counts].flatMap(([fault, ofFault]) => pairsOf(fault, ofFault))),
  };
}

const pairsOf = (fault: string, counts: readonly number[]): readonly (readonly [string, number])[] =>
  Object.keys(STATES).flatMap((state, index) => {
    const count = counts[index] ?? 0;
    return count === 0 ? [] : [[pairOf(fault, state), count] as const];
  });

const pairOf = (fault: string, state: string): string => `${fault}: ${state}`;

/** Pairs of a fault and a state that never came together, in the order of the tables. */
export const unmetPairs = (coverage: Coverage): readonly string[] =>
  STRIKING.flatMap((fault) => Object.keys(STATES).map((state) => pairOf(fault, state))).filter(
    (pair) => !coverage.has(pair),
  );

/** How many pairs there are. */
export const pairCount = (): number => STRIKING.length * Object.keys(STATES).length;
