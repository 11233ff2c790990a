// Decoders for JSON values: each names the path at which a value is not what it should be.

import { err, ok, type Result } from '../../domain/result.ts';

/** Reads a value found at `path` (such as `prevResult.ips[0].address`); the error names the path. */
export type Decoder<T> = (value: unknown, path: string) => Result<T, string>;

type Fields<T> = { readonly [Key in keyof T]-?: Decoder<T[Key]> };

const kindOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value;

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const text: Decoder<string> = (value, path) =>
  typeof value === 'string' ? ok(value) : err(`${path} must be a string, it is ${kindOf(value)}`);

export const wholeNumber: Decoder<number> = (value, path) =>
  typeof value === 'number' && Number.isSafeInteger(value)
    ? ok(value)
    : err(`${path} must be a whole number, it is ${typeof value === 'number' ? value : kindOf(value)}`);

/** An object whose values are all strings. */
export const textMap: Decoder<Readonly<Record<string, string>>> = (value, path) => {
  if (!isObject(value)) return err(`${path} must be an object, it is ${kindOf(value)}`);
  const made: Record<string, string> = {};
  for (const [key, item] of Object.entries(value)) {
    const result = text(item, `${path}.${key}`);
    if (!result.ok) return result;
    made[key] = result.value;
  }
  return ok(made);
};

/** `undefined` where the value is missing or null: runtimes write both. */
export const optional =
  <T>(decoder: Decoder<T>): Decoder<T | undefined> =>
  (value, path) =>
    value === undefined || value === null ? ok(undefined) : decoder(value, path);

export const oneOf =
  <const T extends string>(...allowed: readonly T[]): Decoder<T> =>
  (value, path) => {
    const found = allowed.find((one) => one === value);
    return found === undefined
      ? err(`${path} must be ${allowed.map((one) => JSON.stringify(one)).join(' or ')}`)
      : ok(found);
  };

export const listOf =
  <T>(decoder: Decoder<T>): Decoder<readonly T[]> =>
  (value, path) => {
    if (!Array.isArray(value)) return err(`${path} must be a list, it is ${kindOf(value)}`);
    const items: T[] = [];
    for (const [n, item] of value.entries()) {
      const result = decoder(item, `${path}[${n}]`);
      if (!result.ok) return result;
      items.push(result.value);
    }
    return ok(items);
  };

/** An object with these fields; others are left out. A field that decodes to `undefined` is absent from the answer. */
export const object =
  <T>(fields: Fields<T>): Decoder<T> =>
  (value, path) => {
    if (!isObject(value)) return err(`${path} must be an object, it is ${kindOf(value)}`);
    const made: Record<string, unknown> = {};
    for (const [key, decoder] of Object.entries<Decoder<unknown>>(fields)) {
      const result = decoder(value[key], `${path}.${key}`);
      if (!result.ok) return result;
      if (result.value !== undefined) made[key] = result.value;
    }
    return ok(made as T);
  };
