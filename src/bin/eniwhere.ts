#!/usr/bin/env node
// The eniwhere command: gives the command line its machine.

import { readFile } from 'node:fs/promises';
import { runCli } from '../cli/program.ts';
import { ok, err, type Result } from '../domain/result.ts';
import { openLabHere } from './eniwhere-lab.ts';

const PACKAGE = new URL('../../package.json', import.meta.url);

async function readText(path: string): Promise<Result<string, string>> {
  try {
    return ok(await readFile(path, 'utf8'));
  } catch (error) {
    return err(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function whenInterrupted(): Promise<void> {
  return new Promise((resolve) => {
    // A second signal ends the process the hard way: the handlers are gone by then.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
}

const packageFields = JSON.parse(await readFile(PACKAGE, 'utf8')) as { readonly version: string };
const interrupted = whenInterrupted();

process.exitCode = await runCli(process.argv.slice(2), {
  version: packageFields.version,
  write: (text) => process.stdout.write(text),
  complain: (text) => process.stderr.write(text),
  colour: process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === '',
  readFile: readText,
  openLab: (request) =>
    openLabHere(request, { program: process.argv.slice(1), whenInterrupted: interrupted }),
  whenInterrupted: interrupted,
});
