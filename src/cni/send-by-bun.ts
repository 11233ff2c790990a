// The plugin's transport where its executable is compiled by Bun.

import { readAnswer, requestText, unreachableCause } from './http-exchange.ts';
import type { SendOutcome, SendRequest } from './run-cni.ts';

/** What is used of Bun here. https://bun.com/docs/runtime/networking/tcp */
interface BunSocket {
  write(bytes: Uint8Array): number;
  end(): void;
}

declare const Bun: {
  connect(options: {
    readonly unix: string;
    readonly socket: {
      open(socket: BunSocket): void;
      drain(socket: BunSocket): void;
      data(socket: BunSocket, bytes: Uint8Array): void;
      close(): void;
      error(socket: BunSocket, error: Error): void;
    };
  }): Promise<BunSocket>;
};

/**
 * Sends one request over a unix socket. HTTP/1.0 by hand, so that the answer ends where the connection does: Bun's fetch
 * would start a thread for its HTTP client, and take half as much processor time again for each call.
 */
export function sendByBun({ socketPath, body, takeMs, answerMs }: SendRequest): Promise<SendOutcome> {
  return new Promise((resolve) => {
    let unsent: Uint8Array = new TextEncoder().encode(requestText(body));
    let answer = '';
    const decoder = new TextDecoder();
    const end = (outcome: SendOutcome): void => {
      clearTimeout(timer);
      resolve(outcome);
    };
    let timer = setTimeout(
      () => end({ kind: 'Unreachable', cause: `not taken within ${takeMs} ms` }),
      takeMs,
    );
    const send = (socket: BunSocket): void => {
      unsent = unsent.subarray(socket.write(unsent));
    };
    const connecting = Bun.connect({
      unix: socketPath,
      socket: {
        open: send,
        drain: send,
        data: (_socket, bytes) => {
          if (answer === '') {
            // The agent sends its headers as soon as it has the request.
            clearTimeout(timer);
            const cause = `not answered within ${answerMs} ms`;
            timer = setTimeout(() => end({ kind: 'NoAnswer', cause }), answerMs);
          }
          answer += decoder.decode(bytes, { stream: true });
        },
        close: () => end(readAnswer(answer)),
        error: (_socket, error) => end({ kind: 'NoAnswer', cause: error.message }),
      },
    });
    connecting.catch((error: unknown) => end({ kind: 'Unreachable', cause: causeOf(error) }));
  });
}

/** Bun's own texts speak of URLs and ports. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? error.code : undefined;
  if (code === 'FailedToOpenSocket') return unreachableCause('ENOENT') ?? code;
  if (code === 'ConnectionRefused') return unreachableCause('ECONNREFUSED') ?? code;
  return unreachableCause(String(code)) ?? error.message;
}
