// `eniwhere userdata`: the boot document for a launch template, or the objects for Karpenter.

import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseCidr } from '../domain/address/cidr.ts';
import { DEFAULT_ENI_CONFIG_KEY } from '../domain/eniconfig/selection-input.ts';
import type { InstanceLimits } from '../domain/instance/instance-limits.ts';
import { answerMaxPods, type MaxPodsRefusal } from '../domain/instance/max-pods-answer.ts';
import { err, ok, type Result } from '../domain/result.ts';
import {
  type AddressRow,
  NODE_STARTERS,
  type NodeStarter,
  OPERATING_SYSTEMS,
  type OperatingSystem,
  type TypeMaxPods,
} from '../domain/userdata/request.ts';
import { userData } from '../domain/userdata/user-data.ts';
import { type CliContext, EXIT } from './context.ts';
import { findLimits } from './max-pods.ts';
import { collect, type Format, wholeNumber, withOutput, writeAnswer } from './output.ts';

interface Options {
  readonly os: OperatingSystem;
  readonly nodes: NodeStarter;
  readonly cluster: string;
  readonly endpoint?: string;
  readonly certificateAuthority?: string;
  readonly serviceCidr?: string;
  readonly instanceType: readonly string[];
  readonly maxPods?: number;
  readonly prefix: boolean;
  readonly reservedEnis: number;
  readonly label: ReadonlyMap<string, string>;
  readonly startupTaint: boolean;
  readonly byAddress: readonly AddressRow[];
  readonly labelKey: string;
  readonly bootstrapImage?: string;
  readonly region?: string;
  readonly offline: boolean;
  readonly output: Format;
}

export function addUserData(program: Command, context: CliContext, end: (exitCode: number) => void): void {
  const command = withOutput(program.command('userdata'))
    .summary('make the boot document of nodes')
    .description(
      'Prints the user data for a launch template: max pods that the node has addresses for, labels, a startup taint, and, ' +
        "for those who run without the controller's selection, the choice of an ENIConfig by the node's own address. " +
        'What would not survive what EKS adds is refused. Notes go to stderr.',
    )
    .addOption(
      new Option('--os <name>', 'operating system of the nodes')
        .choices(OPERATING_SYSTEMS)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--nodes <starter>', 'who starts the nodes').choices(NODE_STARTERS).makeOptionMandatory(),
    )
    .requiredOption('--cluster <name>', 'name of the EKS cluster')
    .option('--instance-type <types>', 'types that the nodes may have', collect, [])
    .option('--max-pods <count>', 'fewer pods than the types can hold', wholeNumber);
  withNodeOptions(command)
    .addHelpText('after', EXAMPLES)
    .action(async (options: Options) => {
      end(await runUserData(context, options));
    });
}

const withNodeOptions = (command: Command): Command =>
  command
    .option('--prefix', 'slots hold /28 prefixes instead of single addresses', false)
    .option('--reserved-enis <count>', 'further ENIs that serve no pods', wholeNumber, 0)
    .option('--label <key=value>', 'label of the nodes; may be repeated', labels, new Map<string, string>())
    .option('--startup-taint', 'no pod is scheduled before the network of the node serves', false)
    .option(
      '--by-address <cidr=names>',
      'nodes with an address in the block get one of these ENIConfigs, with commas; may be repeated',
      addressRow,
      [],
    )
    .option('--label-key <key>', 'label that names the ENIConfig', labelKey, DEFAULT_ENI_CONFIG_KEY)
    .option('--bootstrap-image <image>', 'for --by-address on Bottlerocket: runs its user data as a script')
    .option('--endpoint <url>', 'of the API server, where the user data joins the nodes')
    .option('--certificate-authority <base64>', 'of the API server')
    .option('--service-cidr <cidr>', 'of the Services')
    .option('--region <name>', 'AWS Region to ask for the limits of the types')
    .option('--offline', 'do not ask EC2', false);

const EXAMPLES = `
Exit code: 0, or 2 when the user data could not do what is asked for.

Examples:
  eniwhere userdata --os al2023 --nodes managed --cluster prod --instance-type m5.large --startup-taint
  eniwhere userdata --os bottlerocket --nodes managed --cluster prod --instance-type m5.large --label team=shop
  eniwhere userdata --os al2023 --nodes karpenter --cluster prod --instance-type c5.large,c5.xlarge | kubectl apply -f -
  eniwhere userdata --os al2023 --nodes managed --cluster prod --instance-type m5.large \\
    --by-address 10.0.1.0/24=pods-a1,pods-a2 --by-address 10.0.2.0/24=pods-b`;

