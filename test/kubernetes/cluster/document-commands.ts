// Runs the commands of a page of docs/ as a reader would: in a shell, with kubectl and helm, from the repository's top.

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { TOP } from '../../runtime/support/skip.ts';
import { programPath } from '../programs.ts';
import type { Cluster } from './cluster.ts';

const COMMANDS_MS = 360_000;

export interface Reading {
  /** Path of the page below docs/. */
  readonly page: string;
  /** Only the blocks below this heading; those of the whole page when absent. */
  readonly heading?: string;
  /** The reader's my-values.yaml. */
  readonly values: object;
}

/** Answers what the commands printed. Rejects with that, when one of them fails. */
export function runCommandsOf(cluster: Cluster, { page, heading, values }: Reading): Promise<string> {
  const { directory, kubeconfigOf } = cluster.plane;
  const place = join(directory, 'reader');
  mkdirSync(place, { recursive: true });
  if (!existsSync(join(place, 'deploy'))) symlinkSync(`${TOP}deploy`, join(place, 'deploy'));
  writeFileSync(join(place, 'my-values.yaml'), JSON.stringify(values));
  const script = commandsOf(readFileSync(`${TOP}docs/${page}`, 'utf8'), heading);
  if (script === '') throw new Error(`docs/${page} has no commands below ${heading ?? 'its title'}`);
  return new Promise((resolve, reject) => {
    execFile(
      'nsenter',
      [`--net=${cluster.cloud.onPrem.netnsPath}`, 'bash', '-euo', 'pipefail', '-c', script],
      {
        cwd: place,
        timeout: COMMANDS_MS,
        env: {
          PATH: `${dirname(programPath('kubectl'))}:${dirname(programPath('helm'))}:${process.env['PATH'] ?? ''}`,
          HOME: place,
          KUBECONFIG: kubeconfigOf('admin'),
        },
      },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`docs/${page}: ${script}\n${stdout}${stderr}`));
      },
    );
  });
}

/** The blocks that are marked `sh`. */
function commandsOf(text: string, heading: string | undefined): string {
  const part =
    heading === undefined ? text : (text.split(/^## /m).find((one) => one.startsWith(heading)) ?? '');
  return [...part.matchAll(/^```sh\n([^]*?)^```$/gm)].map((match) => match[1] ?? '').join('');
}
