// Who owns which fields in the test API server: noted with every write, and what an apply does by it.
// Of spec and status alone; and what an owner lets go of, it lets go of without a trace in the parents of the field.

import { isDeepStrictEqual } from 'node:util';
import { customResourceDefinitions } from '../../protocol/crd/custom-resource-definitions.ts';
import type { RawObject } from './testing-object-store.ts';
import {
  type FieldTree,
  leavesOf,
  mergedBySchema,
  type Path,
  pathsOf,
  type Schema,
  textOf,
  treeOf,
  withoutPaths,
} from './testing-field-sets.ts';

interface ManagedFields {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly subresource?: string;
  readonly fieldsV1: FieldTree;
}

type Writer = Omit<ManagedFields, 'fieldsV1'>;

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
}

/** Path of a list -> the schema of its objects. */
const schemas: ReadonlyMap<string, Schema> = new Map(
  [...customResourceDefinitions().values()].flatMap((definition) => {
    const { group, names, versions } = (definition as Definition).spec;
    return versions.map(({ name, schema }) => [
      `/apis/${group}/${name}/${names.plural}`,
      schema.openAPIV3Schema,
    ]);
  }),
);

const partsOf = ({ spec, status }: Pick<RawObject, 'spec' | 'status'>): object => ({
  ...(spec === undefined ? {} : { spec }),
  ...(status === undefined ? {} : { status }),
});

const managedFieldsOf = (object: RawObject | undefined): readonly ManagedFields[] =>
  (object?.metadata as { readonly managedFields?: readonly ManagedFields[] } | undefined)?.managedFields ??
  [];

/** `after` with its owners, of kinds of our own: they are those of `before` but for what `writer` has changed. */
export function withOwners(
  path: string,
  {
    before,
    after,
    writer,
  }: { readonly before?: RawObject; readonly after: RawObject; readonly writer: Writer },
): RawObject {
  const schema = schemas.get(path);
  if (schema === undefined) return after;
  const [old, now] = [leavesOf(partsOf(before ?? {}), schema), leavesOf(partsOf(after), schema)];
  const isSame = (text: string): boolean => isDeepStrictEqual(old.get(text)?.value, now.get(text)?.value);
  const changed = new Set([...old.keys(), ...now.keys()].filter((text) => !isSame(text)));
  const owners = managedFieldsOf(after).map((one) => without(one, changed));
  const gained = [...now].flatMap(([text, { path: at }]) => (changed.has(text) ? [at] : []));
  return noted(after, added(owners, writer, gained));
}

const without = (one: ManagedFields, texts: ReadonlySet<string>): ManagedFields => ({
  ...one,
  fieldsV1: treeOf(pathsOf(one.fieldsV1).filter((path) => !texts.has(textOf(path)))),
});

const isBy =
  (writer: Writer) =>
  (one: Writer): boolean =>
    one.manager === writer.manager &&
    one.operation === writer.operation &&
    one.subresource === writer.subresource;

function added(
  owners: readonly ManagedFields[],
  writer: Writer,
  paths: readonly Path[],
): readonly ManagedFields[] {
  const before = owners.find(isBy(writer));
  const all = new Map([...pathsOf(before?.fieldsV1 ?? {}), ...paths].map((path) => [textOf(path), path]));
  return [...owners.filter((one) => one !== before), { ...writer, fieldsV1: treeOf([...all.values()]) }];
}

const noted = (object: RawObject, owners: readonly ManagedFields[]): RawObject => {
  const managedFields = owners.filter(({ fieldsV1 }) => Object.keys(fieldsV1).length > 0);
  return { ...object, metadata: { ...object.metadata, managedFields } as RawObject['metadata'] };
};

interface Applied {
  readonly manager: string;
  readonly subresource: string;
  /** The object of the patch: of its parts only that of the endpoint counts. */
  readonly patch: RawObject;
  readonly isForced: boolean;
}

/** The object after an apply, or who else owns a field that it would change. */
export function appliedTo(
  path: string,
  before: RawObject,
  { manager, subresource, patch, isForced }: Applied,
): RawObject | { readonly conflictWith: string } {
  const schema = schemas.get(path) ?? {};
  const writer: Writer = {
    manager,
    operation: 'Apply',
    ...(subresource === '' ? {} : { subresource }),
  };
  const intent = subresource === 'status' ? { status: patch.status } : { spec: patch.spec };
  const [wanted, live] = [leavesOf(partsOf(intent), schema), leavesOf(partsOf(before), schema)];
  const changed = new Set(
    [...wanted].flatMap(([text, { value }]) =>
      isDeepStrictEqual(live.get(text)?.value, value) ? [] : [text],
    ),
  );
  const owners = managedFieldsOf(before);
  const others = owners.filter((one) => !isBy(writer)(one));
  const rival = others.find((one) => pathsOf(one.fieldsV1).some((at) => changed.has(textOf(at))));
  if (rival !== undefined && !isForced) return { conflictWith: rival.manager };
  const left = others.map((one) => without(one, changed));
  const kept = new Set(left.flatMap((one) => pathsOf(one.fieldsV1).map(textOf)));
  const mine = pathsOf(owners.find(isBy(writer))?.fieldsV1 ?? {});
  const dropped = mine.filter((at) => !wanted.has(textOf(at)) && !kept.has(textOf(at)));
  const merged = mergedBySchema(partsOf(before), partsOf(intent), schema);
  const parts = withoutPaths(merged, dropped, schema) as Pick<RawObject, 'spec' | 'status'>;
  const metadata = { ...before.metadata, ...patch.metadata } as RawObject['metadata'];
  const after = { ...before, spec: undefined, status: undefined, ...parts, metadata };
  const paths = [...wanted.values()].map((leaf) => leaf.path);
  return noted(after, added(left, writer, paths));
}
