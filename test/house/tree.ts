// The project's files, as the house rules see them.

import { globSync, readFileSync } from 'node:fs';
import { findImports, type Graph, type Import, resolveImport } from './imports.ts';
import { type Token, tokenize } from './tokens.ts';

export interface SourceFile {
  /** From the top of the tree, such as `src/domain/ids.ts`. */
  readonly path: string;
  readonly text: string;
  readonly tokens: readonly Token[];
  readonly imports: readonly Import[];
}

/** Tests, contract suites, and what only they use (`testing.ts`, `testing-pods.ts`). */
export const isTest = (path: string): boolean =>
  path.startsWith('test/') || /\.(test|contract)\.ts$|\/testing(-[a-z-]+)?\.ts$/.test(path);

export function sourceFile(path: string, text: string): SourceFile {
  return { path, text, tokens: tokenize(text), imports: findImports(text) };
}

/** Part of the product, not of its tests. */
export const isProduct = (file: SourceFile): boolean => file.path.startsWith('src/') && !isTest(file.path);

/** Whether the file lies in one of these folders of src/. */
export const under = (file: SourceFile, ...folders: readonly string[]): boolean =>
  folders.some((folder) => file.path.startsWith(`src/${folder}/`));

/** All TypeScript of the project: product, tests, benchmarks, scripts. */
export const sourceFiles: readonly SourceFile[] = globSync([
  'src/**/*.ts',
  'test/**/*.ts',
  'bench/**/*.ts',
  'scripts/**/*.ts',
])
  .sort()
  .map((path) => sourceFile(path, readFileSync(path, 'utf8')));

export const productFiles: readonly SourceFile[] = sourceFiles.filter(isProduct);

/** Markdown that people read: at the top and under docs/. */
export const documents: ReadonlyMap<string, string> = new Map(
  globSync(['*.md', 'docs/**/*.md', 'deploy/**/*.md'])
    .sort()
    .map((path) => [path, readFileSync(path, 'utf8')]),
);

/** What is loaded together: sources that are started apart do not count. */
export const importGraph = (files: readonly SourceFile[]): Graph =>
  new Map(
    files.map((file) => [
      file.path,
      file.imports
        .filter((one) => !one.started)
        .flatMap((one) => resolveImport(file.path, one.specifier) ?? []),
    ]),
  );

/** `src/a.ts:3`: something that an editor can open. */
export const place = (file: SourceFile, line: number): string => `${file.path}:${line}`;
