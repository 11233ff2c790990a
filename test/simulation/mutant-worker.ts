// A thread in which the product is loaded with a mistake planted into it; then it runs what it is sent.

import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { workerData } from 'node:worker_threads';
import type { Edit } from './mutants.ts';

const SOURCES = fileURLToPath(new URL('../../src/', import.meta.url));
const { edits } = workerData as { readonly edits: readonly Edit[] };

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    const ours = edits.filter(({ file }) => url === new URL(file, `file://${SOURCES}`).href);
    if (ours.length === 0) return loaded;
    const { source: text } = loaded;
    assert.ok(typeof text === 'string' || text instanceof Uint8Array, `${url} has a source`);
    let source = typeof text === 'string' ? text : new TextDecoder().decode(text);
    for (const { find, replace } of ours) {
      assert.equal(source.split(find).length, 2, `${url} has exactly once: ${find}`);
      source = source.replace(find, () => replace);
    }
    return { ...loaded, source };
  },
});

await import('../../src/bin/simulation-worker.ts');
