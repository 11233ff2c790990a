// The ENIConfig object as the API server has it, with its status.

import { z } from 'zod';
import type { EniConfig } from '../../domain/eniconfig/eni-config.ts';
import { ok, type Result } from '../../domain/result.ts';
import { parseEniConfigSpec } from './eni-config.ts';
import { type Meta, metaOf, objectMeta, readObject, type Unreadable, writtenWhole } from './object.ts';
import { count } from './scalars.ts';

/**
 * What the API server accepts: every object that works with the AWS CNI, whose own CRD checks nothing at all. A wrong id
 * is accepted, too, and its status says what to do.
 */
export const eniConfigSpec = z
  .looseObject({
    subnet: z.string().nullish().describe('Id of the subnet in which pods get their addresses.'),
    securityGroups: z
      .array(z.string())
      .nullish()
      .describe('Ids of the security groups of pods; none means those of the node’s primary ENI.'),
  })
  .nullish();

export const eniConfigStatus = z
  .object({
    ready: z.boolean().describe('Whether the subnet and the groups can be used.'),
    message: z.string().describe('What was found, or what is wrong and how to put it right.'),
    zone: z.string().exactOptional(),
    cidr: z.string().exactOptional(),
    ipv6Cidr: z.string().exactOptional().describe('The subnet’s IPv6 block; absent: it has none.'),
    freeAddressCount: count.exactOptional().describe('Free addresses of the subnet.'),
  })
  .meta(writtenWhole);

const eniConfigObject = z.object({
  metadata: objectMeta,
  spec: z.unknown().optional(),
  status: z.unknown().optional(),
});

export interface EniConfigObject extends Meta {
  readonly spec:
    | { readonly kind: 'Parsed'; readonly eniConfig: EniConfig }
    | { readonly kind: 'Malformed'; readonly message: string; readonly fix: string };
  readonly status?: z.output<typeof eniConfigStatus>;
}

/** Reads an ENIConfig. A bad spec is an ordinary value; a status that is not ours counts as none, and is written anew. */
export function readEniConfig(value: unknown): Result<EniConfigObject, Unreadable> {
  const read = readObject(eniConfigObject, value);
  if (!read.ok) return read;
  const meta = metaOf(read.value.metadata);
  const spec = parseEniConfigSpec(meta.name, meta.labels, read.value.spec);
  const status = eniConfigStatus.safeParse(read.value.status);
  return ok({
    ...meta,
    spec: spec.ok
      ? { kind: 'Parsed', eniConfig: spec.value }
      : { kind: 'Malformed', message: spec.error.message, fix: spec.error.fix },
    ...(status.success ? { status: status.data } : {}),
  });
}
