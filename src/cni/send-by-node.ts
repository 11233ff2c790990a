// The plugin's transport where it runs on Node.js: in tests, and as a fallback executable.

import { request as httpRequest } from 'node:http';
import { CNI_HTTP_PATH } from '../protocol/agent-socket/cni-message.ts';
import type { SendOutcome, SendRequest } from './run-cni.ts';

/** Sends one request over a unix socket. */
export function sendByNode({ socketPath, body, takeMs, answerMs }: SendRequest): Promise<SendOutcome> {
  return new Promise((resolve) => {
    const request = httpRequest({ socketPath, path: CNI_HTTP_PATH, method: 'POST' });
    const fail = (kind: 'Unreachable' | 'NoAnswer', cause: string): void => {
      clearTimeout(timer);
      request.destroy();
      resolve({ kind, cause });
    };
    let timer = setTimeout(() => fail('Unreachable', `not taken within ${takeMs} ms`), takeMs);
    request.once('error', (error) => fail('Unreachable', error.message));
    request.once('response', (response) => {
      clearTimeout(timer);
      timer = setTimeout(() => fail('NoAnswer', `not answered within ${answerMs} ms`), answerMs);
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', (error) => fail('NoAnswer', error.message));
      response.once('end', () => {
        clearTimeout(timer);
        resolve({
          kind: 'Answered',
          status: response.statusCode ?? 0,
          body: Buffer.concat(chunks).toString('utf8'),
        });
      });
    });
    request.end(body);
  });
}
