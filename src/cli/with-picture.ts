// What the commands share that look at a cluster: which one, and the picture of it.

import { type Command, InvalidArgumentError } from 'commander';
import { NO_INTERRUPT } from '../lab/scenario/interrupt.ts';
import type { Lab } from '../lab/scenario/lab.ts';
import { parseScenario, showMistakes } from '../lab/scenario/parse-scenario.ts';
import { runTimeline } from '../lab/scenario/run-timeline.ts';
import { err, ok, type Result } from '../domain/result.ts';
import { done } from '../ports/outcome.ts';
import type { CliContext } from './context.ts';
import type { AccountSources } from './gather-account.ts';
import { type GatheredPicture, gatherPicture, type ReservationReader } from './gather-picture.ts';
import { withProgress } from './output.ts';

export interface ClusterOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly scenario?: string;
  readonly setting: Readonly<Record<string, string>>;
  readonly region?: string;
  readonly offline: boolean;
}

export const withClusterOptions = (command: Command): Command =>
  command
    .option('--kubeconfig <file>', 'which kubeconfig; KUBECONFIG, or ~/.kube/config')
    .option('--context <name>', 'which of its contexts; the current one')
    .option('--scenario <file>', 'look at a lab instead: play the scenario in memory')
    .option(
      '--setting <NAME=VALUE>',
      'a setting that the controller runs with and that is not its default, such as ENI_CONFIG_LABEL_DEF; may be repeated',
      setting,
      {},
    )
    .option('--region <name>', 'AWS Region to ask; AWS_REGION, or that of the profile or the instance')
    .option('--offline', 'do not ask EC2', false);

function setting(text: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Expected NAME=VALUE.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** Takes pictures until `close`: one, or many for --watch. */
export interface PictureTaker {
  /** Awaits work; in a lab under virtual time nothing moves but in here. */
  readonly drive: <T>(work: Promise<T>) => Promise<T>;
  readonly sources: AccountSources;
  readonly take: () => Promise<Result<GatheredPicture, string>>;
  readonly close: () => Promise<void>;
}

/** What a command looks at beside the cluster and what EC2 says of all of it. */
export interface PictureWishes {
  /** What subnet CIDR reservations keep. */
  readonly reservations: boolean;
}

export async function openPictures(
  context: CliContext,
  options: ClusterOptions,
  wishes: PictureWishes = { reservations: false },
): Promise<Result<PictureTaker, string>> {
  if (options.scenario !== undefined) return inLab(context, options.scenario, options.setting);
  const opened = await context.openCluster({
    ...(options.kubeconfig === undefined ? {} : { kubeconfig: options.kubeconfig }),
    ...(options.context === undefined ? {} : { context: options.context }),
  });
  if (!opened.ok) return opened;
  const { cluster, trouble, close } = opened.value;
  const access = options.offline
    ? err('EC2 was not to be asked')
    : await withProgress(context, 'looking for AWS credentials', context.openEc2(options.region));
  const ec2 = access.ok
    ? {
        reader: access.value.ec2,
        region: access.value.region,
        ...(wishes.reservations ? { reservations: access.value.account } : {}),
      }
    : access.error;
  const { clock } = context;
  return ok({
    drive: (work) => work,
    sources: {
      ec2: access.ok ? access.value.ec2 : undefined,
      account: access.ok ? access.value.account : undefined,
      permissions: access.ok ? access.value.permissions : undefined,
    },
    take: () =>
      withProgress(
        context,
        'reading the cluster',
        gatherPicture({ cluster, trouble, ec2, clock, settings: options.setting }),
      ),
    close: () => Promise.resolve(close()),
  });
}

/** The scenario's own settings hold; those of the command line go before them. */
async function inLab(
  context: CliContext,
  file: string,
  given: Readonly<Record<string, string>>,
): Promise<Result<PictureTaker, string>> {
  const text = await context.readFile(file);
  if (!text.ok) return text;
  const scenario = parseScenario(text.value);
  if (!scenario.ok) return err(showMistakes(file, scenario.error));
  const opened = await context.openLab({
    scenario: scenario.value,
    network: 'memory',
    ec2: 'inside',
    verbose: false,
  });
  if (opened.kind !== 'Open')
    return err(opened.kind === 'Impossible' ? opened.message : 'the lab ran elsewhere');
  const { lab, drive } = opened.open;
  await withProgress(context, 'playing the scenario', drive(runTimeline(lab, () => {}, NO_INTERRUPT)));
  const reader = lab.ec2.client('tools');
  return ok({
    drive,
    sources: { ec2: reader, account: undefined, permissions: undefined },
    take: () =>
      drive(
        gatherPicture({
          cluster: lab.cluster.client(),
          trouble: () => undefined,
          ec2: { reader, region: 'lab', reservations: reservationsIn(lab.ec2.truth) },
          clock: lab.clock,
          settings: { ...scenario.value.settings, ...given },
        }),
      ),
    close: () => drive(lab.close()),
  });
}

/** The lab has those of type prefix alone. */
const reservationsIn = (truth: Lab['ec2']['truth']): ReservationReader => ({
  describeReservations: (ids) =>
    Promise.resolve(
      done(
        new Map(ids.map((id) => [id, { prefix: truth.subnet(id)?.prefixReservations ?? [], explicit: [] }])),
      ),
    ),
});
