// `eniwhere explain`: why a node, a pod or an ENIConfig is as it is.

import type { Command } from 'commander';
import { explainEniConfig } from '../domain/explain/explain-eni-config.ts';
import { explainNode } from '../domain/explain/explain-node.ts';
import { explainPod } from '../domain/explain/explain-pod.ts';
import type { Picture } from '../domain/explain/picture.ts';
import { type CliContext, EXIT } from './context.ts';
import { type Explanation, explanationText } from './explain-text.ts';
import { type Format, withOutput, writeAnswer } from './output.ts';
import { paletteOf } from './palette.ts';
import { type ClusterOptions, openPictures, withClusterOptions } from './with-picture.ts';

interface Options extends ClusterOptions {
  readonly output: Format;
}

interface Subject {
  readonly what: 'node' | 'pod' | 'eniconfig';
  /** As people write it. */
  readonly title: string;
  readonly argument: string;
  readonly summary: string;
  readonly explain: (picture: Picture, name: string) => Explanation;
}

const SUBJECTS: readonly Subject[] = [
  {
    what: 'node',
    title: 'node',
    argument: '<name>',
    summary: 'which ENIConfig, how many addresses, what is missing, what comes next',
    explain: explainNode,
  },
  {
    what: 'pod',
    title: 'pod',
    argument: '<namespace/name>',
    summary: 'why it has its address, or none',
    explain: (picture, name) => explainPod(picture, name.includes('/') ? name : `default/${name}`),
  },
  {
    what: 'eniconfig',
    title: 'ENIConfig',
    argument: '<name>',
    summary: 'whether it can be used, and who uses it',
    explain: explainEniConfig,
  },
];

export function addExplain(program: Command, context: CliContext, end: (exitCode: number) => void): void {
  const explain = program
    .command('explain')
    .summary('why a node, a pod or an ENIConfig is as it is')
    .description(
      "Makes the controller's decisions anew over what is in the cluster, and tells every rule that was tried, which one " +
        'decided, how many addresses there are and why, what is missing, and what comes next. Changes nothing.',
    )
    .addHelpText('after', EXAMPLES);
  for (const subject of SUBJECTS)
    withOutput(withClusterOptions(explain.command(subject.what)))
      .argument(subject.argument)
      .summary(subject.summary)
      .description(`Explains one ${subject.title}: ${subject.summary}. Changes nothing.`)
      .addHelpText('after', EXAMPLES)
      .action(async (name: string, options: Options) => {
        end(await runExplain(context, { subject, name }, options));
      });
}

const EXAMPLES = `
Exit code: 0; 1 when something is missing; 2 when the cluster cannot be read or there is no such object.

Examples:
  eniwhere explain node ip-10-0-1-23.eu-west-1.compute.internal
  eniwhere explain pod shop/checkout-7d9f -o yaml
  eniwhere explain eniconfig pods-a
  eniwhere explain node node-1 --scenario scenarios/smoke.yaml   # in a lab, without a cluster`;

async function runExplain(
  context: CliContext,
  { subject, name }: { readonly subject: Subject; readonly name: string },
  options: Options,
): Promise<number> {
  const opened = await openPictures(context, options);
  if (!opened.ok) return complain(context, opened.error);
  try {
    const picture = await opened.value.take();
    if (!picture.ok) return complain(context, picture.error);
    for (const one of picture.value.unknownKinds) context.complain(`note: ${one}\n`);
    const found = subject.explain(picture.value, name);
    writeAnswer(context, options.output, {
      data: found,
      text: () =>
        explanationText(found, paletteOf(context))
          .map((line) => `${line}\n`)
          .join(''),
    });
    if (!found.found) return EXIT.usage;
    return found.missing.length > 0 ? EXIT.broken : EXIT.ok;
  } finally {
    await opened.value.close();
  }
}

function complain(context: CliContext, message: string): number {
  context.complain(`eniwhere: ${message}\n`);
  return EXIT.usage;
}
