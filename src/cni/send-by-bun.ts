// The plugin's transport in the compiled executable, whose runtime is Bun.

import { CNI_HTTP_PATH } from '../protocol/agent-socket/cni-message.ts';
import type { SendOutcome, SendRequest } from './run-cni.ts';

/** Bun's fetch takes the path of a unix socket. https://bun.com/docs/runtime/networking/fetch */
type UnixFetch = (url: string, init: RequestInit & { readonly unix: string }) => Promise<Response>;

/** Sends one request over a unix socket. */
export async function sendByBun({ socketPath, body, takeMs, answerMs }: SendRequest): Promise<SendOutcome> {
  const abort = new AbortController();
  const taking = setTimeout(() => abort.abort(new Error(`not taken within ${takeMs} ms`)), takeMs);
  let answering: ReturnType<typeof setTimeout> | undefined;
  let response: Response | undefined;
  try {
    const init = { method: 'POST', body, unix: socketPath, signal: abort.signal };
    response = await (fetch as UnixFetch)(`http://agent${CNI_HTTP_PATH}`, init);
    clearTimeout(taking);
    answering = setTimeout(() => abort.abort(new Error(`not answered within ${answerMs} ms`)), answerMs);
    return { kind: 'Answered', status: response.status, body: await response.text() };
  } catch (error) {
    const cause = causeOf(error);
    return { kind: response === undefined ? 'Unreachable' : 'NoAnswer', cause };
  } finally {
    clearTimeout(taking);
    clearTimeout(answering);
  }
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
