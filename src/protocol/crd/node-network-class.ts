// The NodeNetworkClass object of Kubernetes (eniwhere.io/v1alpha1).

import { z } from 'zod';
import { parseCidr } from '../../domain/address/cidr.ts';
import type { Cidr } from '../../domain/address/ip.ts';
import type { LabelRequirement, LabelSelector } from '../../domain/eniconfig/label-selector.ts';
import type {
  ClassCandidates,
  ClassMatch,
  ClassOverrides,
  ClassSpec,
  NodeNetworkClass,
} from '../../domain/eniconfig/node-network-class.ts';
import { parseSecurityGroupId } from '../../domain/ids.ts';
import { ADDRESS_FAMILIES } from '../../domain/address/families.ts';
import { MODES } from '../../domain/ipam/mode.ts';
import { ok, type Result } from '../../domain/result.ts';
import { isFields, isObjectName, type Malformed, parseEnvelope, quote } from './envelope.ts';

export const NODE_NETWORK_CLASS_API_VERSION = 'eniwhere.io/v1alpha1';
export const NODE_NETWORK_CLASS_KIND = 'NodeNetworkClass';

/** A NodeNetworkClass object whose envelope is sound; its spec may still be malformed, which is an ordinary value. */
export interface NodeNetworkClassManifest {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: ClassSpec;
}

const text = (what: string): z.ZodString => z.string({ error: `must be ${what}` }).min(1, `must be ${what}`);

const listOf = <T extends z.ZodType>(item: T, what: string): z.ZodArray<T> =>
  z
    .array(item, { error: `must be a list of ${what}` })
    .min(1, `must name at least one of ${what}; leave it out to mean any`);

const readBy = <Out>(what: string, parse: (value: string) => Result<Out, string>): z.ZodType<Out> =>
  text(what).transform((value, context): Out => {
    const parsed = parse(value);
    if (parsed.ok) return parsed.value;
    context.issues.push({ code: 'custom', message: parsed.error, input: value });
    return z.NEVER;
  });

/** An object with these keys alone: a key that is misspelt would otherwise be a rule that silently does not hold. */
const closed = <S extends Readonly<Record<string, z.ZodType>>>(shape: S): z.ZodObject<S, z.core.$strict> =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `has the unknown field "${issue.keys?.[0] ?? ''}"; the fields here are ${Object.keys(shape).join(', ')}`
        : 'must be a mapping',
  });

const count = z.int({ error: 'must be a whole number' }).min(0, 'must not be negative').max(1_000_000);
const flag = z.boolean({ error: 'must be true or false' });
const oneOf = <const T extends readonly string[]>(...words: T): z.ZodEnum<{ [K in T[number]]: K }> =>
  z.enum(words, { error: `must be ${words.length > 1 ? 'one of ' : ''}${words.join(', ')}` });
const texts = z.record(z.string(), z.string({ error: 'must be a text (put it in quotes)' }), {
  error: 'must be a mapping of texts',
});
const cidr: z.ZodType<Cidr> = readBy('a CIDR block', parseCidr);

const requirement: z.ZodType<LabelRequirement> = closed({
  key: text('a label key'),
  operator: oneOf('In', 'NotIn', 'Exists', 'DoesNotExist'),
  values: z
    .array(z.string({ error: 'must be a text (put it in quotes)' }), { error: 'must be a list' })
    .default([]),
})
  .meta({
    'x-kubernetes-validations': [
      {
        rule: "(self.operator == 'In' || self.operator == 'NotIn') == (has(self.values) && size(self.values) > 0)",
        message: 'In and NotIn need values, Exists and DoesNotExist have none',
      },
    ],
  })
  .refine(({ operator, values }) => (operator === 'In' || operator === 'NotIn') === values.length > 0, {
    path: ['values'],
    error: 'In and NotIn need values, Exists and DoesNotExist have none',
  });

const selector: z.ZodType<LabelSelector> = closed({
  matchLabels: texts.default({}),
  matchExpressions: z.array(requirement, { error: 'must be a list' }).default([]),
});

/** An empty selector would mean every ENIConfig of the cluster, also those of other people. */
const someSelector = selector.refine(
  ({ matchLabels, matchExpressions }) => Object.keys(matchLabels).length + matchExpressions.length > 0,
  { error: 'must ask for at least one label' },
);

const match: z.ZodType<ClassMatch> = closed({
  nodeSelector: selector.default({ matchLabels: {}, matchExpressions: [] }),
  zones: listOf(text('the name of a zone'), 'zones').optional(),
  nodeGroups: listOf(text('the name of a node group'), 'node groups').optional(),
  instanceTypes: listOf(text('an instance type such as m5.large or m5.*'), 'instance types').optional(),
  nodeCidrs: listOf(cidr, 'CIDR blocks').optional(),
}).transform((given): ClassMatch => withoutAbsent(given));

