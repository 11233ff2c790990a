// The CRDs in deploy/: as the schemas make them, and structural, as the API server demands.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { z } from 'zod';
import { crdFiles } from '../../../scripts/generate-crds.ts';
import { customResourceDefinitions } from './custom-resource-definitions.ts';
import { type SchemaNode, structuralSchema } from './structural-schema.ts';

suite('deploy/crds and the tables of docs/crds.md', () => {
  test('hold what the generator makes, and nothing else', () => {
    const made = crdFiles();
    const crds = [...made.keys()].filter((path) => path.startsWith('deploy/'));
    assert.deepEqual(globSync('deploy/crds/*').sort(), crds.sort());
    for (const [path, text] of made)
      assert.equal(readFileSync(path, 'utf8'), text, `${path}: run node scripts/generate-crds.ts`);
  });

  for (const [name, definition] of customResourceDefinitions())
    test(`${name} is structural: every node has a type, and nothing says "one of"`, () => {
      const faults: string[] = [];
      visit(schemaOf(definition), name, faults);
      assert.deepEqual(faults, []);
    });
});

function schemaOf(definition: unknown): SchemaNode {
  const { spec } = definition as {
    readonly spec: {
      readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: SchemaNode } }[];
    };
  };
  const [version] = spec.versions;
  assert.ok(version);
  return version.schema.openAPIV3Schema;
}

/** https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/ */
const KEYWORDS = new Set(
  `type format description nullable properties required items additionalProperties enum pattern minLength maxLength
  minimum maximum minItems maxItems x-kubernetes-validations x-kubernetes-preserve-unknown-fields x-kubernetes-list-type
  x-kubernetes-list-map-keys x-kubernetes-map-type x-kubernetes-int-or-string default`.split(/\s+/),
);

function visit(node: SchemaNode, path: string, faults: string[]): void {
  for (const keyword of Object.keys(node)) if (!KEYWORDS.has(keyword)) faults.push(`${path}: ${keyword}`);
  if (node.type === undefined) faults.push(`${path}: no type`);
  const { properties = {}, items, additionalProperties } = node;
  if (additionalProperties !== undefined && node.properties !== undefined)
    faults.push(`${path}: additionalProperties beside properties`);
  for (const [name, property] of Object.entries(properties)) visit(property, `${path}.${name}`, faults);
  if (items !== undefined) visit(items as SchemaNode, `${path}[]`, faults);
  if (additionalProperties !== undefined) visit(additionalProperties as SchemaNode, `${path}{}`, faults);
}

suite('a structural schema', () => {
  test('of a union has the fields of all its kinds, and a rule for each', () => {
    const union = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('A'), why: z.string(), a: z.string() }),
      z.object({ kind: z.literal('B'), why: z.string(), b: z.boolean() }),
    ]);
    assert.deepEqual(structuralSchema(union), {
      type: 'object',
      properties: {
        kind: { type: 'string', enum: ['A', 'B'] },
        why: { type: 'string' },
        a: { type: 'string' },
        b: { type: 'boolean' },
      },
      required: ['kind', 'why'],
      'x-kubernetes-validations': [
        {
          rule: "self.kind != 'A' || (has(self.a) && !has(self.b))",
          message: 'kind A needs a and must not have b',
        },
        {
          rule: "self.kind != 'B' || (has(self.b) && !has(self.a))",
          message: 'kind B needs b and must not have a',
        },
      ],
    });
  });

  const cases: readonly [string, z.ZodType, SchemaNode][] = [
    ['a whole number of 32 bits', z.int32(), { type: 'integer', format: 'int32' }],
    ['a whole number', z.int().min(0), { type: 'integer', format: 'int64', minimum: 0 }],
    ['a bounded one', z.int32().min(1).max(9), { type: 'integer', format: 'int32', minimum: 1, maximum: 9 }],
    ['a map', z.record(z.string(), z.string()), { type: 'object', additionalProperties: { type: 'string' } }],
    [
      'an open object',
      z.looseObject({ a: z.string().optional() }),
      { type: 'object', properties: { a: { type: 'string' } }, 'x-kubernetes-preserve-unknown-fields': true },
    ],
  ];
  for (const [title, schema, expected] of cases)
    test(`of ${title}`, () => assert.deepEqual(structuralSchema(schema), expected));
});
