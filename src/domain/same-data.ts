// Structural equality of plain data.

/** True when two values of plain data (objects, arrays, primitives) have the same content. Absent and `undefined` differ not. */
export function sameData(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) return Array.isArray(a) && Array.isArray(b) && sameLists(a, b);
  return sameRecords(a as Plain, b as Plain);
}

type Plain = Readonly<Record<string, unknown>>;

function sameLists(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) if (!sameData(a[index], b[index])) return false;
  return true;
}

/** Asked for every node of a cluster all the time, so it makes no lists of keys. */
function sameRecords(a: Plain, b: Plain): boolean {
  for (const key in a) if (!sameData(a[key], b[key])) return false;
  for (const key in b) if (b[key] !== undefined && a[key] === undefined) return false;
  return true;
}
