// The agent's socket against both of the plugin's transports that run here, and against what lies in its way.

import assert from 'node:assert/strict';
import { mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { sendByNode } from '../../cni/send-by-node.ts';
import type { CniReply, CniRequest } from '../../protocol/agent-socket/cni-message.ts';
import { err, ok } from '../../domain/result.ts';
import type { Log, LogFields } from '../../ports/log.ts';
import { peerUid } from '../linux/peer-uid.ts';
import { type AgentSocketOptions, serveAgentSocket } from './agent-socket.ts';

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

interface LogLine {
  readonly message: string;
  readonly fields: LogFields | undefined;
}

/** Serves with options while `body` runs; it is given the lines logged so far. */
async function servingLogged(
  handle: (request: CniRequest) => Promise<CniReply>,
  body: (path: string, lines: readonly LogLine[]) => Promise<void>,
  peerUid?: AgentSocketOptions['peerUid'],
): Promise<void> {
  const lines: LogLine[] = [];
  const quiet = (): void => {};
  const warn = (message: string, fields?: LogFields): void => void lines.push({ message, fields });
  const log: Log = { debug: quiet, info: quiet, warn, error: quiet, mark: quiet };
  await withPath(async (path) => {
    const socket = await serveAgentSocket(path, handle, { log, ...(peerUid !== undefined && { peerUid }) });
    try {
      await body(path, lines);
    } finally {
      await socket.close();
    }
  });
}

async function eventually(what: string, holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 500; turn += 1) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(`never: ${what}`);
}

const requestText = (body: string): string =>
  `POST /cni HTTP/1.1\r\nhost: agent\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

describe('a caller of the agent socket', () => {
  test('that is root, or the agent itself, is served', async () => {
    await servingLogged(
      async () => done,
      async (path) => assert.equal((await send(path, STATUS)).kind, 'Answered'),
      peerUid,
    );
  });

  for (const { title, uid, says } of [
    { title: 'is another user', uid: ok(65_534), says: { uid: 65_534 } },
    { title: 'cannot be told', uid: err('ENOTSOCK'), says: { failure: 'ENOTSOCK' } },
  ]) {
    test(`whose user ${title} is refused, unread, with a line in the log`, async () => {
      let handled = 0;
      const handle = async (): Promise<CniReply> => {
        handled += 1;
        return done;
      };
      await servingLogged(
        handle,
        async (path, lines) => {
          const answer = await exchange(path, requestText(STATUS));
          assert.match(answer, /^(HTTP\/1\.1 403 [^]*)?$/);
          assert.equal(handled, 0);
          assert.deepEqual(lines, [{ message: 'a caller who is not root is refused', fields: says }]);
        },
        () => uid,
      );
    });
  }

  test('that closes its writing side still gets its answer', async () => {
    const handle = (): Promise<CniReply> =>
      new Promise((resolve) => {
        setTimeout(() => resolve(done), 20);
      });
    await servingLogged(handle, async (path) => {
      const answer = await exchange(path, requestText(STATUS), 'half-close');
      assert.match(answer, /^HTTP\/1\.1 200 [^]*\{"kind":"Done"\}/);
    });
  });

  test('that breaks off in the middle of its request leaves a line in the log', async () => {
    await servingLogged(
      async () => done,
      async (path, lines) => {
        const socket = connect(path);
        socket.write(requestText(STATUS).slice(0, -3), () => socket.destroy());
        await eventually('a line', () => lines.length > 0);
        assert.match(lines[0]?.message ?? '', /broke off|not a whole one/);
      },
    );
  });

  test('that does not wait for its answer leaves a line in the log', async () => {
    const { promise, resolve } = Promise.withResolvers<CniReply>();
    await servingLogged(
      () => promise,
      async (path, lines) => {
        const socket = connect(path);
        socket.once('data', () => socket.destroy());
        socket.once('close', () => resolve(done));
        socket.write(requestText(STATUS));
        await eventually('a line', () => lines.length > 0);
        assert.equal(lines[0]?.message, 'a caller did not wait for its answer');
      },
    );
  });

  test('that sends what is no request is answered, and leaves a line in the log', async () => {
    await servingLogged(
      async () => done,
      async (path, lines) => {
        assert.match(await exchange(path, 'HELO\r\n\r\n'), /^HTTP\/1\.1 400 /);
        assert.equal(lines[0]?.message, 'the agent was sent what is no request, or not a whole one');
      },
    );
  });
});

/** Sends the text, and answers all that comes back until the other end closes. */
function exchange(path: string, text: string, then?: 'half-close'): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect({ path, allowHalfOpen: true });
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      answer += chunk;
      if (then === undefined) return;
      // The last chunk of an answer without a length.
      if (answer.endsWith('0\r\n\r\n')) socket.destroy();
    });
    socket.on('error', () => resolve(answer));
    socket.on('end', () => socket.end());
    socket.on('close', () => resolve(answer));
    if (then === 'half-close') socket.end(text);
    else socket.write(text);
  });
}

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
