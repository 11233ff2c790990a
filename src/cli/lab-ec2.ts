// `eniwhere lab ec2`: the simulated EC2 on a port, for the AWS SDKs and command-line tools, and for a controller elsewhere.

import { type Command, InvalidArgumentError } from 'commander';
import { type Fault, parseFault } from '../lab/scenario/fault.ts';
import { parseScenario, showMistakes } from '../lab/scenario/parse-scenario.ts';
import type { Scenario } from '../lab/scenario/scenario.ts';
import { err, ok, type Result } from '../domain/result.ts';
import { type CliContext, EXIT } from './context.ts';

interface Options {
  readonly host: string;
  readonly port: number;
  readonly world?: string;
  readonly fault: readonly Fault[];
}

const PORT_MAX = 65_535;

function port(text: string): number {
  const value = Number(text);
  if (/^\d{1,5}$/.test(text) && value <= PORT_MAX) return value;
  throw new InvalidArgumentError(`A port is a whole number from 0 (any free one) to ${PORT_MAX}.`);
}

function fault(text: string, before: readonly Fault[]): readonly Fault[] {
  const parsed = parseFault(text);
  if (!parsed.ok) throw new InvalidArgumentError(parsed.error);
  return [...before, parsed.value];
}

export function addLabEc2(lab: Command, context: CliContext, end: (exitCode: number) => void): void {
  lab
    .command('ec2')
    .summary('serve the simulated EC2 by the EC2 query protocol, for any AWS client')
    .description(
      "Serves a simulated EC2 with AWS's limits, delays and error codes on a local port, until Ctrl-C. It checks no " +
        'signature. The port also takes the calls by which `lab run --ec2 http` changes the world, so keep it from strangers.',
    )
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 takes any free one', port, 0)
    .option('--world <scenario>', 'scenario file whose VPC, instances and faults it begins with')
    .option(
      '--fault <fault>',
      'ACTION:EFFECT[:odds=N][:times=N], as in AttachNetworkInterface:throttle:times=3 (docs/lab.md); may be repeated',
      fault,
      [],
    )
    .addHelpText(
      'after',
      `
Examples:
  eniwhere lab ec2 --port 4570 --world scenarios/demo.yaml
  eniwhere lab ec2 --port 4570 --fault 'Describe*:stale=15000:odds=0.3' --fault CreateNetworkInterface:drop-answer:times=1
  aws ec2 describe-network-interfaces --endpoint-url http://127.0.0.1:4570`,
    )
    .action(async (options: Options) => {
      end(await serve(context, options));
    });
}

async function serve(context: CliContext, { host, port, world, fault }: Options): Promise<number> {
  const scenario = world === undefined ? ok(undefined) : await readWorld(context, world);
  if (!scenario.ok) {
    context.complain(`${scenario.error}\n`);
    return EXIT.usage;
  }
  const answer = await context.serveEc2({
    host,
    port,
    faults: fault,
    ...(scenario.value === undefined ? {} : { scenario: scenario.value }),
  });
  if (answer.kind === 'Impossible') {
    context.complain(`eniwhere: ${answer.message}\n`);
    return EXIT.usage;
  }
  context.write(`the simulated EC2 listens on ${answer.url}\n`);
  for (const [node, instanceId] of answer.instances) context.write(`  ${node}  ${instanceId}\n`);
  await context.whenInterrupted;
  await answer.close();
  return EXIT.ok;
}

async function readWorld(context: CliContext, file: string): Promise<Result<Scenario, string>> {
  const text = await context.readFile(file);
  if (!text.ok) return err(`eniwhere: ${text.error}`);
  const scenario = parseScenario(text.value);
  return scenario.ok ? scenario : err(showMistakes(file, scenario.error));
}
