// Which pods may reach the instance metadata service: those whose annotation says so, and nobody else.

import type { Ip } from '../address/ip.ts';
import { compareIps } from '../address/ip-number.ts';
import { quote } from '../address/quote.ts';
import type { PodKey } from '../ids.ts';
import type { Allocation } from '../ipam/ledger.ts';

export const ALLOW_IMDS_ANNOTATION = 'eniwhere.io/allow-imds';
/** On the API's copy of a static pod: the uid that kubelet and runtime know it by, which is not the copy's own. */
const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

/** What is known of a pod from the API server. */
export interface KnownPod {
  readonly key: PodKey;
  readonly uid: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** What is wrong with the pod's annotation, and the fix; undefined when it is absent, "true" or "false". */
export function imdsAnnotationFault({ annotations }: KnownPod): string | undefined {
  const value = annotations[ALLOW_IMDS_ANNOTATION];
  if (value === undefined || value === 'true' || value === 'false') return undefined;
  return `annotation ${ALLOW_IMDS_ANNOTATION} is ${quote(value)}, so the pod gets no access to instance metadata; write "true" or "false"`;
}

/**
 * Addresses that may reach instance metadata, sorted. Fails closed: a pod that is not known (yet), or known under
 * another uid, such as its predecessor of the same name, has no permission; nor has one adopted without its uid.
 */
export function imdsAllowed(input: {
  readonly allocations: Iterable<Allocation>;
  readonly pods: ReadonlyMap<PodKey, KnownPod>;
}): readonly Ip[] {
  const allowed: Ip[] = [];
  for (const { pod, podUid, addresses } of input.allocations) {
    const known = input.pods.get(pod);
    if (known === undefined || podUid === '') continue;
    const isSame = known.uid === podUid || known.annotations[MIRROR_ANNOTATION] === podUid;
    if (isSame && known.annotations[ALLOW_IMDS_ANNOTATION] === 'true') allowed.push(...addresses);
  }
  return allowed.sort(compareIps);
}