async function runUserData(context: CliContext, options: Options): Promise<number> {
  const { endpoint, certificateAuthority, serviceCidr, bootstrapImage } = options;
  const hasAccess = endpoint !== undefined && certificateAuthority !== undefined && serviceCidr !== undefined;
  if (options.instanceType.length === 0 && options.maxPods === undefined)
    return complain(context, 'give --instance-type, from which max pods is computed, or --max-pods itself');
  const maxPods = await figures(context, options);
  if (!maxPods.ok) return complain(context, `${maxPods.error.message}; ${maxPods.error.fix}`);
  const answer = userData({
    os: options.os,
    starter: options.nodes,
    clusterName: options.cluster,
    ...(hasAccess ? { access: { name: options.cluster, endpoint, certificateAuthority, serviceCidr } } : {}),
    maxPods: maxPods.value,
    labels: options.label,
    startupTaint: options.startupTaint,
    byAddress: options.byAddress,
    labelKey: options.labelKey,
    ...(bootstrapImage === undefined ? {} : { bootstrapImage }),
  });
  if (answer.kind === 'Refused')
    return complain(context, `${answer.message} (${answer.code})\nwhat to do: ${answer.fix}`);
  writeAnswer(context, options.output, { data: answer, text: () => answer.text });
  const effective =
    answer.effectiveMaxPods === undefined ? [] : [`max pods on the nodes: ${answer.effectiveMaxPods}`];
  for (const note of [...effective, ...answer.notes]) context.complain(`note: ${note}\n`);
  return EXIT.ok;
}

function complain(context: CliContext, message: string): number {
  context.complain(`eniwhere: ${message}\n`);
  return EXIT.usage;
}

async function figures(
  context: CliContext,
  options: Options,
): Promise<Result<readonly TypeMaxPods[], MaxPodsRefusal>> {
  const { instanceType: types, maxPods: given } = options;
  if (types.length === 0 && given !== undefined)
    return ok([{ instanceType: '', maxPods: given, possible: given, unaware: given }]);
  const { limits } = await findLimits(context, types, options);
  const found: TypeMaxPods[] = [];
  for (const type of types) {
    const one = figuresOf(type, options, limits.get(type));
    if (!one.ok) return one;
    found.push(one.value);
  }
  return ok(found);
}

function figuresOf(
  instanceType: string,
  options: Options,
  limits: InstanceLimits | undefined,
): Result<TypeMaxPods, MaxPodsRefusal> {
  const question = { instanceType, furtherReservedEniCount: options.reservedEnis, eniConfigs: [] };
  const aware = answerMaxPods({ ...question, customNetworking: true, prefix: options.prefix }, limits);
  if (aware.kind === 'Refused') return err(aware);
  const plain = answerMaxPods(
    { ...question, customNetworking: false, prefix: false, furtherReservedEniCount: 0 },
    limits,
  );
  if (plain.kind === 'Refused') return err(plain);
  return ok({
    instanceType,
    maxPods: options.maxPods ?? aware.maxPods,
    possible: aware.maxPods,
    unaware: options.nodes === 'managed' ? plain.maxPods : plain.addressSum,
  });
}

/** https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set */
const LABEL_KEY = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
/** An ENIConfig's name that a label can carry. */
const ENI_CONFIG_NAME = /^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/;

function labelKey(text: string): string {
  if (LABEL_KEY.test(text)) return text;
  throw new InvalidArgumentError('Not the key of a label.');
}

function labels(text: string, before: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const [key, value] = [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)];
  if (!text.includes('=') || !LABEL_KEY.test(key) || !LABEL_VALUE.test(value))
    throw new InvalidArgumentError('A label is KEY=VALUE.');
  return new Map([...before, [key, value]]);
}

function addressRow(text: string, before: readonly AddressRow[]): readonly AddressRow[] {
  const at = text.indexOf('=');
  const nodeCidr = parseCidr(text.slice(0, Math.max(0, at)));
  const eniConfigs = collect(text.slice(at + 1));
  if (at < 0 || eniConfigs.length === 0 || !eniConfigs.every((name) => ENI_CONFIG_NAME.test(name)))
    throw new InvalidArgumentError('Expected CIDR=NAME[,NAME...], as in 10.0.1.0/24=pods-a1,pods-a2.');
  if (!nodeCidr.ok) throw new InvalidArgumentError(nodeCidr.error);
  if (nodeCidr.value.includes(':')) throw new InvalidArgumentError('Nodes choose by their IPv4 address.');
  return [...before, { nodeCidr: nodeCidr.value, eniConfigs }];
}
