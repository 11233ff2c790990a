// `eniwhere max-pods`: how many pods an instance type can really give addresses to, with the sum written out.

import type { Command } from 'commander';
import type { InstanceLimits } from '../domain/instance/instance-limits.ts';
import { INSTANCE_TYPES_AS_OF, INSTANCE_TYPES_SOURCE } from '../domain/instance/instance-type-rows.ts';
import { INSTANCE_TYPES, knownLimits } from '../domain/instance/instance-types.ts';
import { answerMaxPods, type MaxPodsAnswer } from '../domain/instance/max-pods-answer.ts';
import { nearest } from '../lab/scenario/nearest.ts';
import { type CliContext, EXIT } from './context.ts';
import { collect, type Format, wholeNumber, withOutput, withProgress, writeAnswer } from './output.ts';

interface Options {
  readonly instanceType: readonly string[];
  readonly customNetworking: boolean;
  readonly prefix: boolean;
  readonly ipv6: boolean;
  readonly reservedEnis: number;
  readonly eniConfig: readonly string[];
  readonly region?: string;
  readonly offline: boolean;
  readonly output: Format;
}

/** Whose figures these are: EC2's of a Region, or the table's, and then why EC2 was not asked. */
export type LimitsSource =
  | { readonly kind: 'EC2'; readonly region: string }
  | { readonly kind: 'Table'; readonly asOf: string; readonly from: string; readonly why: string };

export function addMaxPods(program: Command, context: CliContext, end: (exitCode: number) => void): void {
  withOutput(program.command('max-pods'))
    .summary('how many pods an instance type can hold')
    .description(
      'Computes the max pods that kubelet should be told, with the sum written out: by the limits that EC2 answers when ' +
        'there are AWS credentials and a Region, else by the table that is shipped with this program.',
    )
    .requiredOption('--instance-type <types>', 'one or more, with commas or repeated', collect)
    .option('--custom-networking', 'pods live in subnets of ENIConfigs: the primary ENI serves none', false)
    .option('--prefix', 'slots hold /28 prefixes instead of single addresses', false)
    .option('--ipv6', 'pods have IPv6 alone; with both families the figure is that of IPv4', false)
    .option(
      '--reserved-enis <count>',
      'further ENIs that serve no pods, such as a trunk or those of other programs',
      wholeNumber,
      0,
    )
    .option(
      '--eni-config <names>',
      'ENIConfigs whose pods share the node, each on ENIs of its own (means --custom-networking)',
      collect,
      [],
    )
    .option('--region <name>', 'AWS Region to ask; AWS_REGION, or that of the profile or the instance')
    .option('--offline', 'do not ask EC2', false)
    .addHelpText(
      'after',
      `
Exit code: 0, or 2 when there is no right answer for one of the types: it is unknown, or no ENI is left for pods.

Examples:
  eniwhere max-pods --instance-type m5.large --custom-networking
  eniwhere max-pods --instance-type m5.large,m5.xlarge --custom-networking --prefix -o json
  eniwhere max-pods --instance-type m5.xlarge --eni-config internal,public
  eniwhere max-pods --instance-type m6i.large --custom-networking --reserved-enis 1`,
    )
    .action(async (options: Options) => {
      end(await runMaxPods(context, options));
    });
}

async function runMaxPods(context: CliContext, options: Options): Promise<number> {
  const types = [...new Set(options.instanceType)];
  const { limits, source } = await findLimits(context, types, options);
  const answers = types.map((instanceType) =>
    answerMaxPods(
      {
        instanceType,
        customNetworking: options.customNetworking || options.eniConfig.length > 0,
        prefix: options.prefix,
        ipv6Only: options.ipv6,
        furtherReservedEniCount: options.reservedEnis,
        eniConfigs: options.eniConfig,
      },
      limits.get(instanceType),
    ),
  );
  writeAnswer(context, options.output, {
    data: { source, answers },
    text: () => [...answers.flatMap(linesOf), sourceLine(source)].map((line) => `${line}\n`).join(''),
  });
  return answers.some((answer) => answer.kind === 'Refused') ? EXIT.usage : EXIT.ok;
}

/** EC2's limits of the types; the table's where EC2 cannot be asked. A type that EC2 does not offer here is the table's, too. */
export async function findLimits(
  context: CliContext,
  types: readonly string[],
  from: { readonly region?: string; readonly offline: boolean },
): Promise<{ readonly limits: ReadonlyMap<string, InstanceLimits>; readonly source: LimitsSource }> {
  const table = (why: string): LimitsSource => ({
    kind: 'Table',
    asOf: INSTANCE_TYPES_AS_OF,
    from: INSTANCE_TYPES_SOURCE,
    why,
  });
  const shipped = byName(types.flatMap((type) => knownLimits(type) ?? []));
  if (from.offline) return { limits: shipped, source: table('EC2 was not to be asked') };
  const access = await withProgress(context, 'looking for AWS credentials', context.openEc2(from.region));
  if (!access.ok) return { limits: shipped, source: table(access.error) };
  const { ec2, region } = access.value;
  const asked = await withProgress(context, 'asking EC2', ec2.describeInstanceTypes(types));
  if (asked.kind === 'ok')
    return {
      limits: byName([...shipped.values(), ...asked.value]),
      source: { kind: 'EC2', region },
    };
  const cause = asked.kind === 'failed' ? `${asked.failure.code}: ${asked.failure.message}` : asked.cause;
  return { limits: shipped, source: table(`EC2 in ${region} did not answer: ${cause}`) };
}

const byName = (limits: readonly InstanceLimits[]): ReadonlyMap<string, InstanceLimits> =>
  new Map(limits.map((one) => [one.instanceType, one]));

function linesOf(answer: MaxPodsAnswer): readonly string[] {
  switch (answer.kind) {
    case 'Refused': {
      const known = INSTANCE_TYPES.map(({ instanceType }) => instanceType);
      const meant = answer.code === 'UnknownInstanceType' ? nearest(answer.instanceType, known) : undefined;
      return [
        `${answer.instanceType}: no answer (${answer.code})`,
        `  ${answer.message}${meant === undefined ? '' : `; did you mean "${meant}"?`}`,
        `  ${answer.fix}`,
      ];
    }
    case 'MaxPods': {
      const { instanceType, maxPods, explanation, reservedMemoryMib, shares, notes } = answer;
      return [
        `${instanceType}: ${maxPods} pods`,
        `  ${explanation.slice(instanceType.length + 2)}`,
        `  kubelet reserves 255 + 11 x ${maxPods} = ${reservedMemoryMib} MiB of memory`,
        ...shares.map(
          (one) =>
            `  pods of ENIConfig ${one.eniConfig}: at most ${one.addressMax} on ${one.eniMax} of its ENIs, while each of the others holds one`,
        ),
        ...notes.map((note) => `  note: ${note}`),
      ];
    }
  }
}

function sourceLine(source: LimitsSource): string {
  return source.kind === 'EC2'
    ? `limits: by EC2 in ${source.region}`
    : `limits: by the table of ${source.asOf} that is shipped with eniwhere; ${source.why}`;
}
