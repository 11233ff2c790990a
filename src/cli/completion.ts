// `eniwhere completion`: scripts for shells. They ask the program itself what could be typed next.

import { Argument, type Command } from 'commander';
import { type Completion, completionsFor } from './complete.ts';
import type { CliContext } from './context.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# eniwhere completion for bash: source <(eniwhere completion bash)
_eniwhere() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <(eniwhere __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _eniwhere eniwhere
`,
  zsh: `#compdef eniwhere
# eniwhere completion for zsh: source <(eniwhere completion zsh)
_eniwhere() {
  local -a found
  local line
  while IFS= read -r line; do
    found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done < <(eniwhere __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#found} )); then _describe eniwhere found; else _files; fi
}
# As a file of fpath this is the body of _eniwhere, run for the first time when something is to be completed.
if [[ $funcstack[1] = _eniwhere ]]; then _eniwhere "$@"; else compdef _eniwhere eniwhere; fi
`,
  fish: `# eniwhere completion for fish: eniwhere completion fish | source
function __eniwhere_complete
  set -l words (commandline -opc) (commandline -ct)
  eniwhere __complete -- $words[2..] 2>/dev/null
end
complete -c eniwhere -f -a '(__eniwhere_complete)'
`,
};

export function addCompletion(program: Command, context: CliContext): void {
  program
    .command('completion')
    .summary('print the completion script of a shell')
    .description(
      'Prints a script that completes commands, options and their values. `kubectl eniwhere` needs none: kubectl 1.26 and ' +
        'later asks kubectl_complete-eniwhere, which is installed beside the program.',
    )
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText(
      'after',
      `
Examples:
  source <(eniwhere completion bash)
  eniwhere completion zsh > "\${fpath[1]}/_eniwhere"
  eniwhere completion fish > ~/.config/fish/completions/eniwhere.fish`,
    )
    .action((shell: Shell) => {
      context.write(SCRIPTS[shell]);
    });
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .option('--kubectl', 'in the form that kubectl reads', false)
    .action((words: readonly string[], { kubectl }: { readonly kubectl: boolean }) => {
      const found = completionsFor(program, words);
      context.write(kubectl ? forKubectl(found) : lines(found));
    });
}

/** A word, a tab, and the first line of what it is for. */
const lines = (found: readonly Completion[]): string =>
  found.map(({ word, about }) => `${word}\t${about.split('\n')[0] ?? ''}\n`).join('');

/**
 * As programs made with cobra answer: the words, and last a directive.
 * https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/#shell-completion
 */
const forKubectl = (found: readonly Completion[]): string =>
  `${lines(found)}:${found.length === 0 ? FILES_ALLOWED : NO_FILES}\n`;
const FILES_ALLOWED = 0;
const NO_FILES = 4;
