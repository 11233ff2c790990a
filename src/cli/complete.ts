// What could be typed next: read off the commands themselves.

import type { Command, Option } from 'commander';

export interface Completion {
  readonly word: string;
  readonly about: string;
}

/** `words`: what follows the program's name, the word under the cursor last, which may be empty. */
export function completionsFor(program: Command, words: readonly string[]): readonly Completion[] {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? '';
  const command = commandOf(program, before);
  const pending = optionAwaitingValue(command, before.at(-1) ?? '');
  const found =
    pending === undefined
      ? current.startsWith('-')
        ? optionsOf(command)
        : [...subcommandsOf(command), ...choicesOfArgument(command)]
      : choicesOf(pending);
  return found.filter(({ word }) => word.startsWith(current));
}

/** The command that the words lead to; the values of options are passed over. */
function commandOf(program: Command, words: readonly string[]): Command {
  let command = program;
  for (const [index, word] of words.entries()) {
    if (word.startsWith('-') || optionAwaitingValue(command, words[index - 1] ?? '') !== undefined) continue;
    command = command.commands.find((one) => one.name() === word) ?? command;
  }
  return command;
}

function optionAwaitingValue(command: Command, word: string): Option | undefined {
  const option = command.options.find((one) => one.long === word || one.short === word);
  return option?.required === true ? option : undefined;
}

const choicesOf = (option: Option): readonly Completion[] =>
  (option.argChoices ?? []).map((word) => ({ word, about: option.description }));

const optionsOf = (command: Command): readonly Completion[] => [
  ...command.options.flatMap((one) =>
    one.long === undefined ? [] : [{ word: one.long, about: one.description }],
  ),
  { word: '--help', about: 'display help for command' },
];

const subcommandsOf = (command: Command): readonly Completion[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .map((one) => ({
      word: one.name(),
      about: one.summary() || one.description(),
    }));

const choicesOfArgument = (command: Command): readonly Completion[] =>
  command.registeredArguments.flatMap((one) =>
    (one.argChoices ?? []).map((word) => ({ word, about: one.description })),
  );
