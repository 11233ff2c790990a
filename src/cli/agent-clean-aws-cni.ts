// `eniwhere agent --clean-aws-cni`: removes what the AWS VPC CNI left on the node, and says what that was.

import type { AwsCniReport } from '../ports/aws-cni.ts';
import type { StackOutcome } from '../ports/network-stack.ts';
import type { AgentNode } from './agent-node.ts';
import { type CliContext, EXIT } from './context.ts';

/** The AWS CNI's network configuration. It comes before ours by its name, and the runtime takes the first. */
const AWS_CONFLIST = '10-aws.conflist';

/** What pods of the AWS CNI that still run need is kept, and its configuration with it. */
export async function cleanAwsCni(
  { awsCni, cni, awsCniVethPrefix }: AgentNode,
  { write, complain }: Pick<CliContext, 'write' | 'complain'>,
): Promise<number> {
  const outcome = await awsCni.removeAwsCniLeftovers(awsCniVethPrefix);
  if (outcome.kind !== 'ok') {
    complain(`the leftovers cannot be removed: ${describe(outcome)}\n`);
    return EXIT.broken;
  }
  const { leftovers, livePods, notes } = outcome.value;
  for (const leftover of leftovers) write(`removed: ${leftover}\n`);
  for (const note of notes) write(`kept: ${note}\n`);
  for (const { address, hostLink } of livePods) write(`still runs: pod ${address} at ${hostLink}\n`);
  if (livePods.length > 0) {
    write(
      `${livePods.length} pods of the AWS CNI still run here; drain the node and run this again to remove the rest\n`,
    );
    return EXIT.broken;
  }
  const config = await cni.removeConfig(AWS_CONFLIST);
  if (config.kind !== 'ok') {
    complain(
      `${AWS_CONFLIST} is not removed: ${config.kind === 'failed' ? config.failure.message : config.cause}\n`,
    );
    return EXIT.broken;
  }
  if (config.value) write(`removed: the network configuration ${AWS_CONFLIST}\n`);
  if (leftovers.length === 0 && !config.value) write('nothing of the AWS CNI is left on this node\n');
  return EXIT.ok;
}

const describe = (outcome: Exclude<StackOutcome<AwsCniReport>, { kind: 'ok' }>): string =>
  outcome.kind === 'failed' ? `${outcome.failure.step}: ${outcome.failure.message}` : outcome.cause;
