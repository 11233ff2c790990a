// `eniwhere status`: a cluster at a glance, once or again and again.

import type { Command } from 'commander';
import { isDualStack } from '../domain/address/families.ts';
import {
  type ClusterStatus,
  clusterStatus,
  type NodeStatus,
  type SubnetStatus,
} from '../domain/explain/cluster-status.ts';
import { listed } from '../domain/explain/explain-node.ts';
import { sameData } from '../domain/same-data.ts';
import { interruptOn } from '../lab/scenario/interrupt.ts';
import type { Palette } from '../lab/scenario/report.ts';
import { columns } from './columns.ts';
import { type CliContext, EXIT } from './context.ts';
import { type Format, wholeNumber, withOutput, writeAnswer } from './output.ts';
import { fillBar, paletteOf, percent } from './palette.ts';
import { type ClusterOptions, openPictures, type PictureTaker, withClusterOptions } from './with-picture.ts';

interface Options extends ClusterOptions {
  readonly output: Format;
  readonly watch: boolean;
  readonly interval: number;
}

const INTERVAL_SECONDS = 5;

export function addStatus(program: Command, context: CliContext, end: (exitCode: number) => void): void {
  withOutput(withClusterOptions(program.command('status')))
    .summary('nodes, subnets, and what waits and why')
    .description(
      'Shows every node with its ENIConfig and addresses, every subnet of pods with its use, and what pods wait for. ' +
        'Changes nothing.',
    )
    .option('-w, --watch', 'show it again and again, without asking EC2, until Ctrl-C', false)
    .option('--interval <seconds>', 'how often with --watch', wholeNumber, INTERVAL_SECONDS)
    .addHelpText(
      'after',
      `
Exit code: 0; 1 when something is missing; 2 when the cluster cannot be read.

Examples:
  eniwhere status
  eniwhere status --watch --interval 2
  eniwhere status -o json | jq '.subnets[] | {cidr, freeCount}'
  eniwhere status --scenario docs/examples/trouble.yaml   # in a lab, without a cluster`,
    )
    .action(async (options: Options) => {
      end(await runStatus(context, options));
    });
}

async function runStatus(context: CliContext, options: Options): Promise<number> {
  // Again and again EC2 would be asked for the whole cluster, out of the tokens that the controller lives on.
  const opened = await openPictures(
    context,
    { ...options, offline: options.offline || options.watch },
    { reservations: true },
  );
  if (!opened.ok) {
    context.complain(`eniwhere: ${opened.error}\n`);
    return EXIT.usage;
  }
  const { close } = opened.value;
  try {
    return options.watch
      ? await watch(context, options, opened.value)
      : await show(context, options, { taker: opened.value, before: '' });
  } finally {
    await close();
  }
}

interface Showing {
  readonly taker: PictureTaker;
  /** Written first, such as what clears the screen. */
  readonly before: string;
}

async function show(context: CliContext, { output }: Options, { taker, before }: Showing): Promise<number> {
  const picture = await taker.take();
  if (!picture.ok) {
    context.complain(`eniwhere: ${picture.error}\n`);
    return EXIT.usage;
  }
  for (const note of picture.value.unread) context.complain(`eniwhere: ${note}\n`);
  const status = clusterStatus(picture.value);
  if (before !== '') context.write(before);
  writeAnswer(context, output, {
    data: status,
    text: () =>
      statusText(status, paletteOf(context))
        .map((line) => `${line}\n`)
        .join(''),
  });
  return status.problems.length > 0 ? EXIT.broken : EXIT.ok;
}

/** On a terminal the screen is cleared each time; elsewhere an empty line stands between. An outage does not end it. */
async function watch(context: CliContext, options: Options, taker: PictureTaker): Promise<number> {
  const clear = context.colour ? `${ESCAPE}[2J${ESCAPE}[H` : '\n';
  const interrupt = interruptOn(context.whenInterrupted);
  let first = true;
  while (!interrupt.requested()) {
    await show(context, options, { taker, before: first && !context.colour ? '' : clear });
    first = false;
    const pause = context.clock.sleep(Math.max(1, options.interval) * 1000, 'status');
    await Promise.race([context.whenInterrupted, pause]);
  }
  return EXIT.ok;
}

