// NamespaceSockets on the kernel: echo servers, clients, spoofed datagrams, and what the kernel refuses.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createNamespaceSockets } from '../../src/adapters/linux/namespace-sockets.ts';
import type { Ip } from '../../src/domain/address/ip.ts';
import type { NamespaceSockets } from '../../src/ports/namespace-sockets.ts';
import { makeNamespace, skip, type TestNamespace, valueOf } from './linux-support.ts';

const TIMEOUT_MS = 2_000;
/** For what must not come: long beside the microseconds that a datagram takes on a veth. */
const SILENCE_MS = 200;
const SERVER_IPV4 = '10.9.0.1' as Ip;
const SERVER_IPV6 = 'fd00:9::1' as Ip;
const CLIENT_IPV4 = '10.9.0.2' as Ip;
const CLIENT_SECOND_IPV4 = '10.9.0.3' as Ip;
const CLIENT_IPV6 = 'fd00:9::2' as Ip;

describe('sockets inside namespaces', { skip }, () => {
  let server: TestNamespace;
  let client: TestNamespace;
  let sockets: NamespaceSockets;

  before(async () => {
    [server, client] = await Promise.all([makeNamespace(), makeNamespace()]);
    sockets = createNamespaceSockets();
    server.run('ip', 'link', 'add', 's0', 'type', 'veth', 'peer', 'name', 'c0', 'netns', client.pid);
    for (const [namespace, link, addresses] of [
      [server, 's0', [`${SERVER_IPV4}/24`, `${SERVER_IPV6}/64`]],
      [client, 'c0', [`${CLIENT_IPV4}/24`, `${CLIENT_SECOND_IPV4}/24`, `${CLIENT_IPV6}/64`]],
    ] as const) {
      namespace.run('ip', 'link', 'set', 'lo', 'up');
      namespace.run('ip', 'link', 'set', link, 'up');
      for (const address of addresses) {
        const nodad = address.includes(':') ? ['nodad'] : [];
        namespace.run('ip', 'addr', 'add', address, 'dev', link, ...nodad);
      }
    }
  });
  after(async () => {
    await sockets.close();
    await Promise.all([server.remove(), client.remove()]);
  });

  test('a server tells each client the address it sees, over both families', async () => {
    const echo = valueOf(await sockets.serve({ netnsPath: server.path, port: 7001 }));
    for (const [address, seenAs] of [
      [SERVER_IPV4, CLIENT_IPV4],
      [SERVER_IPV6, CLIENT_IPV6],
    ] as const) {
      const connection = valueOf(
        await sockets.connect({ netnsPath: client.path, address, port: 7001, timeoutMs: TIMEOUT_MS }),
      );
      assert.equal(connection.seenAs, seenAs);
      await connection.close();
    }
    await echo.close();
  });

  test('a client may choose among the addresses of its namespace', async () => {
    const echo = valueOf(await sockets.serve({ netnsPath: server.path, port: 7002 }));
    const connection = valueOf(
      await sockets.connect({
        netnsPath: client.path,
        address: SERVER_IPV4,
        port: 7002,
        timeoutMs: TIMEOUT_MS,
        source: CLIENT_SECOND_IPV4,
      }),
    );
    assert.equal(connection.seenAs, CLIENT_SECOND_IPV4);
    await connection.close();
    await echo.close();
  });

  test('a connection answers pings until its server is gone', async () => {
    const echo = valueOf(await sockets.serve({ netnsPath: server.path, port: 7003 }));
    const connection = valueOf(
      await sockets.connect({
        netnsPath: client.path,
        address: SERVER_IPV4,
        port: 7003,
        timeoutMs: TIMEOUT_MS,
      }),
    );
    for (let count = 0; count < 3; count++) assert.equal((await connection.ping()).kind, 'ok');
    await echo.close();
    assert.equal((await connection.ping()).kind, 'failed');
    await connection.close();
  });

  test('forty servers and their clients live at once', async () => {
    const ports = Array.from({ length: 40 }, (_, index) => 7100 + index);
    const servers = await Promise.all(ports.map((port) => sockets.serve({ netnsPath: server.path, port })));
    const connections = await Promise.all(
      ports.map((port) =>
        sockets.connect({ netnsPath: client.path, address: SERVER_IPV4, port, timeoutMs: TIMEOUT_MS }),
      ),
    );
    const pings = await Promise.all(connections.map((connection) => valueOf(connection).ping()));
    assert.deepEqual(
      pings.map(({ kind }) => kind),
      ports.map(() => 'ok'),
    );
    await Promise.all(connections.map((connection) => valueOf(connection).close()));
    await Promise.all(servers.map((echo) => valueOf(echo).close()));
  });

  describe('failures carry the name of the errno', () => {
    const connect = (over: { address?: Ip; port?: number; source?: Ip; netnsPath?: string }) =>
      sockets.connect({
        netnsPath: client.path,
        address: SERVER_IPV4,
        port: 7999,
        timeoutMs: SILENCE_MS,
        ...over,
      });
    const cases = [
      { title: 'no server on the port', errno: 'ECONNREFUSED', run: () => connect({}) },
      { title: 'no route', errno: 'ENETUNREACH', run: () => connect({ address: '192.0.2.1' as Ip }) },
      {
        title: 'a source address that the namespace does not have',
        errno: 'EADDRNOTAVAIL',
        run: () => connect({ source: SERVER_IPV4 }),
      },
      { title: 'no such namespace', errno: 'ENOENT', run: () => connect({ netnsPath: '/proc/1/ns/none' }) },
      { title: 'not a namespace', errno: 'EINVAL', run: () => connect({ netnsPath: '/etc/hostname' }) },
      {
        title: 'a namespace of another kind',
        errno: 'EINVAL',
        run: () => connect({ netnsPath: '/proc/self/ns/uts' }),
      },
    ];
    for (const { title, errno, run } of cases) {
      test(`${title}: ${errno}`, async () => {
        const outcome = await run();
        assert.equal(outcome.kind === 'failed' ? outcome.failure.errno : outcome.kind, errno);
      });
    }

    test('an answer that never comes: ETIMEDOUT', async () => {
      server.nft(
        'table inet silence { chain c { type filter hook input priority 0; tcp dport 7998 drop; }\n }',
      );
      const outcome = await connect({ port: 7998 });
      assert.equal(outcome.kind === 'failed' ? outcome.failure.errno : outcome.kind, 'ETIMEDOUT');
    });

    test('a second server on a port: EADDRINUSE', async () => {
      const echo = valueOf(await sockets.serve({ netnsPath: server.path, port: 7004 }));
      const second = await sockets.serve({ netnsPath: server.path, port: 7004 });
      assert.equal(second.kind === 'failed' ? second.failure.errno : second.kind, 'EADDRINUSE');
      await echo.close();
    });
  });

  test('a spoofed datagram arrives with the foreign source address', async () => {
    for (const [source, destination] of [
      ['203.0.113.77' as Ip, SERVER_IPV4],
      ['2001:db8::77' as Ip, SERVER_IPV6],
    ] as const) {
      const receiving = sockets.receiveDatagram({
        netnsPath: server.path,
        port: 7005,
        timeoutMs: TIMEOUT_MS,
      });
      const sent = await sockets.sendSpoofed({ netnsPath: client.path, source, destination, port: 7005 });
      assert.equal(sent.kind, 'ok');
      assert.equal(valueOf(await receiving), source);
    }
  });

  test('a datagram that never comes: ETIMEDOUT', async () => {
    const outcome = await sockets.receiveDatagram({
      netnsPath: server.path,
      port: 7006,
      timeoutMs: SILENCE_MS,
    });
    assert.equal(outcome.kind === 'failed' ? outcome.failure.errno : outcome.kind, 'ETIMEDOUT');
  });
});
