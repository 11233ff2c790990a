// Makes and keeps the ENIConfigs of classes that name subnets by their tags. Those of others are never touched.

import {
  type ExistingEniConfig,
  isOwnEniConfig,
  type OwnEniConfigPlan,
  planOwnEniConfigs,
  planWithoutClass,
} from '../domain/eniconfig/own-eni-configs.ts';
import { CLASS_LABEL } from '../domain/eniconfig/select-by-class.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClusterOutcome, ClusterWriter, EniConfigRecord } from '../ports/cluster.ts';
import type { Log } from '../ports/log.ts';
import { type ClusterView, isSynced } from './cluster-view.ts';
import type { Ec2View } from './ec2-view.ts';
import { taggedSubnetsOf } from './tagged-subnets.ts';

export interface OwnEniConfigDeps {
  readonly cluster: ClusterWriter;
  readonly clusterView: ClusterView;
  readonly ec2View: Ec2View;
  readonly clock: Clock;
  readonly log: Log;
}

/** Classes, also ones that are gone, for which ENIConfigs have been made. */
export const ownersOf = ({ eniConfigs }: ClusterView): readonly string[] => [
  ...new Set([...eniConfigs.values()].flatMap(({ labels }) => labels[CLASS_LABEL] ?? [])),
];

/** What is to be done for the class `name`, whether or not it is still there. Nothing before all lists have come (RST-1). */
export function planFor(deps: OwnEniConfigDeps, name: string): OwnEniConfigPlan {
  const { clusterView, ec2View, clock } = deps;
  const nothing: OwnEniConfigPlan = { create: [], correct: [], remove: [] };
  if (!isSynced(clusterView)) return nothing;
  const existing = [...clusterView.eniConfigs.values()].map(existingOf);
  const record = clusterView.classes.get(name);
  if (record === undefined) return planWithoutClass(name, existing);
  // What a malformed class means is not known, so what it meant before stays.
  if (record.spec.kind === 'Malformed') return nothing;
  const own = existing.filter((one) => isOwnEniConfig(one, name)).flatMap((one) => one.subnetId ?? []);
  const tagged = taggedSubnetsOf(ec2View, { classRecord: record, existing: own, now: clock.now() });
  return planOwnEniConfigs(record.spec.nodeNetworkClass, existing, tagged);
}

function existingOf({ name, labels, spec }: EniConfigRecord): ExistingEniConfig {
  if (spec.kind === 'Malformed') return { name, labels };
  const { subnetId, securityGroupIds } = spec.eniConfig;
  return { name, labels, subnetId, securityGroupIds };
}

/** Carries the plan out. False: some write failed, and was logged; the watch brings what became of the others. */
export async function carryOut(
  { cluster, clusterView, log }: OwnEniConfigDeps,
  plan: OwnEniConfigPlan,
): Promise<boolean> {
  let wholly = true;
  const note = (what: string, name: string, outcome: ClusterOutcome<unknown>): void => {
    if (outcome.kind === 'ok') {
      log.info(`ENIConfig ${what}`, { eniConfig: name });
      return;
    }
    wholly = false;
    const cause = outcome.kind === 'failed' ? outcome.failure.message : outcome.cause;
    log.warn(`ENIConfig was not ${what}`, { eniConfig: name, cause });
  };
  for (const eniConfig of plan.create)
    note('created', eniConfig.name, await cluster.createEniConfig(eniConfig));
  for (const eniConfig of plan.correct) {
    const record = clusterView.eniConfigs.get(eniConfig.name);
    if (record === undefined) continue;
    note('corrected', eniConfig.name, await cluster.updateEniConfigSpec(record, eniConfig));
  }
  for (const name of plan.remove) {
    const record = clusterView.eniConfigs.get(name);
    if (record !== undefined) note('deleted', name, await cluster.deleteEniConfig(record));
  }
  return wholly;
}
