// Texts and numbers of our own kinds: what the API server checks by a pattern, and the code by its parsers.

import { z } from 'zod';
import { parseCidr } from '../../domain/address/cidr.ts';
import type { Cidr, Ip } from '../../domain/address/ip.ts';
import { parseIp } from '../../domain/address/parse-ip.ts';
import type {
  EniId,
  InstanceId,
  IntentId,
  NodeName,
  PodKey,
  SecurityGroupId,
  SubnetId,
  VpcId,
} from '../../domain/ids.ts';
import { formatTimestamp, parseTimestamp } from './timestamp.ts';

/** The schema of a text whose type only parsers make: the schema is the parser here. */
const branded = <T extends string>(schema: z.ZodString): z.ZodType<T, T> =>
  schema as unknown as z.ZodType<T, T>;

/** AWS resource ids: 8 (old) or 17 (new) lower-case hex digits. */
const awsId = (prefix: string): z.ZodString =>
  z.string().regex(new RegExp(`^${prefix}-([0-9a-f]{8}|[0-9a-f]{17})$`), {
    error: `must be ${prefix}- followed by 8 or 17 lower-case hex digits`,
  });

export const eniId = branded<EniId>(awsId('eni'));
export const subnetId = branded<SubnetId>(awsId('subnet'));
export const securityGroupId = branded<SecurityGroupId>(awsId('sg'));
export const instanceId = branded<InstanceId>(awsId('i'));
export const vpcId = branded<VpcId>(awsId('vpc'));

/** Longest name of an object (RFC 1123 subdomain). */
const NAME_LENGTH_MAX = 253;
const NAME = '[a-z0-9]([-a-z0-9.]*[a-z0-9])?';

export const nodeName = branded<NodeName>(
  z
    .string()
    .max(NAME_LENGTH_MAX)
    .regex(new RegExp(`^${NAME}$`)),
);
/** An ENIConfig's name, or `''` for the node's own subnet. */
export const eniConfigName = z
  .string()
  .max(NAME_LENGTH_MAX)
  .regex(new RegExp(`^(${NAME})?$`));
export const intentId = branded<IntentId>(z.string().min(1).max(128));
/** `namespace/name`. */
export const podKey = branded<PodKey>(
  z
    .string()
    .max(NAME_LENGTH_MAX + 64)
    .regex(new RegExp(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?/${NAME}$`)),
);

/** Longest text of an IPv6 address, with IPv4 in mixed notation. */
const IP_LENGTH_MAX = 45;

/** Canonical text only: equal addresses must be equal strings. */
export const ip = branded<Ip>(
  z
    .string()
    .max(IP_LENGTH_MAX)
    .regex(/^[0-9a-f.:]+$/)
    .check((context) => {
      const parsed = parseIp(context.value);
      if (parsed.ok && parsed.value === context.value) return;
      const message = parsed.ok ? `${context.value} must be written ${parsed.value}` : parsed.error;
      context.issues.push({ code: 'custom', input: context.value, message });
    }),
);

export const cidr = branded<Cidr>(
  z
    .string()
    .max(IP_LENGTH_MAX + 4)
    .regex(/^[0-9a-f.:]+\/[0-9]+$/)
    .check((context) => {
      const parsed = parseCidr(context.value);
      if (parsed.ok && parsed.value === context.value) return;
      const message = parsed.ok ? `${context.value} must be written ${parsed.value}` : parsed.error;
      context.issues.push({ code: 'custom', input: context.value, message });
    }),
);

/** Whole numbers from 0. */
export const count = z.int32().min(0);

/** A time in the object, milliseconds since the epoch in the code. */
export const timestamp = z.codec(z.string().meta({ format: 'date-time' }), z.number(), {
  decode: (text, context) => {
    const parsed = parseTimestamp(text);
    if (parsed.ok) return parsed.value;
    context.issues.push({ code: 'custom', input: text, message: parsed.error });
    return z.NEVER;
  },
  encode: formatTimestamp,
});
