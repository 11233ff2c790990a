// Runs the metadata server's process inside the router's namespace and answers for it.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { err, ok } from '../../domain/result.ts';
import type { FabricFailure, FabricResult } from './fabric-failure.ts';
import type { FromServer, ToServer } from './metadata-messages.ts';
import type { MetadataService } from './metadata-service.ts';
import { METADATA_PORT } from './router-rules.ts';
import { missingProgram } from './run-program.ts';

export interface MetadataServer {
  close(): Promise<void>;
}

/** Starting takes a tenth of a second; one that takes this long never comes. */
const START_TIMEOUT_MS = 15_000;

const PROGRAM = fileURLToPath(new URL('./metadata-server-process.ts', import.meta.url));

/** Resolves once the server answers at the addresses inside the namespace, which must have them. */
export async function startMetadataServer(
  namespace: string,
  addresses: readonly string[],
  service: MetadataService,
): Promise<FabricResult<MetadataServer>> {
  const child = spawn('ip', ['netns', 'exec', namespace, process.execPath, PROGRAM], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const started = await untilListening(child, addresses, service);
  if (!started.ok) {
    child.kill('SIGKILL');
    return started;
  }
  return ok({
    close: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  });
}

const say = (child: ChildProcess, message: ToServer): void => {
  // A process that has just ended takes no message, and its clients learn of the end by themselves.
  if (child.connected) child.send(message, () => {});
};

function untilListening(
  child: ChildProcess,
  addresses: readonly string[],
  service: MetadataService,
): Promise<FabricResult<void>> {
  const failure = (cause: string): FabricFailure => ({
    kind: 'command-failed',
    message: `instance metadata cannot listen on ${addresses.join(' and ')} port ${METADATA_PORT} in the router: ${cause}`,
  });
  let complaints = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  say(child, { kind: 'Listen', addresses, port: METADATA_PORT });
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      resolve(err(failure(`nothing was heard of it for ${START_TIMEOUT_MS} ms`)));
    }, START_TIMEOUT_MS);
    const settle = (result: FabricResult<void>): void => {
      clearTimeout(timer);
      resolve(result);
    };
    child.once('error', (error: NodeJS.ErrnoException) => {
      settle(err(error.code === 'ENOENT' ? missingProgram('ip') : failure(error.message)));
    });
    child.once('exit', (code) => {
      settle(err(failure(`it ended with exit code ${code}: ${complaints.trim()}`)));
    });
    child.on('message', (message: FromServer) => {
      if (message.kind === 'Listening') settle(ok(undefined));
      else if (message.kind === 'CannotListen') settle(err(failure(message.message)));
      else say(child, { kind: 'Answer', id: message.id, answer: service(message.request) });
    });
  });
}
