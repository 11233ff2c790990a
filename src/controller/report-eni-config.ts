// Keeps the status of an ENIConfig, so that a mistake shows before any node meets it.

import type { EniConfigStatus, EniConfigView } from '../domain/eniconfig/eni-config.ts';
import { sameData } from '../domain/same-data.ts';
import type { ClusterWriter } from '../ports/cluster.ts';
import type { Log } from '../ports/log.ts';
import type { ClusterView } from './cluster-view.ts';
import type { Ec2View } from './ec2-view.ts';
import { readTrouble } from './read-trouble.ts';
import { resolveEniConfig } from './resolve-eni-configs.ts';

/** The free count is only worth a write when it moved by this much, or reached or left nothing. */
const FREE_COUNT_STEP = 16;
const RETRY_MS = 5_000;
/** What only a person can mend: the CRD has no status (the AWS CNI's own), or a right is missing. */
const PERSON_MS = 300_000;

interface Deps {
  readonly cluster: ClusterWriter;
  readonly clusterView: ClusterView;
  readonly ec2View: Ec2View;
  readonly log: Log;
}

/** Writes the status if it changed. Answers when to try again after a write that failed, ms. */
export async function reportEniConfig(deps: Deps, name: string): Promise<number | undefined> {
  const record = deps.clusterView.eniConfigs.get(name);
  if (record === undefined) return undefined;
  const status = statusOf(resolveEniConfig(record, deps.ec2View), deps.ec2View);
  if (status === undefined || !isWorthWriting(record.status, status)) return undefined;
  const outcome = await deps.cluster.updateEniConfigStatus(record, status);
  if (outcome.kind === 'ok') return undefined;
  const cause = outcome.kind === 'failed' ? outcome.failure.message : outcome.cause;
  deps.log.info('ENIConfig status was not written', { eniConfig: name, cause });
  const isPersons =
    outcome.kind === 'failed' && (outcome.failure.kind === 'invalid' || outcome.failure.kind === 'forbidden');
  return isPersons ? PERSON_MS : RETRY_MS;
}

/** `undefined` while EC2 has not answered: that passes by itself, unless it refuses to. */
function statusOf(resolved: EniConfigView, { troubles }: Ec2View): EniConfigStatus | undefined {
  switch (resolved.kind) {
    case 'Valid': {
      const { subnetId, zone, cidr, ipv6Cidr, freeAddressCount } = resolved.subnet;
      return {
        ready: true,
        message: `subnet ${subnetId} in ${zone}`,
        zone,
        cidr,
        ...(ipv6Cidr === undefined ? {} : { ipv6Cidr }),
        freeAddressCount,
      };
    }
    case 'Invalid':
      return { ready: false, message: `${resolved.message}; ${resolved.fix}` };
    case 'Unresolved': {
      const trouble = readTrouble(troubles);
      return trouble && { ready: false, message: `${trouble.message}; ${trouble.fix}` };
    }
  }
}

function isWorthWriting(before: EniConfigStatus | undefined, after: EniConfigStatus): boolean {
  if (before === undefined) return true;
  const { freeAddressCount: freeBefore = 0, ...restBefore } = before;
  const { freeAddressCount: freeAfter = 0, ...restAfter } = after;
  if (!sameData(restBefore, restAfter)) return true;
  const toOrFromNothing = (freeBefore === 0) !== (freeAfter === 0);
  return toOrFromNothing || Math.abs(freeAfter - freeBefore) >= FREE_COUNT_STEP;
}
