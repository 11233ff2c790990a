// Writes deploy/crds/, and the tables of fields in docs/crds.md, from the schemas of src/protocol/crd: `node scripts/generate-crds.ts`.
// A unit test holds that they are the same.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { customResourceDefinitions } from '../src/protocol/crd/custom-resource-definitions.ts';
import type { SchemaNode } from '../src/protocol/crd/structural-schema.ts';

const NOTE = '# Made by scripts/generate-crds.ts from the schemas of src/protocol/crd. Do not edit.\n';
const DOCUMENT = 'docs/crds.md';

/** Path in the tree -> content, of what is generated whole and in part. */
export const crdFiles = (): ReadonlyMap<string, string> =>
  new Map([
    ...[...customResourceDefinitions()].map(
      ([name, definition]) =>
        [
          join('deploy/crds', name),
          // No anchors: what appears twice is written twice. No folding: rules stay greppable.
          NOTE + stringify(definition, { aliasDuplicateObjects: false, lineWidth: 0 }),
        ] as const,
    ),
    [DOCUMENT, documentWithTables(readFileSync(DOCUMENT, 'utf8'))],
  ]);

interface Definition {
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: SchemaNode } }[];
  };
}

function documentWithTables(text: string): string {
  const tables = new Map(
    [...customResourceDefinitions().values()].map((definition) => {
      const { names, versions } = (definition as Definition).spec;
      const { spec, status } = versions[0]?.schema.openAPIV3Schema.properties ?? {};
      return [names.kind, [...rowsOf('spec', spec), ...rowsOf('status', status)]];
    }),
  );
  return text.replaceAll(
    /(<!-- fields of (\w+) -->\n)[^]*?(<!-- \/fields -->)/g,
    (_all, start: string, kind: string, end: string) => {
      const rows = ['| field | type | |', '|---|---|---|', ...(tables.get(kind) ?? [])];
      return `${start}\n${rows.join('\n')}\n\n${end}`;
    },
  );
}

/** A row for each field below `path`; those that need not be there are in italics. */
function rowsOf(path: string, node: SchemaNode | undefined): readonly string[] {
  const inner = (node?.['items'] as SchemaNode | undefined) ?? node;
  return Object.entries(inner?.properties ?? {}).flatMap(([name, property]) => {
    const isList = property.type === 'array';
    const field = `${path}.${name}${isList ? '[]' : ''}`;
    const shown = inner?.required?.includes(name) === true ? `\`${field}\`` : `*\`${field}\`*`;
    return [
      `| ${shown} | ${typeText(property)} | ${property.description ?? ''} |`,
      ...rowsOf(field, property),
    ];
  });
}

function typeText(node: SchemaNode): string {
  const inner = (node['items'] as SchemaNode | undefined) ?? node;
  const text =
    inner.enum === undefined
      ? `${inner.type}${inner['format'] === 'date-time' ? ', a time' : ''}`
      : inner.enum.map((one) => `\`${String(one)}\``).join(', ');
  return node.type === 'array'
    ? `list of ${text}`
    : inner['additionalProperties'] === undefined
      ? text
      : 'mapping of texts';
}

if (import.meta.main) {
  mkdirSync('deploy/crds', { recursive: true });
  for (const [path, text] of crdFiles()) {
    writeFileSync(path, text);
    console.log(`generate-crds: ${path}, ${text.split('\n').length - 1} lines`);
  }
}
