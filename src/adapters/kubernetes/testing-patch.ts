// JSON patches (RFC 6902) and merge patches (RFC 7396), as far as the test API server needs them.

import assert from 'node:assert/strict';

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The object after the patch; a list is a JSON patch, anything else a merge patch. */
export function patchedBy(before: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) return merged(before, patch);
  const after = structuredClone(before);
  for (const operation of patch as readonly Operation[]) apply(after, operation);
  return after;
}

function merged(before: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch;
  const after: Fields = isFields(before) ? { ...before } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete after[key];
    else after[key] = merged(after[key], value);
  }
  return after;
}

function apply(object: unknown, { op, path, value }: Operation): void {
  const keys = path
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = keys.pop() ?? '';
  let at = object;
  for (const key of keys) at = (at as Fields | undefined)?.[key];
  assert.ok(typeof at === 'object' && at !== null, `the patch names what is not there: ${path}`);
  if (op === 'test') assert.deepEqual((at as Fields)[last], value);
  else if (op === 'remove' && Array.isArray(at)) at.splice(Number(last), 1);
  else if (op === 'add' && Array.isArray(at)) at.splice(last === '-' ? at.length : Number(last), 0, value);
  else if (op === 'remove') delete (at as Fields)[last];
  else (at as Fields)[last] = value;
}
