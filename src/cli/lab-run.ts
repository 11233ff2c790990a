// `eniwhere lab run`: plays a scenario once and says what held.

import { type Command, Option } from 'commander';
import { type CliContext, EC2_PLACES, type Ec2Place, NETWORKS, type NetworkWish } from './context.ts';
import { playScenario } from './play-scenario.ts';

interface LabOptions {
  readonly network: NetworkWish;
  readonly ec2: Ec2Place;
  readonly verbose: boolean;
}

/** Options that every lab command has. */
export const withLabOptions = (command: Command): Command =>
  command
    .argument('<scenario>', 'path of a scenario file (docs/scenario.md)')
    .addOption(
      new Option('--network <where>', 'where packets move: network namespaces (Linux), or nowhere')
        .choices(NETWORKS)
        .default('auto'),
    )
    .addOption(
      new Option(
        '--ec2 <where>',
        'where EC2 is: inside this process, or in another one, reached by the AWS SDK over HTTP',
      )
        .choices(EC2_PLACES)
        .default('inside'),
    )
    .option('--verbose', 'write the log of controller and agents to stderr', false);

export function addLabRun(lab: Command, context: CliContext, end: (exitCode: number) => void): void {
  withLabOptions(lab.command('run'))
    .summary('play a scenario and check its expectations')
    .description(
      'Starts a simulated EC2 and cluster, the controller, and an agent per node; plays the steps of the scenario, and ' +
        'checks each expectation with a real packet or a real object.',
    )
    .addHelpText(
      'after',
      `
Exit code: 0 when every expectation held, 1 when one did not, 2 when the file or the command line is wrong.

Examples:
  eniwhere lab run scenarios/demo.yaml
  eniwhere lab run scenarios/demo.yaml --network memory   # no packets: works anywhere, takes a second
  eniwhere lab run scenarios/demo.yaml --ec2 http         # controller and EC2 in different processes
  eniwhere lab run mine.yaml --verbose 2>run.log`,
    )
    .action(async (file: string, options: LabOptions) => {
      end(await playScenario(context, file, options));
    });
}
