// The command line of the agent's own executable, which loads nothing but the agent.

import { Command, CommanderError } from 'commander';
import { addAgent, type AgentContext } from './agent.ts';
import { type CliContext, EXIT } from './context.ts';

/** Runs one command line (without the program's own name) and answers its exit code. */
export async function runAgentCli(
  args: readonly string[],
  context: AgentContext & Pick<CliContext, 'version'>,
): Promise<number> {
  let exitCode: number = EXIT.ok;
  const program = new Command('eniwhere-agent')
    .version(context.version, '-V, --version')
    .exitOverride()
    .showHelpAfterError('(--help lists commands and options)')
    .configureOutput({ writeOut: context.write, writeErr: context.complain });
  addAgent(program, context, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
}
