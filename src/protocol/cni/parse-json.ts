// JSON.parse whose error says where: the engines differ in whether, and how, they name the place.

import { err, ok, type Result } from '../../domain/result.ts';

/** Deeper nesting than any configuration has; JSON.parse itself would overflow the stack far beyond. */
const DEPTH_MAX = 256;

/** The value, or a sentence with line and column (both from 1) of the first character that cannot be. */
export function parseJson(text: string): Result<unknown, string> {
  const flaw = findFlaw(text);
  if (flaw !== undefined) return err(describeFlaw(text, flaw));
  return ok(JSON.parse(text));
}

interface Flaw {
  /** Index into the text; its length where the text ends too early. */
  readonly at: number;
  readonly expected: string;
}

function describeFlaw(text: string, { at, expected }: Flaw): string {
  const lines = text.slice(0, at).split('\n');
  const place = `line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`;
  const character = text[at];
  const found = character === undefined ? 'the text ends' : `found ${JSON.stringify(character)}`;
  return `${place}: expected ${expected}, ${found}`;
}

/** The grammar of RFC 8259, as far as telling what is not in it. */
function findFlaw(text: string): Flaw | undefined {
  const end = readValue(text, skipSpace(text, 0), 0);
  if (typeof end !== 'number') return end;
  const rest = skipSpace(text, end);
  return rest === text.length ? undefined : { at: rest, expected: 'nothing after the value' };
}

/** Where the value ends, or the flaw in it. */
function readValue(text: string, at: number, depth: number): number | Flaw {
  if (depth > DEPTH_MAX) return { at, expected: `at most ${DEPTH_MAX} levels of nesting` };
  switch (text[at]) {
    case '{':
      return readMembers(text, at, { close: '}', keyed: true, depth });
    case '[':
      return readMembers(text, at, { close: ']', keyed: false, depth });
    case '"':
      return readString(text, at);
    default:
      return readScalar(text, at);
  }
}

interface Container {
  readonly close: '}' | ']';
  readonly keyed: boolean;
  readonly depth: number;
}

function readMembers(text: string, open: number, { close, keyed, depth }: Container): number | Flaw {
  let at = skipSpace(text, open + 1);
  if (text[at] === close) return at + 1;
  for (;;) {
    if (keyed) {
      if (text[at] !== '"') return { at, expected: 'a key in double quotes' };
      const keyEnd = readString(text, at);
      if (typeof keyEnd !== 'number') return keyEnd;
      at = skipSpace(text, keyEnd);
      if (text[at] !== ':') return { at, expected: '":" after the key' };
      at = skipSpace(text, at + 1);
    }
    const end = readValue(text, at, depth + 1);
    if (typeof end !== 'number') return end;
    at = skipSpace(text, end);
    if (text[at] === close) return at + 1;
    if (text[at] !== ',') return { at, expected: `"," or "${close}"` };
    at = skipSpace(text, at + 1);
  }
}

function readString(text: string, open: number): number | Flaw {
  for (let at = open + 1; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (character === '"') return at + 1;
    if (character < ' ') return { at, expected: 'no raw control character in a string' };
    if (character !== '\\') continue;
    at += 1;
    if (text[at] === 'u') {
      for (let digit = 1; digit <= 4; digit += 1) {
        if (!/^[0-9a-fA-F]$/.test(text[at + digit] ?? '')) return { at: at + digit, expected: 'a hex digit' };
      }
      at += 4;
    } else if (!/^["\\/bfnrt]$/.test(text[at] ?? '')) {
      return { at: Math.min(at, text.length), expected: 'an escape such as \\n or \\u0041' };
    }
  }
  return { at: text.length, expected: "the string's closing quote" };
}

function readScalar(text: string, at: number): number | Flaw {
  const pattern = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
  pattern.lastIndex = at;
  const match = pattern.exec(text);
  return match === null ? { at, expected: 'a value' } : at + match[0].length;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && ' \t\n\r'.includes(text[at] ?? 'x')) at += 1;
  return at;
}