const objectName = text('the name of an ENIConfig').refine(isObjectName, {
  error: 'is no name of an ENIConfig',
});

const candidates: z.ZodType<ClassCandidates> = closed({
  names: listOf(objectName, 'names of ENIConfigs').optional(),
  selector: someSelector.optional(),
  subnetTags: texts
    .refine((tags) => Object.keys(tags).length > 0, { error: 'must name at least one tag' })
    .optional(),
  securityGroups: z
    .array(readBy('the id of a security group', parseSecurityGroupId), { error: 'must be a list of ids' })
    .optional(),
})
  .meta({
    'x-kubernetes-validations': [
      {
        rule: '(has(self.names) ? 1 : 0) + (has(self.selector) ? 1 : 0) + (has(self.subnetTags) ? 1 : 0) == 1',
        message: 'must have exactly one of names, selector and subnetTags',
      },
      {
        rule: '!has(self.securityGroups) || has(self.subnetTags)',
        message: 'securityGroups belong to subnetTags; other ENIConfigs have groups of their own',
      },
    ],
  })
  .transform((given, context): ClassCandidates => {
    const { names, selector: labels, subnetTags, securityGroups } = given;
    const complain = (message: string): never => {
      context.issues.push({ code: 'custom', message, input: given });
      return z.NEVER;
    };
    const kinds = [names, labels, subnetTags].filter((one) => one !== undefined).length;
    if (kinds !== 1) return complain('must have exactly one of names, selector and subnetTags');
    if (securityGroups !== undefined && subnetTags === undefined)
      return complain(
        'has securityGroups, which belong to subnetTags; other ENIConfigs have groups of their own',
      );
    if (names !== undefined) return { kind: 'Names', names: [...new Set(names)] };
    if (labels !== undefined) return { kind: 'Selector', selector: labels };
    return { kind: 'SubnetTags', tags: subnetTags ?? {}, securityGroupIds: [...new Set(securityGroups)] };
  });

const priority = z.int({ error: 'must be a whole number' });

const spec = closed({
  priority: priority
    .default(0)
    .describe('Of several classes that match a node the highest decides; 0 when absent.'),
  match: match
    .default({ nodeSelector: { matchLabels: {}, matchExpressions: [] } })
    .describe('Which nodes; all that is given must hold. Absent: every node.'),
  eniConfigs: candidates
    .optional()
    .describe('The ENIConfigs to choose among: exactly one of names, selector and subnetTags.'),
  strategy: oneOf('First', 'Hash', 'MostFree', 'Spread')
    .default('First')
    .describe('How one of those in the node’s zone is chosen; First when absent.'),
  fallback: oneOf('None', 'NodeSubnet')
    .default('None')
    .describe('When there is none for the node: no addresses (None, when absent), or the node’s own subnet.'),
  onENIConfigChange: oneOf('Cordon', 'Keep')
    .optional()
    .describe('What becomes of ENIs of the ENIConfig before.'),
  mode: oneOf(...MODES)
    .optional()
    .describe('Single addresses or blocks; when absent as the controller’s ENABLE_PREFIX_DELEGATION says.'),
  addressFamilies: listOf(oneOf(...ADDRESS_FAMILIES), 'IPv4 and IPv6')
    .optional()
    .describe('What new pods get; when absent as the controller’s ENABLE_IPv4 and ENABLE_IPv6 say.'),
  warm: closed({
    ipTarget: count.optional().describe('WARM_IP_TARGET.'),
    minimumIPTarget: count.optional().describe('MINIMUM_IP_TARGET.'),
    eniTarget: count.optional().describe('WARM_ENI_TARGET, in mode SecondaryIP.'),
    prefixTarget: count.optional().describe('WARM_PREFIX_TARGET, in mode Prefix.'),
  })
    .optional()
    .describe('Addresses held ahead of demand, in place of the controller’s settings.'),
  maxENI: count.optional().describe('MAX_ENI: ENIs of a node, the primary one included.'),
  snat: closed({
    external: flag.optional().describe('AWS_VPC_K8S_CNI_EXTERNALSNAT.'),
    excludeCIDRs: z
      .array(cidr, { error: 'must be a list of CIDR blocks' })
      .optional()
      .describe('AWS_VPC_K8S_CNI_EXCLUDE_SNAT_CIDRS.'),
  })
    .optional()
    .describe('In place of the controller’s settings.'),
});

