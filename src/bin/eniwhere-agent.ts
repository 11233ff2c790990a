#!/usr/bin/env node
// The agent's executable: the daemon of a node, and the commands for the node. It loads neither the AWS SDK nor the lab.

import { readFile } from 'node:fs/promises';
import { runAgentCli } from '../cli/agent-program.ts';
import { agentCommands } from './agent-commands.ts';
import { whenInterrupted } from './when-interrupted.ts';

const PACKAGE = new URL('../../package.json', import.meta.url);
const { version } = JSON.parse(await readFile(PACKAGE, 'utf8')) as { readonly version: string };
const complain = (text: string): void => void process.stderr.write(text);
const interrupted = whenInterrupted();

process.exitCode = await runAgentCli(process.argv.slice(2), {
  version,
  write: (text) => process.stdout.write(text),
  complain,
  agent: async () => agentCommands({ env: process.env, version, complain, whenInterrupted: interrupted }),
});
