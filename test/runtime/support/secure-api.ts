// The tests' API server as a pod sees the real one: by TLS, with a service account's files.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, type Server } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import {
  startTestApiServer,
  type TestApiServer,
} from '../../../src/adapters/kubernetes/testing-api-server.ts';

export interface SecureApi {
  readonly api: TestApiServer;
  readonly endpoint: string;
  /** With `token` and `ca.crt`. */
  readonly accountDirectory: string;
  close(): Promise<void>;
}

/** `directory` takes the key, the certificate and the account. */
export async function startSecureApi(directory: string): Promise<SecureApi> {
  const [key, cert, accountDirectory] = ['api.key', 'api.crt', 'account'].map((name) =>
    join(directory, name),
  ) as [string, string, string];
  const subject = ['-subj', '/CN=api', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '2',
      ...subject,
      '-keyout',
      key,
      '-out',
      cert,
    ],
    { stdio: 'pipe' },
  );
  mkdirSync(accountDirectory);
  copyFileSync(cert, join(accountDirectory, 'ca.crt'));
  writeFileSync(join(accountDirectory, 'token'), 'the-token\n');
  const api = await startTestApiServer();
  const { port } = new URL(api.url);
  const front: Server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (socket) => {
    const back = connect(Number(port), '127.0.0.1');
    // Either end takes the other with it.
    for (const [one, other] of [
      [socket, back],
      [back, socket],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  return {
    api,
    endpoint: `https://127.0.0.1:${(front.address() as AddressInfo).port}`,
    accountDirectory,
    close: async () => {
      await api.close();
      await new Promise((resolve) => front.close(resolve));
    },
  };
}
