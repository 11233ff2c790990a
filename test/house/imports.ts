// Reads what a source file imports, and follows the imports through the tree.

import { dirname, join } from 'node:path/posix';
import { type Token, tokenize } from './tokens.ts';

export interface Import {
  /** `./x.ts`, `node:fs` or a package. */
  readonly specifier: string;
  readonly line: number;
  /** Erased before the code runs. */
  readonly typeOnly: boolean;
  /** A source named by `new URL(..., import.meta.url)`: started in a thread or process of its own, not loaded. */
  readonly started: boolean;
}

/** Static and dynamic imports, re-exports, and the sources that are started. */
export function findImports(source: string): readonly Import[] {
  const tokens = tokenize(source);
  return tokens.flatMap((token, at) => {
    if (token.kind !== 'word' || tokens[at - 1]?.text === '.') return [];
    const started = token.text === 'URL';
    const isImport = token.text === 'import' || token.text === 'export';
    const specifier = isImport
      ? specifierOf(tokens, at)?.text
      : started
        ? startedSource(tokens, at)
        : undefined;
    if (specifier === undefined) return [];
    const typeOnly = tokens[at + 1]?.text === 'type' && tokens[at + 2]?.text !== 'from';
    return [{ specifier, line: token.line, typeOnly, started }];
  });
}

function specifierOf(tokens: readonly Token[], at: number): Token | undefined {
  const next = tokens[at + 1];
  const isImport = tokens[at]?.text === 'import';
  if (isImport && next?.kind === 'string') return next;
  if (isImport && next?.text === '(') return tokens[at + 2]?.kind === 'string' ? tokens[at + 2] : undefined;
  const start = next?.text === 'type' ? at + 2 : at + 1;
  // `export const`, `export function` and the like have no `from`.
  if (!isImport && tokens[start]?.text !== '{' && tokens[start]?.text !== '*') return undefined;
  for (let index = start; index < tokens.length; index += 1) {
    const [word, text] = [tokens[index], tokens[index + 1]];
    if (word?.text === ';' || word?.text === '=') return undefined;
    if (word?.kind === 'word' && word.text === 'from' && text?.kind === 'string') return text;
  }
  return undefined;
}

/** `new URL('a.ts', import.meta.url)` -> `./a.ts`; other files are data, not sources. */
function startedSource(tokens: readonly Token[], at: number): string | undefined {
  const [open, text, comma, base] = tokens.slice(at + 1, at + 5);
  if (open?.text !== '(' || comma?.text !== ',' || base?.text !== 'import') return undefined;
  if (text?.kind !== 'string' || !text.text.endsWith('.ts')) return undefined;
  return text.text.startsWith('.') ? text.text : `./${text.text}`;
}

/** The file that a relative import names, as a path from the top of the tree; undefined for packages. */
export const resolveImport = (from: string, specifier: string): string | undefined =>
  specifier.startsWith('.') ? join(dirname(from), specifier) : undefined;

/** file -> the files it imports */
export type Graph = ReadonlyMap<string, readonly string[]>;

/** Everything that `start` reaches, itself included. */
export function reachable(graph: Graph, start: string): ReadonlySet<string> {
  const seen = new Set([start]);
  // A Set hands out what is added while it is walked.
  for (const file of seen) for (const next of graph.get(file) ?? []) seen.add(next);
  return seen;
}

/** One cycle, from a file back to itself, if there is any. */
export function findCycle(graph: Graph): readonly string[] | undefined {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): readonly string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    path.push(file);
    for (const next of graph.get(file) ?? []) {
      const cycle = visit(next);
      if (cycle !== undefined) return cycle;
    }
    path.pop();
    done.add(file);
    return undefined;
  };
  for (const file of graph.keys()) {
    const cycle = visit(file);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}
