// Which fields a part of an object has, by its schema: what the test API server notes of owners, as in metadata.managedFields.
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy

import { isDeepStrictEqual } from 'node:util';

/** What is looked at of a structural schema. */
export interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

export interface FieldTree {
  readonly [key: string]: FieldTree;
}

/** Steps to a field that has one owner, such as `f:status`, `f:conditions`, `k:{"type":"Ready"}`, `f:reason`. */
export type Path = readonly string[];

/** Path as text -> the path and what is there. */
type Leaves = ReadonlyMap<string, { readonly path: Path; readonly value: unknown }>;

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isMerged = (schema: Schema): boolean => schema['x-kubernetes-map-type'] !== 'atomic';
const itemKey = (item: unknown, keys: readonly string[]): string =>
  `k:${JSON.stringify(Object.fromEntries(keys.map((key) => [key, (item as Fields)[key]])))}`;
export const textOf = (path: Path): string => JSON.stringify(path);

/** The fields of `value` that have one owner each. */
export function leavesOf(value: unknown, schema: Schema): Leaves {
  const leaves = new Map<string, { path: Path; value: unknown }>();
  const walk = (at: unknown, path: Path, under: Schema): void => {
    const children = childrenOf(at, under);
    if (children === undefined) leaves.set(textOf(path), { path, value: at });
    else for (const [step, child, below] of children) walk(child, [...path, step], below);
  };
  walk(value, [], schema);
  return leaves;
}

type Child = readonly [step: string, value: unknown, schema: Schema];

/** `undefined` for what is one field as a whole. */
function childrenOf(value: unknown, schema: Schema): readonly Child[] | undefined {
  if (isObject(value) && isMerged(schema))
    return Object.entries(value)
      .filter(([, child]) => child !== undefined)
      .map(([name, child]) => [`f:${name}`, child, schema.properties?.[name] ?? {}]);
  const keys = schema['x-kubernetes-list-map-keys'];
  if (Array.isArray(value) && keys !== undefined)
    return (value as unknown[]).map((item) => [itemKey(item, keys), item, schema.items ?? {}]);
  return undefined;
}

/** `patch` laid over `before`: objects by field, lists of objects by key, all else whole. */
export function mergedBySchema(before: unknown, patch: unknown, schema: Schema): unknown {
  if (isObject(before) && isObject(patch) && isMerged(schema)) {
    const after: Record<string, unknown> = { ...before };
    for (const [name, value] of Object.entries(patch))
      after[name] = mergedBySchema(before[name], value, schema.properties?.[name] ?? {});
    return after;
  }
  const keys = schema['x-kubernetes-list-map-keys'];
  if (!Array.isArray(before) || !Array.isArray(patch) || keys === undefined) return patch;
  const items = new Map((before as unknown[]).map((item) => [itemKey(item, keys), item]));
  for (const item of patch as unknown[])
    items.set(itemKey(item, keys), mergedBySchema(items.get(itemKey(item, keys)), item, schema.items ?? {}));
  return [...items.values()];
}

/** `value` without the fields at `paths`; an item of a list goes with its last field. */
export function withoutPaths(value: unknown, paths: readonly Path[], schema: Schema): unknown {
  if (paths.length === 0) return value;
  if (paths.some((path) => path.length === 0)) return undefined;
  const children = childrenOf(value, schema) ?? [];
  const kept = children.flatMap(([step, child, below]) => {
    const inside = paths.filter((path) => path[0] === step).map((path) => path.slice(1));
    const after = withoutPaths(child, inside, below);
    const isEmptied = inside.length > 0 && isDeepStrictEqual(after, {});
    return after === undefined || (isEmptied && Array.isArray(value))
      ? []
      : [[step.slice(2), after] as const];
  });
  return Array.isArray(value) ? kept.map(([, item]) => item) : Object.fromEntries(kept);
}

/** As in `fieldsV1`. */
export function treeOf(paths: readonly Path[]): FieldTree {
  const steps = new Map<string, Path[]>();
  for (const [first, ...rest] of paths) {
    if (first === undefined) continue;
    const below = steps.get(first) ?? [];
    below.push(rest);
    steps.set(first, below);
  }
  return Object.fromEntries([...steps].map(([step, below]) => [step, treeOf(below)]));
}

/** The paths in a `fieldsV1`. */
export function pathsOf(tree: FieldTree): readonly Path[] {
  return Object.entries(tree).flatMap(([step, below]) =>
    Object.keys(below).length === 0 ? [[step]] : pathsOf(below).map((path) => [step, ...path]),
  );
}
