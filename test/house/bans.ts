// What code may not say, and where.

import { isProduct, place, type SourceFile, under } from './tree.ts';

interface Ban {
  readonly where: (file: SourceFile) => boolean;
  /** Found in the file's tokens, joined with single spaces, strings and comments left out. */
  readonly pattern: RegExp;
  readonly why: string;
}

const everywhere = (): boolean => true;
const entersNamespaces = (file: SourceFile): boolean =>
  /\binsideNamespace\b/.test(file.text) && under(file, 'adapters/linux') && isProduct(file);
/** A function of the simulation's seed: no clock, chance or locale of its own. */
const isDeterministic = (file: SourceFile): boolean =>
  isProduct(file) &&
  under(file, 'domain', 'protocol', 'ports', 'controller', 'agent', 'lab') &&
  !under(file, 'lab/fabric', 'lab/ec2-http');

const bans: readonly Ban[] = [
  {
    where: isDeterministic,
    pattern:
      /\b(Date|performance|setTimeout|setInterval|setImmediate|crypto|randomUUID|fetch|WeakRef|FinalizationRegistry)\b/g,
    why: 'time, chance and I/O come through ports',
  },
  {
    where: (file) => isDeterministic(file) || under(file, 'cli'),
    pattern: /\bMath \. random\b|\bAbortSignal \. timeout\b|\b(localeCompare|toLocale\w+)\b/g,
    why: 'the same run must give the same answer everywhere: take a port, compare by code unit',
  },
  {
    where: (file) => isProduct(file) && under(file, 'domain'),
    pattern: /\b(async|await|Promise|process|globalThis|console)\b/g,
    why: 'domain is pure and synchronous',
  },
  {
    where: entersNamespaces,
    pattern: /\b(async|await|Promise|queueMicrotask|setTimeout|setImmediate)\b|\. then \(/g,
    why: 'one asynchronous call inside a namespace makes pool threads there, for good',
  },
  {
    // A `-process.ts` is the main file of a child process.
    where: (file) => isProduct(file) && !under(file, 'bin') && !file.path.endsWith('-process.ts'),
    pattern: /\bprocess \. (env|argv|exit)\b/g,
    why: 'only bin/ reads the environment and the arguments, and ends the process',
  },
  {
    where: everywhere,
    pattern: /(: |< |\bas |\| )any\b(?! [(:?=])/g,
    why: 'say what it is, or take unknown and narrow it',
  },
  {
    where: (file) => isProduct(file) && !/\bclass \w+ extends Error\b/.test(file.text),
    pattern: /\b(this|class)\b(?! :)/g,
    why: 'functions over data, so that a method can be passed around; only errors are classes',
  },
  {
    where: everywhere,
    pattern: /\bcatch (\( \w+ (: \w+ )?\) )?\{ \}/g,
    why: 'a swallowed error: handle it, or say in a named function why it is nothing',
  },
  {
    where: everywhere,
    pattern:
      /\b(test|it|describe|suite) \. (only|skip|todo) \(|\b(only|skip|todo) : true\b|\. (skip|todo) \( \)/g,
    why: "run every test; one that cannot run here says why: { skip: 'needs root' }",
  },
];

export interface BanFault {
  /** `file:line`. */
  readonly at: string;
  /** The words found, with single spaces between them. */
  readonly found: string;
  readonly why: string;
}

export function findBanned(file: SourceFile): readonly BanFault[] {
  const text = file.tokens
    .map((token) => (token.kind === 'word' || token.kind === 'punctuation' ? token.text : '""'))
    .join(' ');
  return bans
    .filter((ban) => ban.where(file))
    .flatMap((ban) =>
      [...text.matchAll(ban.pattern)].map((match) => {
        const token = file.tokens[text.slice(0, match.index).split(' ').length - 1];
        return { at: place(file, token?.line ?? 0), found: match[0].trim(), why: ban.why };
      }),
    );
}
