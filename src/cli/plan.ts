// `eniwhere plan`: how far a cluster can grow, which subnet ends it, and what would help.

import { type Command, InvalidArgumentError } from 'commander';
import { stringify } from 'yaml';
import { type Forecast, forecast } from '../domain/capacity/grow.ts';
import type { CapacityModel } from '../domain/capacity/model.ts';
import { planOfPicture } from '../domain/capacity/plan-of-picture.ts';
import { remediesFor } from '../domain/capacity/remedies.ts';
import { err, ok, type Result } from '../domain/result.ts';
import type { CapacityPlan } from '../protocol/capacity-plan.ts';
import { type CliContext, EXIT } from './context.ts';
import { growthSvg } from './growth-svg.ts';
import { findLimits } from './max-pods.ts';
import { type Format, withOutput, writeAnswer } from './output.ts';
import { paletteOf } from './palette.ts';
import { type Change, modelOf, parseChange, readPlan } from './plan-model.ts';
import { forecastText, remediesText, whatIfText } from './plan-text.ts';
import { type ClusterOptions, openPictures, withClusterOptions } from './with-picture.ts';

interface Options extends ClusterOptions {
  readonly whatIf: readonly Change[];
  readonly addSubnet: readonly AddedSubnet[];
  readonly svg?: string;
  readonly save?: string;
  readonly output: Format;
}

interface AddedSubnet extends Record<string, unknown> {
  readonly name: string;
  readonly cidr: string;
  readonly zone: string;
}

export function addPlan(program: Command, context: CliContext, end: (exitCode: number) => void): void {
  withOutput(withClusterOptions(program.command('plan')))
    .summary('how far a cluster can grow, and which subnet ends it')
    .description(
      "Runs the controller's own planner over a cluster that grows node by node, and tells when which subnet is full, what " +
        'warm pools hold idle, and what another subnet, prefixes or fewer warm addresses would buy.',
    )
    .argument('[file]', 'subnets and groups of nodes in YAML (docs/plan.md); the cluster itself when absent')
    .option(
      '--what-if <change>',
      'NAME.FIELD=VALUE of a group or subnet, or all.FIELD=VALUE of all groups; may be repeated',
      change,
      [],
    )
    .option(
      '--add-subnet <NAME=CIDR@ZONE>',
      'what if there were this subnet for pods; may be repeated',
      addedSubnet,
      [],
    )
    .option('--svg <file>', 'write the picture of growth')
    .option('--save <file>', 'write the cluster as a file for this command, to change it by hand')
    .addHelpText(
      'after',
      `
Exit code: 0; 1 when nodes ask for more addresses than there are, now or under --what-if; 2 when the file is wrong.

Examples:
  eniwhere plan
  eniwhere plan --save cluster.yaml
  eniwhere plan cluster.yaml --svg growth.svg
  eniwhere plan cluster.yaml --what-if workers.mode=Prefix
  eniwhere plan cluster.yaml --what-if all.targets.WARM_IP_TARGET=2 --add-subnet pods-a2=100.64.4.0/22@eu-west-1a`,
    )
    .action(async (file: string | undefined, options: Options) => {
      end(await runPlan(context, file, options));
    });
}

async function runPlan(context: CliContext, file: string | undefined, options: Options): Promise<number> {
  const text = file === undefined ? await writtenByCluster(context, options) : await context.readFile(file);
  if (!text.ok) return complain(context, [text.error]);
  const base = await build(context, readPlan(text.value), options);
  if (!base.ok)
    return complain(
      context,
      base.error.map((one) => `${file ?? 'the cluster'}: ${one}`),
    );
  if (options.save !== undefined) {
    const saved = await context.writeFile(options.save, text.value);
    if (!saved.ok) return complain(context, [saved.error]);
  }
  const changes = [
    ...options.whatIf.map((one) => `${one.key}=${String(one.value)}`),
    ...options.addSubnet.map((one) => `subnet ${one.name} ${one.cidr} in ${one.zone}`),
  ];
  const before = forecast(base.value);
  if (changes.length === 0) return answer(context, options, { model: base.value, found: before });
  const then = await build(context, readPlan(text.value, options.whatIf, options.addSubnet), options);
  if (!then.ok) return complain(context, then.error);
  return answer(context, options, {
    model: then.value,
    found: forecast(then.value),
    before,
    changes,
  });
}

/** The cluster as a person would have written it down. */
async function writtenByCluster(context: CliContext, options: Options): Promise<Result<string, string>> {
  const opened = await openPictures(context, options, { reservations: true });
  if (!opened.ok) return opened;
  try {
    const picture = await opened.value.take();
    if (picture.ok) for (const note of picture.value.unread) context.complain(`eniwhere: ${note}\n`);
    return picture.ok ? ok(stringify(planOfPicture(picture.value))) : picture;
  } finally {
    await opened.value.close();
  }
}

function complain(context: CliContext, mistakes: readonly string[]): number {
  for (const one of mistakes) context.complain(`eniwhere: ${one}\n`);
  return EXIT.usage;
}

async function build(
  context: CliContext,
  plan: Result<CapacityPlan, readonly string[]>,
  options: Options,
): Promise<Result<CapacityModel, readonly string[]>> {
  if (!plan.ok) return err(plan.error);
  const types = [...new Set(plan.value.groups.map((group) => group.instanceType))];
  const { limits } = await findLimits(context, types, options);
  return modelOf(plan.value, limits);
}

interface Answer {
  readonly model: CapacityModel;
  readonly found: Forecast;
  /** Without the changes of --what-if. */
  readonly before?: Forecast;
  readonly changes?: readonly string[];
}

async function answer(context: CliContext, options: Options, given: Answer): Promise<number> {
  const { model, found, before, changes = [] } = given;
  const remedies = remediesFor(model, found);
  if (options.svg !== undefined) {
    const written = await context.writeFile(options.svg, growthSvg(model, found));
    if (!written.ok) return complain(context, [written.error]);
  }
  const palette = paletteOf(context);
  writeAnswer(context, options.output, {
    data: {
      ...(before === undefined ? {} : { changes, before: dataOf(before) }),
      ...dataOf(found),
      remedies,
    },
    text: () =>
      [
        ...(before === undefined ? [] : whatIfText(before, found, { changes, palette })),
        ...forecastText(model, found, palette),
        ...remediesText(remedies, palette),
      ]
        .map((line) => `${line}\n`)
        .join(''),
  });
  return found.short.size > 0 ? EXIT.broken : EXIT.ok;
}

/** Maps become objects, and steps are left out: they are the picture's. */
function dataOf(found: Forecast): Record<string, unknown> {
  const { steps: _, short, ...rest } = found;
  return { ...rest, short: Object.fromEntries(short) };
}

function change(text: string, before: readonly Change[]): readonly Change[] {
  const parsed = parseChange(text);
  if (!parsed.ok) throw new InvalidArgumentError(parsed.error);
  return [...before, parsed.value];
}

function addedSubnet(text: string, before: readonly AddedSubnet[]): readonly AddedSubnet[] {
  const [, name, cidr, zone] = /^([^=]+)=([^@]+)@(.+)$/.exec(text) ?? [];
  if (name === undefined || cidr === undefined || zone === undefined)
    throw new InvalidArgumentError('Expected NAME=CIDR@ZONE, as in pods-a2=100.64.4.0/22@eu-west-1a.');
  return [...before, { name, cidr, zone }];
}
