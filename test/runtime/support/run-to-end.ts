// A program run to its end, without input.

import { spawn } from 'node:child_process';

export interface Ended {
  readonly exitCode: number | null;
  readonly out: string;
  readonly err: string;
}

/** Rejects when it cannot be started. */
export function runToEnd(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    child.once('error', reject);
    child.once('close', (exitCode) => resolve({ exitCode, out, err }));
  });
}
