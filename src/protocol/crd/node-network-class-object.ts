// The NodeNetworkClass object as the API server has it, with its status.

import { z } from 'zod';
import type { ClassSpec } from '../../domain/eniconfig/node-network-class.ts';
import { ok, type Result } from '../../domain/result.ts';
import { parseNodeNetworkClassSpec } from './node-network-class.ts';
import { type Meta, metaOf, objectMeta, readObject, type Unreadable, writtenWhole } from './object.ts';
import { count, eniConfigName } from './scalars.ts';

/** ENIConfigs that a status lists. */
const LISTED_MAX = 256;

export const nodeNetworkClassStatus = z
  .object({
    ready: z.boolean(),
    message: z.string(),
    nodeCount: count,
    eniConfigs: z.array(eniConfigName).max(LISTED_MAX),
  })
  .meta(writtenWhole);

const nodeNetworkClassObject = z.object({
  metadata: objectMeta,
  spec: z.unknown().optional(),
  status: z.unknown().optional(),
});

export interface NodeNetworkClassObject extends Meta {
  readonly spec: ClassSpec;
  readonly status?: z.output<typeof nodeNetworkClassStatus>;
}

/** Reads a NodeNetworkClass. A bad spec is an ordinary value; a status that is not ours counts as none. */
export function readNodeNetworkClass(value: unknown): Result<NodeNetworkClassObject, Unreadable> {
  const read = readObject(nodeNetworkClassObject, value);
  if (!read.ok) return read;
  const meta = metaOf(read.value.metadata);
  const status = nodeNetworkClassStatus.safeParse(read.value.status);
  return ok({
    ...meta,
    spec: parseNodeNetworkClassSpec(meta.name, read.value.spec),
    ...(status.success ? { status: status.data } : {}),
  });
}
