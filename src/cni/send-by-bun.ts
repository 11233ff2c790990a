// The plugin's transport in the compiled executable, whose runtime is Bun.

import { CNI_HTTP_PATH } from '../protocol/agent-socket/cni-message.ts';
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
    let unsent = requestBytes(body);
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

function requestBytes(body: string): Uint8Array {
  const content = new TextEncoder().encode(body);
  const head = `POST ${CNI_HTTP_PATH} HTTP/1.0\r\nhost: agent\r\ncontent-length: ${content.length}\r\n\r\n`;
  const bytes = new Uint8Array(head.length + content.length);
  bytes.set(new TextEncoder().encode(head));
  bytes.set(content, head.length);
  return bytes;
}

/** RFC 9112, section 4 (status line) and section 6.3 (a body that ends with the connection). */
function readAnswer(answer: string): SendOutcome {
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(answer)?.[1];
  const bodyAt = answer.indexOf('\r\n\r\n');
  if (status === undefined || bodyAt < 0) {
    return { kind: 'NoAnswer', cause: 'the connection was closed before an answer came' };
  }
  return { kind: 'Answered', status: Number(status), body: answer.slice(bodyAt + 4) };
}

/** Bun's own texts speak of URLs and ports. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? error.code : undefined;
  if (code === 'ENOENT' || code === 'FailedToOpenSocket') return 'there is no such socket';
  if (code === 'ECONNREFUSED' || code === 'ConnectionRefused') return 'nobody listens on it';
  if (code === 'EACCES') return 'permission denied: the plugin must run as root';
  return error.message;
}