/** For the CRD: what the API server checks of it. */
export const nodeNetworkClassSpec: z.ZodType = spec;

type Spec = z.output<typeof spec>;

/** Reads one object. As with ENIConfigs, a bad spec is an ordinary value, and a bad envelope is an error. */
export function parseNodeNetworkClassManifest(object: unknown): Result<NodeNetworkClassManifest, Malformed> {
  const envelope = parseEnvelope(object, {
    apiVersion: NODE_NETWORK_CLASS_API_VERSION,
    kind: NODE_NETWORK_CLASS_KIND,
  });
  if (!envelope.ok) return envelope;
  const { name, labels, annotations } = envelope.value;
  return ok({ name, labels, annotations, spec: parseNodeNetworkClassSpec(name, envelope.value.spec) });
}

/**
 * Reads `spec` of the NodeNetworkClass `name`. Of a malformed one `priority` and `match` are still told where they can be
 * read, so that the nodes it was meant for do not fall to another rule.
 */
export function parseNodeNetworkClassSpec(name: string, value: unknown): ClassSpec {
  const parsed = spec.safeParse(value ?? {}, { reportInput: true });
  if (parsed.success) return { kind: 'Parsed', nodeNetworkClass: classOf(name, parsed.data) };
  const [issue] = parsed.error.issues;
  const fields = isFields(value) ? value : undefined;
  const readPriority = priority.safeParse(fields?.['priority'] ?? 0);
  const readMatch = match.safeParse(fields?.['match'] ?? {});
  const { message, fix } = mistakeOf(name, value, issue);
  return {
    kind: 'Malformed',
    message,
    fix,
    ...(readPriority.success ? { priority: readPriority.data } : {}),
    ...(fields !== undefined && readMatch.success ? { match: readMatch.data } : {}),
  };
}

function mistakeOf(name: string, value: unknown, issue: z.core.$ZodIssue | undefined): Malformed {
  const path = ['spec', ...(issue?.path ?? [])];
  const field = path
    .map((key, index) => (typeof key === 'number' ? `[${key}]` : `${index === 0 ? '' : '.'}${String(key)}`))
    .join('');
  const found = issue?.path.reduce<unknown>(
    (at, key) => (at as Readonly<Record<PropertyKey, unknown>> | undefined)?.[key],
    value,
  );
  const shown = isFields(found) || Array.isArray(found) ? '' : ` is ${quote(found)}:`;
  return {
    message: `NodeNetworkClass "${name}": ${field}${shown} ${issue?.message ?? ''}`,
    fix: `correct ${field}: kubectl edit nodenetworkclass ${name}`,
  };
}

function classOf(name: string, given: Spec): NodeNetworkClass {
  const { eniConfigs, strategy, fallback } = given;
  return {
    name,
    priority: given.priority,
    match: given.match,
    ...(eniConfigs === undefined ? {} : { candidates: eniConfigs }),
    strategy,
    fallback,
    overrides: overridesOf(given),
  };
}

function overridesOf({ warm, maxENI, mode, addressFamilies, snat, onENIConfigChange }: Spec): ClassOverrides {
  return withoutAbsent({
    targets: warm === undefined ? undefined : targetsOf(warm),
    // 0 means the instance type's own limit, as with MAX_ENI.
    maxEni: maxENI === 0 ? undefined : maxENI,
    mode,
    addressFamilies: addressFamilies === undefined ? undefined : [...new Set(addressFamilies)],
    externalSnat: snat?.external,
    excludeSnatCidrs: snat?.excludeCIDRs,
    onEniConfigChange: onENIConfigChange,
  });
}

/**
 * As in the AWS VPC CNI one ENI, or one prefix, is kept warm where nothing is said; who says a count of addresses means
 * just that.
 */
function targetsOf({
  ipTarget,
  minimumIPTarget,
  eniTarget,
  prefixTarget,
}: NonNullable<Spec['warm']>): ClassTargets {
  const countsAddresses = ipTarget !== undefined || minimumIPTarget !== undefined;
  return {
    ...withoutAbsent({ warmIp: ipTarget, minimumIp: minimumIPTarget, warmPrefix: prefixTarget }),
    warmEni: eniTarget ?? (countsAddresses ? 0 : 1),
    ...(countsAddresses ? { exact: true } : {}),
  };
}

type ClassTargets = NonNullable<ClassOverrides['targets']>;

type Present<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** The object without its keys whose value is undefined: absent and undefined are two things to the types. */
function withoutAbsent<T extends object>(given: T): Present<T> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Present<T>;
}
