// The command line: its commands, help and exit codes.

import { Command, CommanderError, Help, type Option } from 'commander';
import { addAgent } from './agent.ts';
import { addCompletion } from './completion.ts';
import { type CliContext, EXIT } from './context.ts';
import { addDoctor } from './doctor.ts';
import { addExplain } from './explain.ts';
import { addIamPolicy } from './iam-policy.ts';
import { addLabEc2 } from './lab-ec2.ts';
import { addLabSimulate } from './lab-simulate.ts';
import { addLabRun } from './lab-run.ts';
import { addLabUp } from './lab-up.ts';
import { addMaxPods } from './max-pods.ts';
import { addPlan } from './plan.ts';
import { addStatus } from './status.ts';
import { addUserData } from './userdata.ts';

/** Runs one command line (without the program's own name) and answers its exit code. */
export async function runCli(args: readonly string[], context: CliContext): Promise<number> {
  let exitCode: number = EXIT.ok;
  const program = createProgram(context, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Commander ends with an error also after printing help or the version; then its own exit code is 0.
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
}

function createProgram(context: CliContext, end: (exitCode: number) => void): Command {
  const program = new Command(context.programName)
    .description('VPC-native pod networking for Kubernetes on AWS: any pod, any subnet, any security group.')
    .version(context.version, '-V, --version')
    .exitOverride()
    .showHelpAfterError('(--help lists commands and options)')
    .configureOutput({ writeOut: context.write, writeErr: context.complain })
    .configureHelp({ optionDescription: describeOption });
  const lab = program
    .command('lab')
    .summary('try the whole system on this machine, without AWS')
    .description(
      'Runs the controller and agents on this machine over a simulated EC2 and cluster, and a VPC of network namespaces or in ' +
        'memory. Nothing here reaches AWS.',
    )
    .addHelpText(
      'after',
      `
Examples:
  eniwhere lab run scenarios/demo.yaml
  eniwhere lab up scenarios/smoke.yaml
  eniwhere lab simulate --count 1000`,
    );
  addLabRun(lab, context, end);
  addLabUp(lab, context, end);
  addLabEc2(lab, context, end);
  addStatus(program, context, end);
  addExplain(program, context, end);
  addAgent(program.command('agent'), context, end);
  addDoctor(program, context, end);
  addMaxPods(program, context, end);
  addUserData(program, context, end);
  addPlan(program, context, end);
  addLabSimulate(lab, context, end);
  addIamPolicy(program, context);
  addCompletion(program, context);
  return program;
}

/** Commander's text, without defaults that say no more than that nothing is set. */
function describeOption(option: Option): string {
  const isNothing =
    option.defaultValue === false ||
    (typeof option.defaultValue === 'object' && JSON.stringify(option.defaultValue).length === 2);
  return new Help().optionDescription(
    isNothing ? Object.assign(Object.create(option) as Option, { defaultValue: undefined }) : option,
  );
}
