// Asks a node's instance metadata from inside a network namespace, as a program there would.

import type { IpFamily } from '../../domain/address/ip.ts';
import { failed, done } from '../../ports/outcome.ts';
import { METADATA_ADDRESS } from '../fabric/router-rules.ts';
import { endProgram } from '../fabric/run-program.ts';
import type { SocketOutcome } from './packets.ts';

/** Prints the answer, or the name of the error and exits with 1. */
const SCRIPT = `
const request = require('node:http').get(
  { host: process.argv[2], path: '/latest/meta-data/instance-id', timeout: Number(process.argv[1]) },
  (response) => response.pipe(process.stdout),
);
request.on('timeout', () => request.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })));
request.on('error', (error) => { console.log(error.code); process.exitCode = 1; });
`;

export interface MetadataProbe {
  /** The path of a Node.js executable. */
  readonly nodePath: string;
  readonly netnsPath: string;
  readonly timeoutMs: number;
  readonly family: IpFamily;
}

/** The instance id that answers. The probe is a process of its own, because HTTP is no echo. */
export async function askInstanceId(probe: MetadataProbe): Promise<SocketOutcome<string>> {
  const namespace = probe.netnsPath.slice(probe.netnsPath.lastIndexOf('/') + 1);
  const host = METADATA_ADDRESS[probe.family];
  const argv = [
    'ip',
    'netns',
    'exec',
    namespace,
    probe.nodePath,
    '-e',
    SCRIPT,
    String(probe.timeoutMs),
    host,
  ];
  const end = await endProgram({ argv });
  if (!end.ok) return failed({ errno: 'EIO', message: end.error.message });
  const text = end.value.stdout.trim();
  if (end.value.exitCode === 0) return done(text);
  return failed({ errno: text, message: `instance metadata: ${text}${end.value.stderr}` });
}
