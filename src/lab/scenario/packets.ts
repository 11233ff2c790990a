// Real packets between the lab's endpoints: echo servers on demand, connections, spoofed datagrams.

import type { Ip } from '../../domain/address/ip.ts';
import type {
  EchoConnection,
  EchoServer,
  NamespaceSockets,
  SocketFailure,
} from '../../ports/namespace-sockets.ts';
import { done, failed, type Outcome, unknown } from '../../ports/outcome.ts';

/** Where an endpoint lives: the namespace that its packets leave from, and the address that others call. */
export interface Spot {
  readonly netnsPath: string;
  readonly address: Ip;
}

export interface Target extends Spot {
  readonly port: number;
  /** Somebody else serves there already (instance metadata). */
  readonly served?: true;
}

export interface Packets {
  /** Opens a TCP connection and closes it; answers the address that the far end saw. */
  visit(from: Spot, to: Target, timeoutMs: number): Promise<Outcome<Ip, SocketFailure>>;
  /** Opens a connection and keeps it under `name`. */
  open(name: string, from: Spot, to: Target): Promise<Outcome<Ip, SocketFailure>>;
  /** One round trip on a kept connection. */
  ping(name: string): Promise<Outcome<void, SocketFailure>>;
  /** Sends one datagram with `source` from `from`; answers the source that arrived, or ETIMEDOUT. */
  datagram(request: {
    readonly from: Spot;
    readonly source: Ip;
    readonly to: Target;
  }): Promise<Outcome<Ip, SocketFailure>>;
  /** Closes the servers and connections of a namespace that is about to go. */
  forget(netnsPath: string): Promise<void>;
  close(): Promise<void>;
}

const OPEN_TIMEOUT_MS = 5_000;
const DATAGRAM_TIMEOUT_MS = 700;

export function createPackets(sockets: NamespaceSockets): Packets {
  // netns path -> port -> its echo server
  const servers = new Map<string, Map<number, EchoServer>>();
  const connections = new Map<string, { readonly from: string; readonly connection: EchoConnection }>();

  const ensureServer = async ({ netnsPath, port, served }: Target): Promise<Outcome<void, SocketFailure>> => {
    const ofNamespace = servers.get(netnsPath) ?? new Map<number, EchoServer>();
    servers.set(netnsPath, ofNamespace);
    if (served === true || ofNamespace.has(port)) return done(undefined);
    const server = await sockets.serve({ netnsPath, port });
    if (server.kind !== 'ok') return server;
    ofNamespace.set(port, server.value);
    return done(undefined);
  };
  const connect = async (
    from: Spot,
    to: Target,
    timeoutMs: number,
  ): Promise<Outcome<EchoConnection, SocketFailure>> => {
    const server = await ensureServer(to);
    if (server.kind !== 'ok') return server;
    return sockets.connect({ netnsPath: from.netnsPath, address: to.address, port: to.port, timeoutMs });
  };

  return {
    visit: async (from, to, timeoutMs) => {
      const connection = await connect(from, to, timeoutMs);
      if (connection.kind !== 'ok') return connection;
      await connection.value.close();
      return done(connection.value.seenAs);
    },
    open: async (name, from, to) => {
      const connection = await connect(from, to, OPEN_TIMEOUT_MS);
      if (connection.kind !== 'ok') return connection;
      connections.set(name, { from: from.netnsPath, connection: connection.value });
      return done(connection.value.seenAs);
    },
    ping: (name) =>
      connections.get(name)?.connection.ping() ??
      Promise.resolve(failed({ errno: 'ENOTCONN', message: `connection ${name} was never established` })),
    datagram: async ({ from, source, to }) => {
      const receiving = sockets.receiveDatagram({
        netnsPath: to.netnsPath,
        port: to.port,
        timeoutMs: DATAGRAM_TIMEOUT_MS,
      });
      const sent = await sockets.sendSpoofed({
        netnsPath: from.netnsPath,
        source,
        destination: to.address,
        port: to.port,
      });
      const received = await receiving;
      if (sent.kind === 'unknown') return unknown(sent.cause);
      return sent.kind === 'ok' ? received : sent;
    },
    forget: async (netnsPath) => {
      const ofNamespace = servers.get(netnsPath);
      servers.delete(netnsPath);
      for (const server of ofNamespace?.values() ?? []) await server.close();
      for (const [name, { from, connection }] of connections)
        if (from === netnsPath) {
          connections.delete(name);
          await connection.close();
        }
    },
    close: async () => {
      for (const { connection } of connections.values()) await connection.close();
      for (const ofNamespace of servers.values())
        for (const server of ofNamespace.values()) await server.close();
      connections.clear();
      servers.clear();
    },
  };
}
