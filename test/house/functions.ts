// Finds every function of a source file, with its length in lines.

import { type Token, tokenize } from './tokens.ts';

export interface FunctionSpan {
  /** `=>` for an arrow function. */
  readonly name: string;
  readonly firstLine: number;
  readonly lastLine: number;
}

export const lineCount = (span: FunctionSpan): number => span.lastLine - span.firstLine + 1;

/** Lines that belong to no function inside this one. */
export function ownLineCount(span: FunctionSpan, all: readonly FunctionSpan[]): number {
  const inner = all.filter(
    (other) => other !== span && other.firstLine >= span.firstLine && other.lastLine <= span.lastLine,
  );
  let count = 0;
  for (let line = span.firstLine; line <= span.lastLine; line += 1) {
    if (!inner.some((other) => other.firstLine <= line && line <= other.lastLine)) count += 1;
  }
  return count;
}

export function findFunctions(source: string): readonly FunctionSpan[] {
  const tokens = tokenize(source);
  const code: Code = { tokens, closing: matchBrackets(tokens) };
  return tokens.flatMap((token, at) => {
    const end = endOfFunction(code, at);
    const last = end === undefined ? undefined : tokens[end];
    return last ? [{ name: nameOf(code, at), firstLine: token.line, lastLine: lastLine(last) }] : [];
  });
}

interface Code {
  readonly tokens: readonly Token[];
  /** index of an opening bracket -> index of its closing one */
  readonly closing: ReadonlyMap<number, number>;
}

const openers = new Set(['(', '[', '{']);
const closers = new Set([')', ']', '}']);
/** Words that stand before a bracket and a block without making a function of them. */
const notNames = new Set(
  'if for while switch catch with await return typeof function of in new super import'.split(' '),
);
/** Words that a type goes on behind. */
const typePrefixes = new Set('keyof typeof readonly infer unique asserts new abstract | & -'.split(' '));
/** What joins two types into one. */
const typeJoints = new Set('| & => is extends ? : .'.split(' '));

const lastLine = (token: Token): number => token.line + token.text.split('\n').length - 1;

function nameOf(code: Code, at: number): string {
  const [first, second] = [code.tokens[at], code.tokens[at + 1]];
  return first?.text === 'function' && second?.kind === 'word' ? second.text : (first?.text ?? '');
}

/** Index of the last token of the function that begins at `at`, if one does. */
function endOfFunction(code: Code, at: number): number | undefined {
  const token = code.tokens[at];
  if (token?.kind === 'punctuation' && token.text === '=>') return endOfArrow(code, at + 1);
  if (token?.kind !== 'word') return undefined;
  if (token.text === 'function') {
    const name = isAt(code, at + 1, '*') ? at + 2 : at + 1;
    return endOfBody(code, code.tokens[name]?.kind === 'word' ? name + 1 : name);
  }
  const before = code.tokens[at - 1]?.text ?? '';
  if (notNames.has(token.text) || before === 'function' || before === '*') return undefined;
  return endOfBody(code, at + 1);
}

/** From behind a function's name: type parameters, parameters, return type, body. */
function endOfBody(code: Code, at: number): number | undefined {
  const parameters = isAt(code, at, '<') ? behindAngles(code, at) : at;
  if (parameters === undefined || !isAt(code, parameters, '(')) return undefined;
  const behind = (code.closing.get(parameters) ?? Number.NaN) + 1;
  const body = isAt(code, behind, ':') ? behindType(code, behind + 1) : behind;
  return body !== undefined && isAt(code, body, '{') ? code.closing.get(body) : undefined;
}

function endOfArrow(code: Code, at: number): number | undefined {
  if (isAt(code, at, '{')) return code.closing.get(at);
  let end = at;
  while (end < code.tokens.length) {
    const token = code.tokens[end];
    if (
      token?.kind === 'punctuation' &&
      (closers.has(token.text) || token.text === ',' || token.text === ';')
    )
      break;
    end = (code.closing.get(end) ?? end) + 1;
  }
  return end - 1;
}

/** Index of the first token that no longer belongs to the type that begins at `at`. */
function behindType(code: Code, start: number): number | undefined {
  let at = start;
  let complete = false;
  while (at < code.tokens.length) {
    const text = code.tokens[at]?.text ?? '';
    const isWord = code.tokens[at]?.kind !== 'punctuation';
    if (complete && isAt(code, at, '<')) {
      const behind = behindAngles(code, at);
      if (behind === undefined) return undefined;
      at = behind;
    } else if (complete && typeJoints.has(text)) {
      complete = false;
      at += 1;
    } else if (complete && !isAt(code, at, '[')) return at;
    else if (!complete && typePrefixes.has(text)) at += 1;
    else if (isWord || openers.has(text)) {
      complete = true;
      at = (code.closing.get(at) ?? at) + 1;
    } else return undefined;
  }
  return undefined;
}

/** From `<` to behind its `>`; undefined where it is a comparison. */
function behindAngles(code: Code, start: number): number | undefined {
  let depth = 0;
  let at = start;
  while (at < code.tokens.length) {
    if (isAt(code, at, '<')) depth += 1;
    if (isAt(code, at, '>')) depth -= 1;
    if (depth === 0) return at + 1;
    if (isAt(code, at, ';') || isAt(code, at, ')') || isAt(code, at, '}')) return undefined;
    at = (code.closing.get(at) ?? at) + 1;
  }
  return undefined;
}

function isAt(code: Code, at: number, text: string): boolean {
  const token = code.tokens[at];
  return token?.kind === 'punctuation' && token.text === text;
}

function matchBrackets(tokens: readonly Token[]): ReadonlyMap<number, number> {
  const closing = new Map<number, number>();
  const open: number[] = [];
  for (const [at, token] of tokens.entries()) {
    if (token.kind !== 'punctuation') continue;
    if (openers.has(token.text)) open.push(at);
    else if (closers.has(token.text)) {
      const opener = open.pop();
      if (opener !== undefined) closing.set(opener, at);
    }
  }
  return closing;
}
