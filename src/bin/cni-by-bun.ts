// eniwhere-cni where no C compiler is at hand: the same plugin on Bun, slower to start. Compiled by scripts/build-cni.ts.

import { runCni } from '../cni/run-cni.ts';
import { sendByBun } from '../cni/send-by-bun.ts';

/** What is used of Bun here: its own reading and writing, which starts 1.5 ms faster than its node:fs. */
declare const Bun: {
  readonly stdin: { text(): Promise<string> };
  readonly stdout: object;
  readonly stderr: object;
  write(destination: object, text: string): Promise<number>;
};

const { stdout, stderr, exitCode } = await runCni({
  env: process.env,
  stdin: await Bun.stdin.text(),
  send: sendByBun,
});
if (stdout !== '') await Bun.write(Bun.stdout, stdout);
if (stderr !== undefined) await Bun.write(Bun.stderr, stderr);
process.exit(exitCode);
