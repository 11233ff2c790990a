// Asking a Worker: requests out, outcomes back; when the Worker dies, what was asked of it is unknown.

import { Worker } from 'node:worker_threads';
import { failed, type Outcome, unknown } from '../../ports/outcome.ts';

/** The failures of the ports that Workers serve have these fields in common. */
interface WorkerFailure {
  readonly step: string;
  readonly errno: string;
  readonly message: string;
}

export interface WorkerClient {
  /** `message` is sent with a `requestId` of its own; the Worker answers `{ requestId, outcome }`. */
  ask(message: object): Promise<Outcome<unknown, WorkerFailure>>;
  /** Waits for what is being done, then ends the Worker. */
  close(): Promise<void>;
}

interface Reply {
  readonly requestId: number;
  readonly outcome: Outcome<unknown, WorkerFailure>;
}

/** Starts the Worker whose code is `file` in this folder (without suffix: sources are .ts, a bundle's files .js). */
export function startWorker(file: string): WorkerClient {
  const suffix = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
  const worker = new Worker(new URL(`./${file}${suffix}`, import.meta.url), { execArgv: [], name: file });
  const waiting = new Map<number, (outcome: Outcome<unknown, WorkerFailure>) => void>();
  let lastRequestId = 0;
  let ended: string | undefined;

  const end = (cause: string): void => {
    ended ??= cause;
    for (const answer of waiting.values()) answer(unknown(cause));
    waiting.clear();
  };
  worker.on('message', ({ requestId, outcome }: Reply) => {
    waiting.get(requestId)?.(outcome);
    waiting.delete(requestId);
  });
  worker.on('error', (error) => {
    end(`Worker ${file} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  });
  worker.on('exit', (code) => {
    end(`Worker ${file} ended with code ${code}`);
  });

  return {
    ask: (message) => {
      if (ended !== undefined) {
        return Promise.resolve(failed({ step: 'ask a Worker', errno: 'ESHUTDOWN', message: ended }));
      }
      lastRequestId += 1;
      const requestId = lastRequestId;
      return new Promise((resolve) => {
        waiting.set(requestId, resolve);
        worker.postMessage({ ...message, requestId }, []);
      });
    },
    close: async () => {
      await worker.terminate();
    },
  };
}
