// eniwhere-cni: the CNI plugin. Compiled into an executable by scripts/build-cni.ts.

import { readFileSync, writeSync } from 'node:fs';
import { runCni } from '../cni/run-cni.ts';
import { sendByBun } from '../cni/send-by-bun.ts';

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;

const output = await runCni({ env: process.env, stdin: readFileSync(STDIN, 'utf8'), send: sendByBun });
writeSync(STDOUT, output.stdout);
if (output.stderr !== undefined) writeSync(STDERR, output.stderr);
process.exit(output.exitCode);
