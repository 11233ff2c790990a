// One object, from the API server itself.

import type { ClusterOutcome, Kind, KindMap } from '../../ports/cluster.ts';
import { done, failed } from '../../ports/outcome.ts';
import type { ApiClient } from './api-client.ts';
import { objectPath, resourceOf } from './resources.ts';

/** `ok` with `undefined` means: certainly not there. One that cannot be read is `invalid`, never absent. */
export async function getObject<K extends Kind>(
  api: ApiClient,
  kind: K,
  name: string,
): Promise<ClusterOutcome<KindMap[K] | undefined>> {
  const path = objectPath(kind, name);
  if (!path.ok) return failed({ kind: 'invalid', message: path.error });
  const { kindName, plural, read } = resourceOf(kind);
  const outcome = await api.find({ what: `read ${kindName} "${name}"`, path: path.value });
  if (outcome.kind !== 'ok') {
    // The object's own absence is an answer; this is one of the path.
    return outcome.kind === 'failed' && outcome.failure.kind === 'not-found'
      ? failed({
          kind: 'unavailable',
          message: `the API server does not know ${plural}, so "${name}" cannot be read; apply its CRD`,
        })
      : outcome;
  }
  if (outcome.value === undefined) return done(undefined);
  const record = read(outcome.value);
  if (record.ok) return done(record.value);
  const { field, message } = record.error;
  return failed({ kind: 'invalid', message: `${kindName} "${name}" cannot be read: ${field}: ${message}` });
}
