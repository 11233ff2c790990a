// Parameters of the EC2 query protocol: a flat form whose dotted names stand for lists and structures.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Query-Requests.html

import { err, ok, type Result } from '../../domain/result.ts';

export interface Params {
  /** First parts of all names: `Filter` for `Filter.1.Value.2`. */
  readonly names: readonly string[];
  text(name: string): string | undefined;
  /** Undefined when absent or no whole number. */
  integer(name: string): number | undefined;
  /** `Name.1`, `Name.2`, ... by their numbers. */
  texts(name: string): readonly string[];
  /** The structures `Name.1.*`, `Name.2.*`, ... by their numbers. */
  structures(name: string): readonly Params[];
}

/** More than any request needs: 200 values in each of some filters. */
const PARAMETERS_MAX = 10_000;

/** Parses an `application/x-www-form-urlencoded` body or query string. */
export function parseForm(form: string): Result<Params, string> {
  const fields = new Map(new URLSearchParams(form));
  return fields.size > PARAMETERS_MAX
    ? err(`the request has ${fields.size} parameters, the most is ${PARAMETERS_MAX}`)
    : ok(paramsOf(fields));
}

function paramsOf(fields: ReadonlyMap<string, string>): Params {
  return {
    names: [...new Set([...fields.keys()].map(firstPart))],
    text: (name) => fields.get(name),
    integer: (name) => {
      const text = fields.get(name);
      return text !== undefined && /^-?\d{1,9}$/.test(text) ? Number(text) : undefined;
    },
    texts: (name) =>
      numbered(fields, name).flatMap(({ rest }) => {
        const text = rest.get('');
        return text === undefined ? [] : [text];
      }),
    structures: (name) => numbered(fields, name).map(({ rest }) => paramsOf(rest)),
  };
}

const firstPart = (name: string): string => name.split('.', 1)[0] ?? name;

/** What lies under `name.NUMBER`, in the order of the numbers; the element itself has the empty name. */
function numbered(
  fields: ReadonlyMap<string, string>,
  name: string,
): readonly { readonly at: number; readonly rest: Map<string, string> }[] {
  const elements = new Map<number, Map<string, string>>();
  for (const [key, value] of fields) {
    if (!key.startsWith(`${name}.`)) continue;
    const tail = key.slice(name.length + 1);
    const number = firstPart(tail);
    if (!/^\d{1,9}$/.test(number)) continue;
    const at = Number(number);
    const rest = elements.get(at) ?? new Map<string, string>();
    elements.set(at, rest.set(tail.slice(number.length + 1), value));
  }
  return [...elements].map(([at, rest]) => ({ at, rest })).sort((a, b) => a.at - b.at);
}
