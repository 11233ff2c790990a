// `eniwhere doctor`: checks a cluster and its account, before and after installing. Changes nothing.

import type { Command } from 'commander';
import { exitCodeOf, type Finding, type Severity } from '../domain/doctor/finding.ts';
import { type Examination, examine } from '../domain/doctor/run-checks.ts';
import type { Palette } from '../lab/scenario/report.ts';
import { type CliContext, EXIT } from './context.ts';
import { gatherAccount } from './gather-account.ts';
import { type Format, withOutput, withProgress, writeAnswer } from './output.ts';
import { paletteOf } from './palette.ts';
import { type ClusterOptions, openPictures, withClusterOptions } from './with-picture.ts';

interface Options extends ClusterOptions {
  readonly output: Format;
  readonly all: boolean;
  readonly asController: boolean;
}

export function addDoctor(program: Command, context: CliContext, end: (exitCode: number) => void): void {
  withOutput(withClusterOptions(program.command('doctor')))
    .summary('check a cluster and its account')
    .description(
      'Looks at nodes, ENIConfigs, classes, pods, subnets, routes, endpoints, security groups, permissions and settings, before ' +
        'and after installing, and tells for each finding what it is, why it matters and the command that puts it right. ' +
        'docs/doctor.md lists the checks. Changes nothing.',
    )
    .option('--all', 'list also the checks that found nothing', false)
    .option(
      '--as-controller',
      "the AWS credentials are those of the controller's role: what they do not allow is an error",
      false,
    )
    .addHelpText(
      'after',
      `
Exit code: 0 when all is in order, 1 with warnings, 2 with errors, or when the cluster cannot be read.

Examples:
  eniwhere doctor
  eniwhere doctor --all --region eu-west-1
  AWS_PROFILE=eniwhere-controller eniwhere doctor --as-controller
  eniwhere doctor -o json | jq '.findings[] | select(.severity == "error")'
  eniwhere doctor --scenario docs/examples/trouble.yaml   # in a lab, without a cluster`,
    )
    .action(async (options: Options) => {
      end(await runDoctor(context, options));
    });
}

async function runDoctor(context: CliContext, options: Options): Promise<number> {
  const opened = await openPictures(context, options);
  if (!opened.ok) return complain(context, opened.error);
  const { take, drive, sources, close } = opened.value;
  try {
    const picture = await take();
    if (!picture.ok) return complain(context, picture.error);
    const account = await drive(
      withProgress(
        context,
        'reading the account',
        gatherAccount(picture.value, sources, {
          of: options.asController ? 'Controller' : 'Caller',
          clusterName: options.setting['CLUSTER_NAME'],
        }),
      ),
    );
    const found = examine(picture.value, account);
    const findings = [...picture.value.unknownKinds.map(notInstalled), ...found.findings];
    const notes = [
      ...account.unread,
      ...(typeof picture.value.ec2 === 'string' ? [`EC2 was not asked: ${picture.value.ec2}`] : []),
    ];
    writeAnswer(context, options.output, {
      data: { ...found, findings, notes },
      text: () =>
        examinationText({ ...found, findings }, { notes, all: options.all, palette: paletteOf(context) })
          .map((line) => `${line}\n`)
          .join(''),
    });
    return exitCodeOf(findings);
  } finally {
    await close();
  }
}

/** As before an installation: what a cluster does not know yet is no error of its own. */
const notInstalled = (message: string): Finding => ({
  check: 'kinds',
  severity: 'warning',
  what: message,
  why: 'the controller and the agents keep their objects in it',
  fix: 'kubectl apply --server-side -f deploy/crds',
});

function complain(context: CliContext, message: string): number {
  context.complain(`eniwhere: ${message}\n`);
  return EXIT.usage;
}

interface TextOptions {
  readonly notes: readonly string[];
  readonly all: boolean;
  readonly palette: Palette;
}

function examinationText(found: Examination, { notes, all, palette }: TextOptions): readonly string[] {
  const { findings, passed, skipped } = found;
  const mark: Record<Severity, string> = {
    error: palette.bad('✗ error'),
    warning: palette.strong('! warning'),
    info: palette.quiet('i info'),
  };
  const count = (severity: Severity): number => findings.filter((one) => one.severity === severity).length;
  const unmade = skipped.length === 0 ? '' : `, ${skipped.length} could not be made`;
  const summary = `${passed.length} checks found nothing${unmade}; ${count('error')} errors, ${count('warning')} warnings, ${count('info')} for information`;
  return [
    ...findings.flatMap((one) => [
      `${mark[one.severity]}  ${palette.quiet(one.check)}`,
      `  ${one.what}`,
      `  why: ${one.why}`,
      `  fix: ${one.fix}`,
      '',
    ]),
    ...(all ? passed.map((one) => `${palette.good('✓')} ${one.holds}`) : []),
    ...(all ? skipped.map((one) => `- not checked: ${one.holds}`) : []),
    ...notes.map((note) => `note: ${note}`),
    count('error') > 0 ? palette.bad(summary) : summary,
  ];
}
