// The agent's socket against both of the plugin's transports that run here, and against what lies in its way.

import assert from 'node:assert/strict';
import { mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { sendByNode } from '../../cni/send-by-node.ts';
import type { CniReply, CniRequest } from '../../protocol/agent-socket/cni-message.ts';
import { serveAgentSocket } from './agent-socket.ts';

const STATUS = '{"command":"STATUS"}';
const done: CniReply = { kind: 'Done' };

async function withPath(body: (path: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'eniwhere-socket-'));
  try {
    await body(join(directory, 'run', 'agent.sock'));
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Serves with `handle` while `body` runs. */
const serving = (
  handle: (request: CniRequest) => Promise<CniReply>,
  body: (path: string) => Promise<void>,
): Promise<void> =>
  withPath(async (path) => {
    const socket = await serveAgentSocket(path, handle);
    try {
      await body(path);
    } finally {
      await socket.close();
    }
  });

const send = (socketPath: string, body: string, answerMs = 5000): ReturnType<typeof sendByNode> =>
  sendByNode({ socketPath, body, takeMs: 2000, answerMs });

describe('the agent socket', () => {
  test('takes a request and carries the reply back', async () => {
    const seen: CniRequest[] = [];
    const handle = async (one: CniRequest): Promise<CniReply> => {
      seen.push(one);
      return done;
    };
    await serving(handle, async (path) => {
      assert.deepEqual(await send(path, STATUS), { kind: 'Answered', status: 200, body: '{"kind":"Done"}' });
      assert.deepEqual(seen, [{ command: 'STATUS' }]);
    });
  });

  test('is for root alone', async () => {
    await serving(
      async () => done,
      async (path) => {
        assert.equal((await stat(path)).mode & 0o777, 0o600);
        assert.equal((await stat(join(path, '..'))).mode & 0o777, 0o700);
      },
    );
  });

  test('answers a request that it cannot read with the reason, not with silence', async () => {
    await serving(
      async () => done,
      async (path) => {
        const outcome = await send(path, '{"command":"ADD"}');
        assert.deepEqual(outcome, {
          kind: 'Answered',
          status: 400,
          body: 'request.sandbox must be an object, it is undefined\n',
        });
      },
    );
  });

  test('answers a mistake of the agent with a CNI error', async () => {
    await serving(
      () => Promise.reject(new Error('a bug')),
      async (path) => {
        const outcome = await send(path, STATUS);
        assert.ok(outcome.kind === 'Answered');
        assert.match(outcome.body, /"code":999/);
      },
    );
  });

  test('serves nothing but the one path', async () => {
    await serving(
      async () => done,
      async (path) => {
        const status = await new Promise((resolve, reject) => {
          const outgoing = request({ socketPath: path, path: '/other' }, (response) => {
            response.resume();
            resolve(response.statusCode);
          });
          outgoing.on('error', reject);
          outgoing.end();
        });
        assert.equal(status, 404);
      },
    );
  });

  test('answers many at once, each with its own', async () => {
    const handle = async (one: CniRequest): Promise<CniReply> =>
      one.command === 'DEL' && one.sandbox.containerId === 'slow'
        ? new Promise((resolve) => setTimeout(() => resolve(done), 50))
        : { kind: 'Error', error: { code: 11, msg: JSON.stringify(one), details: '' } };
    await serving(handle, async (path) => {
      const ids = ['slow', ...Array.from({ length: 20 }, (_, n) => `c${n}`)];
      const outcomes = await Promise.all(
        ids.map((containerId) =>
          send(path, JSON.stringify({ command: 'DEL', sandbox: { containerId, ifName: 'eth0' } })),
        ),
      );
      for (const [n, outcome] of outcomes.entries()) {
        assert.ok(outcome.kind === 'Answered');
        assert.ok(outcome.body.includes(n === 0 ? 'Done' : `${ids[n]}`), outcome.body);
      }
    });
  });

  test('takes the place of a socket that a dead agent left', async () => {
    await withPath(async (path) => {
      const first = await serveAgentSocket(path, async () => done);
      await first.close();
      await leaveSocket(path);
      const second = await serveAgentSocket(path, async () => done);
      assert.equal((await send(path, STATUS)).kind, 'Answered');
      await second.close();
    });
  });

  test('does not take the place of an agent that answers', async () => {
    await serving(
      async () => done,
      async (path) => {
        await assert.rejects(
          serveAgentSocket(path, async () => done),
          /another agent answers on/,
        );
        assert.equal((await send(path, STATUS)).kind, 'Answered');
      },
    );
  });

  test('does not remove a file that is no socket', async () => {
    await serving(
      async () => done,
      async (path) => {
        await writeFile(`${path}.txt`, 'precious');
        await assert.rejects(
          serveAgentSocket(`${path}.txt`, async () => done),
          /is in the way: it is no socket/,
        );
      },
    );
  });
});

describe('the plugin tells', () => {
  test('a socket that is not there', async () => {
    await withPath(async (path) => {
      const outcome = await send(path, STATUS);
      assert.ok(outcome.kind === 'Unreachable');
      assert.match(outcome.cause, /ENOENT/);
    });
  });

  test('a socket on which nobody listens', async () => {
    await withPath(async (path) => {
      const socket = await serveAgentSocket(path, async () => done);
      await socket.close();
      await leaveSocket(path);
      const outcome = await send(path, STATUS);
      assert.ok(outcome.kind === 'Unreachable');
      assert.match(outcome.cause, /ECONNREFUSED/);
    });
  });

  test('an agent that hangs, and does not even take the request, from one that works on it', async () => {
    await withPath(async (path) => {
      await serveAgentSocket(path, async () => done).then((socket) => socket.close());
      const hanging = createServer((connection) => connection.resume());
      await new Promise<void>((resolve) => hanging.listen(path, resolve));
      const outcome = await sendByNode({ socketPath: path, body: STATUS, takeMs: 50, answerMs: 5000 });
      assert.deepEqual(outcome, { kind: 'Unreachable', cause: 'not taken within 50 ms' });
      await closeServer(hanging);
    });
    const working = Promise.withResolvers<CniReply>();
    await serving(
      () => working.promise,
      async (path) => {
        const request = { socketPath: path, body: STATUS, takeMs: 5000, answerMs: 20 };
        assert.deepEqual(await sendByNode(request), {
          kind: 'NoAnswer',
          cause: 'not answered within 20 ms',
        });
        working.resolve(done);
      },
    );
  });
});

/** A socket file without a listener, as SIGKILL leaves one: listened on by a server that is closed under another name. */
async function leaveSocket(path: string): Promise<void> {
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(`${path}.other`, resolve));
  await rename(`${path}.other`, path);
  await closeServer(server);
}

const closeServer = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
  });
