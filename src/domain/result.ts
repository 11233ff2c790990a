// How a pure function reports that an input is wrong: as a value, never by throwing.

export type Result<T, E> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: E };

export const ok = <T>(value: T): { readonly ok: true; readonly value: T } => ({ ok: true, value });
export const err = <E>(error: E): { readonly ok: false; readonly error: E } => ({ ok: false, error });

/** Throws on a broken internal rule: a programming mistake, never a person's or the world's. */
export function assert(condition: boolean, rule: string): asserts condition {
  if (!condition) throw new Error(`internal rule broken: ${rule}`);
}
