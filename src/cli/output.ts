// How answers leave a command: as text for people, or as JSON or YAML for programs; and progress beside them.

import { type Command, InvalidArgumentError, Option } from 'commander';
import { stringify } from 'yaml';
import type { CliContext } from './context.ts';

export const FORMATS = ['text', 'json', 'yaml'] as const;
export type Format = (typeof FORMATS)[number];

export const withOutput = (command: Command): Command =>
  command.addOption(
    new Option('-o, --output <format>', 'text for people, json or yaml for programs')
      .choices(FORMATS)
      .default('text'),
  );

/** `text` is asked for only when people read. */
export function writeAnswer(
  context: CliContext,
  format: Format,
  answer: { readonly data: unknown; readonly text: () => string },
): void {
  switch (format) {
    case 'text':
      context.write(answer.text());
      break;
    case 'json':
      context.write(`${JSON.stringify(answer.data, null, 2)}\n`);
      break;
    case 'yaml':
      context.write(stringify(answer.data));
      break;
  }
}

/** A wait shorter than this needs no word. */
const PROGRESS_AFTER_MS = 2_000;

/** Says on stderr what is being waited for, once it has taken two seconds. */
export async function withProgress<T>(context: CliContext, doing: string, work: Promise<T>): Promise<T> {
  const timer = context.clock.timer(PROGRESS_AFTER_MS, 'progress', () =>
    context.complain(`eniwhere: ${doing} ...\n`),
  );
  try {
    return await work;
  } finally {
    timer.cancel();
  }
}

/** For options that may be given several times, or once with commas. */
export const collect = (text: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  ...text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== ''),
];

export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('A whole number, not negative.');
}
