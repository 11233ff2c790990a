// Fields that releases before server-side apply wrote are taken over, so that they can be taken away one day.

import { z } from 'zod';

interface Fields {
  readonly [key: string]: Fields;
}

const fields: z.ZodType<Fields> = z.record(
  z.string(),
  z.lazy(() => fields),
);

const entry = z.looseObject({
  manager: z.string(),
  operation: z.enum(['Apply', 'Update']),
  subresource: z.string().optional(),
  fieldsV1: fields,
});
type Entry = z.output<typeof entry>;

const written = z.object({ metadata: z.object({ managedFields: z.array(entry) }) });

/**
 * `metadata.managedFields` of an object as answered, with what `managers` own of its status by Update added to what they
 * own by Apply, as client-go's csaupgrade does it; undefined: there is nothing to take over. The API server counts the
 * two as two owners, and a field goes only when its last owner lets go of it. Only of the status: the owner reference of
 * a NodeNetwork was never applied, and a spec is one field, which moves whole with the first apply that changes it.
 */
export function takenOver(object: unknown, managers: readonly string[]): readonly unknown[] | undefined {
  const read = written.safeParse(object);
  if (!read.success) return undefined;
  const { managedFields } = read.data.metadata;
  const isOld = (one: Entry): boolean =>
    one.operation === 'Update' && one.subresource === 'status' && managers.includes(one.manager);
  if (!managedFields.some(isOld)) return undefined;
  const kept = managedFields.filter((one) => !isOld(one));
  for (const old of managedFields.filter(isOld)) {
    const at = kept.findIndex((one) => one.manager === old.manager && one.subresource === 'status');
    const applied = kept[at];
    if (applied === undefined) kept.push({ ...old, operation: 'Apply' });
    else kept[at] = { ...applied, fieldsV1: union(applied.fieldsV1, old.fieldsV1) };
  }
  return kept;
}

function union(a: Fields, b: Fields): Fields {
  const all: Record<string, Fields> = { ...a };
  for (const [key, value] of Object.entries(b)) all[key] = union(all[key] ?? {}, value);
  return all;
}
