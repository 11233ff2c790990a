// The node's local HTTP server: what it serves, and that no client can take more of it than its share.

import assert from 'node:assert/strict';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Log } from '../../ports/log.ts';
import { type HttpAnswer, type HttpRoutes, serveLocalHttp } from './local-http.ts';

const ignore = (): void => {};
const silent: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore, mark: ignore };
const text = (body: string): HttpAnswer => ({ status: 200, contentType: 'text/plain', body });
const routes: HttpRoutes = new Map<string, () => HttpAnswer | Promise<HttpAnswer>>([
  ['/pods', () => ({ status: 200, body: '["web"]\n' })],
  ['/metrics', async () => text('up 1\n')],
  ['/broken', () => Promise.reject(new Error('a bug'))],
]);

async function serving(body: (port: number) => Promise<void>, requestMs = 5000): Promise<void> {
  const server = await serveLocalHttp({
    address: { kind: 'Tcp', host: '127.0.0.1', port: 0 },
    routes,
    log: silent,
    requestMs,
  });
  assert.ok(server.ok, JSON.stringify(server));
  try {
    await body(server.value.port);
  } finally {
    await server.value.close();
  }
}

/** Sends bytes as they are, and answers all that comes back until the server ends the connection. */
function exchange(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket: Socket = connect(port, '127.0.0.1');
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      answer += chunk;
    });
    // The server may end the connection while we still write.
    socket.on('error', () => resolve(answer));
    socket.on('close', () => resolve(answer));
    socket.write(bytes);
  });
}

const url = (port: number, path: string): string => `http://127.0.0.1:${port}${path}`;

describe('the local HTTP server', () => {
  test('answers a path of its table, whatever query follows it', async () => {
    await serving(async (port) => {
      const answer = await fetch(url(port, '/pods?namespace=default'));
      assert.equal(answer.headers.get('content-type'), 'application/json');
      assert.deepEqual(await answer.json(), ['web']);
      assert.equal(await (await fetch(url(port, '/metrics'))).text(), 'up 1\n');
    });
  });

  test('answers HEAD without a body', async () => {
    await serving(async (port) => {
      const answer = await exchange(port, 'HEAD /pods HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
      assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
      assert.match(answer, /\r\n\r\n$/);
    });
  });

  test('answers another path with those that there are', async () => {
    await serving(async (port) => {
      const answer = await fetch(url(port, '/other'));
      assert.equal(answer.status, 404);
      assert.deepEqual(await answer.json(), { paths: ['/pods', '/metrics', '/broken'] });
    });
  });

  test('hides what went wrong from the client', async () => {
    await serving(async (port) => {
      const answer = await fetch(url(port, '/broken'));
      assert.equal(answer.status, 500);
      assert.doesNotMatch(await answer.text(), /a bug/);
    });
  });

  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
    test(`refuses ${method}, unread`, async () => {
      await serving(async (port) => {
        const head = `${method} /pods HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000000\r\n\r\n`;
        const answer = await exchange(port, head);
        assert.match(answer, /^HTTP\/1\.1 405 [\s\S]*allow: GET, HEAD/);
      });
    });
  }

  for (const [what, bytes, status] of [
    ['a path of megabytes', `GET /${'a'.repeat(1_000_000)} HTTP/1.1\r\nhost: a\r\n\r\n`, 431],
    ['headers of megabytes', `GET / HTTP/1.1\r\nhost: a\r\nx: ${'a'.repeat(1_000_000)}\r\n\r\n`, 431],
    ['what is no HTTP', 'HELO mail\r\n\r\n', 400],
    ['a method of its own', 'STEAL / HTTP/1.1\r\nhost: a\r\n\r\n', 400],
    ['a request without a host', 'GET /pods HTTP/1.1\r\n\r\n', 400],
    ['two lengths', 'GET /pods HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', 400],
    ['a path that climbs', 'GET /pods/../metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n', 404],
    ['a name of a prototype', 'GET /__proto__ HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n', 404],
  ] as const) {
    test(`answers ${what} with ${status}, and goes on serving`, async () => {
      await serving(async (port) => {
        const answer = await exchange(port, bytes);
        // What is too long may also end the connection before its answer is through.
        if (answer !== '') assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `));
        assert.equal((await fetch(url(port, '/pods'))).status, 200);
      });
    });
  }

  test('ends the connection of a client that sends its request a byte at a time', async () => {
    await serving(async (port) => {
      // It never sends more: only the server can end this.
      const answer = await exchange(port, 'GET /pods HTTP/1.1\r\nhost');
      assert.match(answer, /^(HTTP\/1\.1 408 [\s\S]*)?$/);
    }, 100);
  });

  test('takes so many connections and no more, and serves again once they are gone', async () => {
    await serving(async (port) => {
      const open = await Promise.all(
        Array.from({ length: 64 }, async () => {
          const socket = connect(port, '127.0.0.1');
          await new Promise((resolve) => socket.once('connect', resolve));
          return socket;
        }),
      );
      assert.equal(await exchange(port, 'GET /pods HTTP/1.1\r\nhost: a\r\n\r\n'), '');
      await Promise.all(
        open.map(
          (socket) =>
            new Promise((resolve) => {
              socket.once('close', resolve);
              socket.destroy();
            }),
        ),
      );
      // The server learns of each end in a turn of its own.
      for (let tries = 0; tries < 100; tries += 1) {
        const status = await fetch(url(port, '/pods')).then(
          (answer) => answer.status,
          () => undefined,
        );
        if (status === 200) return;
      }
      assert.fail('never served again');
    });
  });

  test('says which address is taken', async () => {
    await serving(async (port) => {
      const address = { kind: 'Tcp', host: '127.0.0.1', port } as const;
      const second = await serveLocalHttp({ address, routes, log: silent });
      assert.ok(!second.ok);
      assert.match(second.error, new RegExp(`cannot listen on 127\\.0\\.0\\.1:${port}: .*EADDRINUSE`));
    });
  });

  test('listens on a unix socket for its owner alone, and leaves a file in its way alone', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'eniwhere-http-'));
    try {
      const path = join(directory, 'introspection.sock');
      const server = await serveLocalHttp({ address: { kind: 'Unix', path }, routes, log: silent });
      assert.ok(server.ok, JSON.stringify(server));
      assert.equal((await stat(path)).mode & 0o777, 0o600);
      assert.equal(await getOverSocket(path, '/metrics'), 'up 1\n');
      await server.value.close();
      await writeFile(join(directory, 'file'), 'precious');
      const address = { kind: 'Unix', path: join(directory, 'file') } as const;
      const refused = await serveLocalHttp({ address, routes, log: silent });
      assert.ok(!refused.ok);
      assert.match(refused.error, /is in the way: it is no socket/);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

function getOverSocket(socketPath: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, path }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () => resolve(body));
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}
