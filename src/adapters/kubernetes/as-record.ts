// Reads the object that a write has answered.

import type { ClusterOutcome, Kind, KindMap } from '../../ports/cluster.ts';
import { done, unknown } from '../../ports/outcome.ts';
import { resourceOf } from './resources.ts';

/** The write has happened; an answer that cannot be read leaves open only what the object looks like now. */
export function asRecord<K extends Kind>(
  kind: K,
  outcome: ClusterOutcome<unknown>,
): ClusterOutcome<KindMap[K]> {
  if (outcome.kind !== 'ok') return outcome;
  const read = resourceOf(kind).read(outcome.value);
  if (read.ok) return done(read.value);
  const { name, field, message } = read.error;
  return unknown(`${kind} "${name}" was written, but the answer cannot be read: ${field}: ${message}`);
}
