#!/usr/bin/env node
// The eniwhere command: gives the command line its machine.

import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { systemClock } from '../adapters/system/clock.ts';
import type { AgentCommands } from '../cli/agent-node.ts';
import type { AwsAccess } from '../cli/context.ts';
import { runCli } from '../cli/program.ts';
import { ok, err, type Result } from '../domain/result.ts';
import { simulationMachine } from './eniwhere-simulation.ts';
import { openLabHere } from './eniwhere-lab.ts';
import { serveLabEc2 } from './lab-ec2.ts';
import { whenInterrupted } from './when-interrupted.ts';

const PACKAGE = new URL('../../package.json', import.meta.url);

const FILE_TROUBLES: ReadonlyMap<string | undefined, string> = new Map([
  ['ENOENT', 'there is no such file or folder'],
  ['EACCES', 'permission denied'],
  ['EISDIR', 'it is a folder'],
]);

/** The commonest in words that do not repeat the path. */
const fileTrouble = (error: unknown): string =>
  FILE_TROUBLES.get((error as NodeJS.ErrnoException).code) ??
  (error instanceof Error ? error.message : String(error));

async function readText(path: string): Promise<Result<string, string>> {
  try {
    return ok(await readFile(path, 'utf8'));
  } catch (error) {
    return err(`${path} cannot be read: ${fileTrouble(error)}`);
  }
}

async function writeText(path: string, text: string): Promise<Result<void, string>> {
  try {
    return ok(await writeFile(path, text));
  } catch (error) {
    return err(`${path} cannot be written: ${fileTrouble(error)}`);
  }
}

/** As the shell tells of a program that a closed pipe ended. */
const CLOSED_PIPE_EXIT = 128 + 13;

// Whoever reads the answer may have seen enough, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(CLOSED_PIPE_EXIT);
  throw error;
});

const packageFields = JSON.parse(await readFile(PACKAGE, 'utf8')) as { readonly version: string };
const interrupted = whenInterrupted();

/** Loads the AWS SDK only for commands that ask EC2: it takes 0.2 s. */
async function openEc2(region: string | undefined): Promise<Result<AwsAccess, string>> {
  const { findAwsAccess } = await import('../adapters/aws/aws-access.ts');
  const access = await findAwsAccess(region);
  if (!access.ok) return access;
  const { createAwsEc2 } = await import('../adapters/aws/create-aws-ec2.ts');
  const options = { version: packageFields.version, region: access.value };
  const ec2 = createAwsEc2(options);
  const { createAccountReader } = await import('../adapters/aws/account/create-account-reader.ts');
  const { createAwsPermissionChecker } = await import('../adapters/aws/check-permissions.ts');
  return ok({
    ec2,
    account: createAccountReader(access.value),
    permissions: createAwsPermissionChecker(options),
    region: access.value,
  });
}

/** Loads the Linux adapter only for commands of the agent. */
async function openAgent(): Promise<AgentCommands> {
  const { agentCommands } = await import('./agent-commands.ts');
  return agentCommands({
    env: process.env,
    version: packageFields.version,
    complain: (text) => void process.stderr.write(text),
    whenInterrupted: interrupted,
  });
}

process.exitCode = await runCli(process.argv.slice(2), {
  version: packageFields.version,
  programName: basename(process.argv[1] ?? '').startsWith('kubectl-') ? 'kubectl eniwhere' : 'eniwhere',
  write: (text) => process.stdout.write(text),
  complain: (text) => process.stderr.write(text),
  colour: process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === '',
  readFile: readText,
  writeFile: writeText,
  openLab: (request) =>
    openLabHere(request, {
      program: process.argv.slice(1),
      version: packageFields.version,
      whenInterrupted: interrupted,
    }),
  serveEc2: serveLabEc2,
  openEc2,
  openCluster: async (request) => {
    const { openClusterHere } = await import('./open-cluster.ts');
    return openClusterHere(request, packageFields.version);
  },
  agent: openAgent,
  clock: systemClock,
  simulation: simulationMachine,
  whenInterrupted: interrupted,
});
