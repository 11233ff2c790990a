// `eniwhere agent`: the daemon of a node, and what a person does with it there.

import type { Command } from 'commander';
import { cleanAwsCni } from './agent-clean-aws-cni.ts';
import type { AgentNode } from './agent-node.ts';
import { writeSupportBundle } from './agent-support-bundle.ts';
import { uninstallAgent } from './agent-uninstall.ts';
import { type CliContext, EXIT } from './context.ts';

export type AgentContext = Pick<CliContext, 'write' | 'complain' | 'agent'>;

interface AgentOptions {
  readonly uninstall?: true;
  readonly cleanAwsCni?: true;
  readonly force?: true;
}

/** Adds the command to the program, or makes the program itself one. */
export function addAgent(command: Command, context: AgentContext, end: (exitCode: number) => void): void {
  command
    .summary('run the agent of this node, or look after what it keeps here')
    .description(
      'Without an option, runs the agent of this node until it is stopped. With one, looks after what it keeps here, and ends.',
    )
    .option('--uninstall', 'remove the CNI configuration and the plugin from this node, and end')
    .option('--force', 'with --uninstall: also while pods of Eniwhere live here')
    .option('--clean-aws-cni', 'remove what the AWS VPC CNI left on this node, and end')
    .addHelpText(
      'after',
      `
Settings are taken from the environment; docs/node-reference.md lists them.

Examples:
  eniwhere agent --clean-aws-cni
  eniwhere agent support-bundle --out /tmp/node-1.tar.gz`,
    )
    .action(async ({ uninstall, cleanAwsCni: clean, force }: AgentOptions) => {
      if (uninstall && clean) {
        context.complain('--uninstall and --clean-aws-cni are two commands; give one of them\n');
        end(EXIT.usage);
      } else if (uninstall) {
        end(await withNode(context, [], (node) => uninstallAgent(node, context, force ?? false)));
      } else if (clean) {
        end(await withNode(context, [], (node) => cleanAwsCni(node, context)));
      } else {
        const agent = await context.agent();
        end(await agent.run());
      }
    });
  command
    .command('support-bundle')
    .summary('collect what a maintainer needs to know of this node, without secrets, into one file')
    .description(
      'Collects what a maintainer needs to know of this node into one .tar.gz: versions, settings, metrics, the journal, links, ' +
        'rules, routes, nftables, sysctls, and the ends of logs. Tokens, keys and passwords are taken out.',
    )
    .option('--out <file>', 'the file to write', 'eniwhere-support.tar.gz')
    .option('--log <file>', 'a log file whose end is added; may be given several times', another, [])
    .addHelpText(
      'after',
      `
Examples:
  eniwhere agent support-bundle
  eniwhere agent support-bundle --out /tmp/node-1.tar.gz --log /var/log/eniwhere.log`,
    )
    .action(async ({ out, log }: { readonly out: string; readonly log: readonly string[] }) => {
      end(await withNode(context, log, (node) => writeSupportBundle(node, context, out)));
    });
}

const another = (path: string, before: readonly string[]): readonly string[] => [...before, path];

async function withNode(
  { agent, complain }: AgentContext,
  logPaths: readonly string[],
  run: (node: AgentNode) => Promise<number>,
): Promise<number> {
  const commands = await agent();
  const node = await commands.openNode({ logPaths });
  if (!node.ok) {
    for (const mistake of node.error) complain(`${mistake}\n`);
    return EXIT.usage;
  }
  try {
    return await run(node.value);
  } finally {
    await node.value.close();
  }
}
