// Server-side apply of one part of an object, over the very version that the part was decided on.
// https://kubernetes.io/docs/reference/using-api/server-side-apply/

import type { ClusterOutcome, KindMap } from '../../ports/cluster.ts';
import { failed } from '../../ports/outcome.ts';
import type { ApiClient } from './api-client.ts';
import { resourceOf } from './resources.ts';

/** Who the API server notes as the owner of what a program writes. */
export type FieldManager = 'eniwhere-controller' | 'eniwhere-agent' | 'eniwhere-cli';

export interface WriterOptions {
  readonly api: ApiClient;
  readonly fieldManager: FieldManager;
}

/** Kinds that are Eniwhere's, or that it alone writes in part. */
export type AppliedKind = 'NodeNetwork' | 'EniConfig' | 'NodeNetworkClass';

/** Part of an object -> its new content. One part of `status` goes through the subresource. */
export type Part = { readonly spec: unknown } | { readonly status: unknown };

/** JSON is YAML. */
const APPLY_PATCH = 'application/apply-patch+yaml';

/** The API server's words for an apply that names a uid, when no object has the name. It says 409, as of a newer version. */
const IS_GONE = /no existing object was found/;
/** Its words, under the code 500, for a field that the kind's schema does not have. Nothing has been written then. */
const IS_UNDECLARED = /failed to create typed patch object/;

/**
 * Sets what is in `part`, and takes away what this field manager applied before and does not any more; fields of others
 * stay. The answer is the object as it is then.
 *
 * Forced, because another owner of these fields is a mistake to be put right. The version makes the server refuse what
 * was decided on an older object (`conflict`), and the uid what was decided on one that is gone (`not-found`): an apply
 * without them would overwrite the one and make the other anew.
 */
export async function applyPart<K extends AppliedKind>(
  { api, fieldManager }: WriterOptions,
  kind: K,
  { record, part }: { readonly record: KindMap[K]; readonly part: Part },
): Promise<ClusterOutcome<unknown>> {
  const { path, apiVersion, kindName } = resourceOf(kind);
  const { name, uid, resourceVersion } = record;
  const [partName, subresource] = 'status' in part ? ['status', '/status'] : ['spec', ''];
  const outcome = await api.call({
    what: `apply the ${partName} of ${kindName} "${name}"`,
    method: 'PATCH',
    path: `${path}/${encodeURIComponent(name)}${subresource}?${managed(fieldManager)}&force=true`,
    contentType: APPLY_PATCH,
    body: { apiVersion, kind: kindName, metadata: { name, uid, resourceVersion }, ...part },
  });
  return explained(outcome);
}

/** What the API server says of an apply in other codes than of other writes. */
function explained(outcome: ClusterOutcome<unknown>): ClusterOutcome<unknown> {
  if (outcome.kind === 'unknown' && IS_UNDECLARED.test(outcome.cause))
    return failed({
      kind: 'invalid',
      message: `${outcome.cause}: the CRD is older than this program; apply deploy/crds`,
    });
  if (
    outcome.kind === 'failed' &&
    outcome.failure.kind === 'conflict' &&
    IS_GONE.test(outcome.failure.message)
  )
    return failed({ ...outcome.failure, kind: 'not-found' });
  return outcome;
}

/** The query that names the writer. */
export const managed = (fieldManager: FieldManager): string =>
  new URLSearchParams({ fieldManager }).toString();
