// The Lease object of Kubernetes (coordination.k8s.io/v1).

import { z } from 'zod';
import type { Lease, SeenLease } from '../../domain/leadership/lease.ts';
import { ok, type Result } from '../../domain/result.ts';
import { objectMeta, readObject, type Unreadable } from './object.ts';
import { formatMicroTime, parseTimestamp } from './timestamp.ts';

const leaseObject = z.object({
  metadata: objectMeta,
  spec: z
    .object({
      holderIdentity: z.string().nullish(),
      leaseDurationSeconds: z.number().nullish(),
      acquireTime: z.string().nullish(),
      renewTime: z.string().nullish(),
      leaseTransitions: z.number().nullish(),
    })
    .nullish(),
});

/** Reads a Lease. One without a holder, as a chart may make it, was never held. */
export function readLease(value: unknown): Result<SeenLease, Unreadable> {
  const read = readObject(leaseObject, value);
  if (!read.ok) return read;
  const { metadata, spec } = read.value;
  const lease: Lease = {
    holder: spec?.holderIdentity ?? '',
    durationMs: (spec?.leaseDurationSeconds ?? 0) * 1000,
    acquiredAt: timeOf(spec?.acquireTime),
    renewedAt: timeOf(spec?.renewTime),
    transitions: spec?.leaseTransitions ?? 0,
  };
  return ok({ lease, version: metadata.resourceVersion });
}

/** Times are for people alone, so one that cannot be read harms nothing. */
function timeOf(text: string | null | undefined): number {
  const parsed = parseTimestamp(text ?? '');
  return parsed.ok ? parsed.value : 0;
}

/** `spec` as it is written. Seconds are whole, and at least one. */
export const writeLeaseSpec = (lease: Lease): unknown => ({
  holderIdentity: lease.holder,
  leaseDurationSeconds: Math.max(1, Math.ceil(lease.durationMs / 1000)),
  acquireTime: formatMicroTime(lease.acquiredAt),
  renewTime: formatMicroTime(lease.renewedAt),
  leaseTransitions: lease.transitions,
});
