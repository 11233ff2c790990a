#!/usr/bin/env node
// The controller's executable. It takes its settings from the environment alone.

import { readFile } from 'node:fs/promises';
import { findAwsAccess } from '../adapters/aws/aws-access.ts';
import { EXIT } from '../cli/context.ts';
import { parseProcessSettings } from '../controller/process-settings.ts';
import { runController } from './run-controller.ts';
import { whenInterrupted } from './when-interrupted.ts';

const PACKAGE = new URL('../../package.json', import.meta.url);
const { version } = JSON.parse(await readFile(PACKAGE, 'utf8')) as { readonly version: string };

async function main(): Promise<number> {
  const interrupted = whenInterrupted();
  const settings = parseProcessSettings(process.env);
  const complain = (text: string): void => void process.stderr.write(`${text}\n`);
  if (!settings.ok) {
    for (const mistake of settings.error) complain(mistake);
    return EXIT.usage;
  }
  // Without a Region or credentials no call could work; kubelet starts us again.
  const access = await findAwsAccess(undefined);
  if (!access.ok) {
    complain(`EC2 cannot be called: ${access.error}`);
    return EXIT.broken;
  }
  await runController({ settings: settings.value, version, whenInterrupted: interrupted });
  return EXIT.ok;
}

const HELP = `Usage: eniwhere-controller [--version]

Runs the controller until it is stopped: it selects an ENIConfig for each node, and makes, fills and gives back the ENIs of
pods. One of several leads, by a Lease.

Settings are taken from the environment; docs/controller.md lists them. It needs the AWS permissions of
\`eniwhere iam-policy\` and the rights in the cluster that the chart gives it.

Exit code: 2 when a setting is wrong, with each mistake in a line; 1 when there are no AWS Region or credentials.
`;

if (process.argv.includes('--help')) process.stdout.write(HELP);
else if (process.argv.includes('--version')) process.stdout.write(`${version}\n`);
else process.exitCode = await main();
