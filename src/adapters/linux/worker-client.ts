// Asking a Worker: requests out, outcomes back; when the Worker dies, what was asked of it is unknown.

import { Worker } from 'node:worker_threads';
import { failed, type Outcome, unknown } from '../../ports/outcome.ts';
import type { KernelFailure } from './kernel-refusal.ts';
import type { ChangeNotice, WorkerReply } from './worker-messages.ts';

export interface WorkerClient {
  /** `message` is sent with a `requestId` of its own; the Worker answers `{ requestId, outcome }`. */
  ask(message: object): Promise<Outcome<unknown, KernelFailure>>;
  /** `heard` is called with what the Worker sends unasked; one listener. */
  onNotice(heard: (notice: ChangeNotice) => void): void;
  /** Waits for what is being done, then ends the Worker. */
  close(): Promise<void>;
}

/** Starts the Worker whose code is `file` in this folder (without suffix: sources are .ts, a bundle's files .js). */
export function startWorker(file: string): WorkerClient {
  const suffix = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
  const worker = new Worker(new URL(`./${file}${suffix}`, import.meta.url), { execArgv: [], name: file });
  const waiting = new Map<number, (outcome: Outcome<unknown, KernelFailure>) => void>();
  let lastRequestId = 0;
  let heard: (notice: ChangeNotice) => void = () => {};
  let ended: string | undefined;

  const end = (cause: string): void => {
    ended ??= cause;
    for (const answer of waiting.values()) answer(unknown(cause));
    waiting.clear();
  };
  worker.on('message', (message: WorkerReply | ChangeNotice) => {
    if ('changedStackId' in message) {
      heard(message);
      return;
    }
    waiting.get(message.requestId)?.(message.outcome);
    waiting.delete(message.requestId);
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
    onNotice: (listener) => {
      heard = listener;
    },
    close: async () => {
      await worker.terminate();
    },
  };
}
