// Puts what EC2 says beside each ENIConfig, so that a mistake shows where it was made.

import type { EniConfigView } from '../domain/eniconfig/eni-config.ts';
import { type Ec2Answer, resolveEniConfig as resolve } from '../domain/eniconfig/resolve-eni-config.ts';
import type { EniConfigRecord } from '../ports/cluster.ts';
import type { ClusterView } from './cluster-view.ts';
import { type Ec2View, type Known, knownValue } from './ec2-view.ts';

/** Every ENIConfig of the cluster by name, with what EC2 says of it. */
export const resolveEniConfigs = (cluster: ClusterView, view: Ec2View): ReadonlyMap<string, EniConfigView> =>
  new Map([...cluster.eniConfigs.values()].map((record) => [record.name, resolveEniConfig(record, view)]));

/** Resolves one ENIConfig against the view. */
export const resolveEniConfig = (record: EniConfigRecord, view: Ec2View): EniConfigView =>
  resolve(record, {
    subnet: (id) => answerOf(view.subnets, id, (subnet) => subnet),
    groupVpc: (id) => answerOf(view.groups, id, (group) => group.vpcId),
  });

function answerOf<Id, T, A>(known: ReadonlyMap<Id, Known<T>>, id: Id, read: (value: T) => A): Ec2Answer<A> {
  if (!known.has(id)) return { kind: 'Unanswered' };
  const value = knownValue(known, id);
  return value === undefined ? { kind: 'Gone' } : { kind: 'Known', value: read(value) };
}
