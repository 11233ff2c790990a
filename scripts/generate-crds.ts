// Writes deploy/crds/ from the schemas of src/protocol/crd: `node scripts/generate-crds.ts`. A unit test holds that they are the same.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { customResourceDefinitions } from '../src/protocol/crd/custom-resource-definitions.ts';

const NOTE = '# Made by scripts/generate-crds.ts from the schemas of src/protocol/crd. Do not edit.\n';

/** Path in the tree -> content. */
export const crdFiles = (): ReadonlyMap<string, string> =>
  new Map(
    [...customResourceDefinitions()].map(([name, definition]) => [
      join('deploy/crds', name),
      // No anchors: what appears twice is written twice. No folding: rules stay greppable.
      NOTE + stringify(definition, { aliasDuplicateObjects: false, lineWidth: 0 }),
    ]),
  );

if (import.meta.main) {
  mkdirSync('deploy/crds', { recursive: true });
  for (const [path, text] of crdFiles()) {
    writeFileSync(path, text);
    console.log(`generate-crds: ${path}, ${text.split('\n').length - 1} lines`);
  }
}
