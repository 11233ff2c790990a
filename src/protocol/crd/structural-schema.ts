// JSON schema as zod writes it, made into what a CustomResourceDefinition accepts: a structural schema.
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema

import { z } from 'zod';

/** A node of the schema; only the keys that are looked at have types. */
export interface SchemaNode {
  readonly [keyword: string]: unknown;
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
}

/** The structural schema of what may be written under `schema`. */
export function structuralSchema(schema: z.ZodType): SchemaNode {
  const { $schema: _, ...node } = z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' });
  return structural(node as SchemaNode);
}

function structural(node: SchemaNode): SchemaNode {
  // Defaults stay the code's: an object is kept as its owner wrote it.
  const { oneOf, additionalProperties, items, properties, default: _default, ...rest } = node;
  if (Array.isArray(oneOf)) return structural(mergedUnion(rest, oneOf as readonly SchemaNode[]));
  const isOpen = properties !== undefined && isAnything(additionalProperties);
  const isMap = properties === undefined && typeof additionalProperties === 'object';
  return bounded({
    ...rest,
    ...(items === undefined ? {} : { items: structural(items as SchemaNode) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, property]) => [name, structural(property)]),
          ),
        }),
    ...(isOpen ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
    ...(isMap ? { additionalProperties: structural(additionalProperties as SchemaNode) } : {}),
  });
}

const isAnything = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

/** The API server knows widths; the bounds of JavaScript's whole numbers mean nothing to it. */
function bounded(node: SchemaNode): SchemaNode {
  if (node.type !== 'integer') return node;
  const { maximum, minimum, ...rest } = node;
  const is32 = maximum === 2 ** 31 - 1 || (typeof maximum === 'number' && maximum < 2 ** 31);
  return {
    ...rest,
    format: is32 ? 'int32' : 'int64',
    ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER || minimum === -(2 ** 31)
      ? {}
      : { minimum }),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER || maximum === 2 ** 31 - 1
      ? {}
      : { maximum }),
  };
}

/**
 * A union of objects becomes one object with all their fields, of which only the common ones are required; which others
 * belong to which `kind` is said by rules. A structural schema has no other way.
 */
function mergedUnion(rest: SchemaNode, branches: readonly SchemaNode[]): SchemaNode {
  const properties: Record<string, SchemaNode> = {};
  for (const branch of branches) {
    for (const [name, property] of Object.entries(branch.properties ?? {})) {
      const before = properties[name];
      const values = [...(before?.enum ?? []), ...(property.enum ?? [])];
      properties[name] = values.length === 0 ? property : { ...property, enum: [...new Set(values)] };
    }
  }
  const requiredOf = branches.map((branch) => branch.required ?? []);
  const common = (requiredOf[0] ?? []).filter((name) => requiredOf.every((names) => names.includes(name)));
  const rules = branches.map((branch) => kindRule(branch, common, Object.keys(properties)));
  return {
    ...rest,
    type: 'object',
    properties,
    required: common,
    'x-kubernetes-validations': rules,
  };
}

function kindRule(branch: SchemaNode, common: readonly string[], all: readonly string[]): SchemaNode {
  const kind = branch.properties?.['kind']?.enum?.[0];
  if (typeof kind !== 'string') throw new Error('the objects of a union are told apart by their `kind`');
  const own = (branch.required ?? []).filter((name) => !common.includes(name));
  const foreign = all.filter((name) => branch.properties?.[name] === undefined);
  const terms = [...own.map((name) => `has(self.${name})`), ...foreign.map((name) => `!has(self.${name})`)];
  const message = [
    own.length === 0 ? '' : `needs ${own.join(', ')}`,
    foreign.length === 0 ? '' : `must not have ${foreign.join(', ')}`,
  ].filter((part) => part !== '');
  return {
    rule: `self.kind != '${kind}' || (${terms.join(' && ')})`,
    message: `kind ${kind} ${message.join(' and ')}`,
  };
}
