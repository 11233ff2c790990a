// Reads the rules of SPEC.md, and which of them tests name.

import type { Token } from './tokens.ts';

export interface Rule {
  readonly id: string;
  /** Why it is not checked yet, if it is not. */
  readonly planned: string | undefined;
}

const idPattern = /[A-Z][A-Z0-9]*-\d+/;
const rulePattern = new RegExp(
  `^- \\*\\*(${idPattern.source})\\*\\*(?: [SL]\\.)?(?: \\*\\(planned: ([^)]+)\\)\\*)? \\S`,
);

export function readRules(spec: string): readonly Rule[] {
  return spec
    .split('\n')
    .filter((line) => line.startsWith('- **'))
    .map((line) => {
      const match = rulePattern.exec(line);
      // A rule that cannot be read must not vanish from the count.
      return { id: match?.[1] ?? `unreadable: ${line.slice(0, 40)}`, planned: match?.[2] };
    });
}

/** Ids in brackets in strings: `[IP-1] [IP-2] title`, `title [IP-1, IP-2]`. */
export function rulesNamed(tokens: readonly Token[]): readonly string[] {
  const group = new RegExp(`\\[(${idPattern.source}(?:,? ${idPattern.source})*)\\]`, 'g');
  return tokens
    .filter((token) => token.kind === 'string' || token.kind === 'template')
    .flatMap((token) => [...token.text.matchAll(group)])
    .flatMap((match) => (match[1] ?? '').split(/,? /));
}
