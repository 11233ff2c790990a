// One HTTP exchange as text, for transports that have nothing but a socket.

import { CNI_HTTP_PATH } from '../protocol/agent-socket/cni-message.ts';
import { utf8Length } from '../protocol/utf8-length.ts';
import type { SendOutcome } from './run-cni.ts';

/** HTTP/1.0, so that the answer ends where the connection does. */
export const requestText = (body: string): string =>
  `POST ${CNI_HTTP_PATH} HTTP/1.0\r\nhost: agent\r\ncontent-length: ${utf8Length(body)}\r\n\r\n${body}`;

/** RFC 9112, section 4 (status line) and section 6.3 (a body that ends with the connection). */
export function readAnswer(answer: string): SendOutcome {
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(answer)?.[1];
  const bodyAt = answer.indexOf('\r\n\r\n');
  if (status === undefined || bodyAt < 0) {
    return { kind: 'NoAnswer', cause: 'the connection was closed before an answer came' };
  }
  return { kind: 'Answered', status: Number(status), body: answer.slice(bodyAt + 4) };
}

/** Why a socket could not be reached, from the system's name of the error. */
export function unreachableCause(errno: string): string | undefined {
  switch (errno) {
    case 'ENOENT':
      return 'there is no such socket';
    case 'ECONNREFUSED':
      return 'nobody listens on it';
    case 'EACCES':
      return 'permission denied: the plugin must run as root';
    default:
      return undefined;
  }
}
