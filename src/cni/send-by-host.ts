// The plugin's transport in the compiled executable, whose host is plugin-host.c.

import { readAnswer, requestText, unreachableCause } from './http-exchange.ts';
import type { PluginHost } from './plugin-host.ts';
import type { SendOutcome, SendRequest } from './run-cni.ts';

/** Sends one request over a unix socket, and blocks: the plugin has nothing else to do. */
export function sendByHost(
  host: Pick<PluginHost, 'exchange'>,
  { socketPath, body, takeMs, answerMs }: SendRequest,
): SendOutcome {
  const { step, errno, answer } = host.exchange(socketPath, requestText(body), takeMs, answerMs);
  switch (step) {
    case 'connect':
      return { kind: 'Unreachable', cause: unreachableCause(errno) ?? causeOf(errno, takeMs) };
    case 'take':
      // Without a byte in return, nobody can tell whether the request was taken.
      return errno === 'ETIMEDOUT'
        ? { kind: 'Unreachable', cause: `not taken within ${takeMs} ms` }
        : { kind: 'NoAnswer', cause: causeOf(errno, takeMs) };
    case 'answer':
      return errno === 'ETIMEDOUT'
        ? { kind: 'NoAnswer', cause: `not answered within ${answerMs} ms` }
        : { kind: 'NoAnswer', cause: causeOf(errno, answerMs) };
    case 'done':
      return readAnswer(answer);
  }
}

const causeOf = (errno: string, withinMs: number): string =>
  errno === 'ETIMEDOUT' || errno === 'EAGAIN' ? `not taken within ${withinMs} ms` : errno;
