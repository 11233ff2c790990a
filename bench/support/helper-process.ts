// A process that stands beside a benchmark: says a line when it is ready, and ends when its stdin does.

import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface HelperProcess {
  readonly pid: number;
  /** What it said when it was ready. */
  readonly line: string;
  end(): Promise<void>;
}

export async function startHelper(program: string, values: readonly string[]): Promise<HelperProcess> {
  const helper = spawn(program, values, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(helper, 'exit');
  const first = await Promise.race([once(helper.stdout, 'data'), ended.then(() => undefined)]);
  if (first === undefined || helper.pid === undefined) {
    throw new Error(`${program} ${values.join(' ')} ended with ${helper.exitCode}`);
  }
  return {
    pid: helper.pid,
    line: String(first[0]).trim(),
    end: async () => {
      helper.stdin.end();
      await ended;
    },
  };
}