const ESCAPE = String.fromCodePoint(0x1b);
const BAR_WIDTH = 20;

function statusText({ nodes, subnets, problems }: ClusterStatus, palette: Palette): readonly string[] {
  return [
    palette.strong(`Nodes (${nodes.length})`),
    ...columns(
      [
        ['NAME', 'ZONE', 'TYPE', 'USES', 'BY', 'ENIS', 'PODS', 'ADDRESSES', 'WAITING', ''],
        ...nodes.map((node) => [
          node.name,
          node.zone,
          node.instanceType,
          node.uses,
          node.source,
          String(node.eniCount),
          node.maxPods === undefined ? String(node.podCount) : `${node.podCount}/${node.maxPods}`,
          `${node.usedCount} of ${node.heldCount}`,
          node.waiting.length === 0 ? '-' : palette.bad(String(node.waiting.length)),
          node.problem === undefined ? palette.good('✓') : palette.bad('✗'),
        ]),
      ],
      new Set([5, 6, 7, 8]),
    ),
    ...kindsText(nodes),
    '',
    palette.strong(`Subnets of pods (${subnets.length})`),
    ...columns(
      [
        ['SUBNET', 'ENICONFIG', 'ZONE', 'CIDR', 'IN USE', '', 'FREE', 'PODS', 'IDLE'],
        ...subnets.map((one) => {
          const share = one.unreservedCount === 0 ? 1 : 1 - one.freeCount / one.unreservedCount;
          return [
            one.subnetId,
            listed(one.eniConfigs),
            one.zone,
            one.cidr,
            fillBar(share, BAR_WIDTH, palette),
            percent(share),
            String(one.freeCount),
            String(one.podCount),
            String(one.idleCount),
          ];
        }),
      ],
      new Set([5, 6, 7, 8]),
    ),
    ...subnets.flatMap(reservedText),
    '',
    ...problemText(problems, palette),
  ];
}

/** Of what not every reader takes for granted: single IPv4 addresses are not told. */
function kindsText(nodes: readonly NodeStatus[]): readonly string[] {
  const kinds: readonly (readonly [string, (node: NodeStatus) => boolean])[] = [
    ['In mode Prefix', ({ mode }) => mode === 'Prefix'],
    ['With IPv4 and IPv6', ({ addressFamilies = [] }) => isDualStack(addressFamilies)],
    ['With IPv6 alone', ({ addressFamilies = [] }) => sameData(addressFamilies, ['IPv6'])],
  ];
  return kinds.flatMap(([title, is]) => {
    const names = nodes.filter(is).map((node) => node.name);
    if (names.length === 0) return [];
    return [`${title}: ${names.length === nodes.length ? 'all nodes' : listed(names)}`];
  });
}

/** What the columns leave out: they speak of single addresses. */
function reservedText({ subnetId, reservations, freeBlockCount }: SubnetStatus): readonly string[] {
  if (reservations === undefined) return [];
  const { prefix, explicit } = reservations;
  const free = freeBlockCount === undefined ? '' : ` (${freeBlockCount} whole blocks of 16 free)`;
  const kept = [
    ...(prefix.length === 0 ? [] : [`${listed(prefix)} for prefixes${free}`]),
    ...(explicit.length === 0 ? [] : [`${listed(explicit)} for addresses that somebody names`]),
  ];
  return [`Reserved in ${subnetId}: ${kept.join('; ')}`];
}

function problemText(problems: ClusterStatus['problems'], palette: Palette): readonly string[] {
  if (problems.length === 0) return [palette.good('Nothing is missing, and no pod waits.')];
  return [
    palette.strong('Missing'),
    ...problems.flatMap(({ what, nodes, podCount }) => [
      `  ${palette.bad('✗')} ${listed(nodes)}${podCount === 0 ? '' : `, ${podCount} pods wait`}: ${what}`,
    ]),
  ];
}
