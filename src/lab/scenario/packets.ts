// Real packets between the lab's endpoints: echo servers on demand, connections, spoofed datagrams.

import type { Ip, IpFamily } from '../../domain/address/ip.ts';
import type {
  EchoConnection,
  EchoServer,
  NamespaceSockets,
  SocketFailure,
} from '../../ports/namespace-sockets.ts';
import { done, failed, type Outcome } from '../../ports/outcome.ts';
import type { Spot, Target } from './places.ts';

export type SocketOutcome<T> = Outcome<T, SocketFailure>;

export interface Packets {
  /** Opens a TCP connection and closes it; answers the address that the far end saw. */
  visit(from: Spot, to: Target, timeoutMs: number): Promise<SocketOutcome<Ip>>;
  /** The instance id that instance metadata answers. */
  instanceId(from: Spot, timeoutMs: number, family: IpFamily): Promise<SocketOutcome<string>>;
  /** Opens a connection and keeps it under `name`. */
  open(name: string, from: Spot, to: Target): Promise<SocketOutcome<Ip>>;
  /** One round trip on a kept connection. */
  ping(name: string): Promise<SocketOutcome<void>>;
  /** Sends one datagram with `source` from `from`; answers the source that arrived, or ETIMEDOUT. */
  datagram(request: {
    readonly from: Spot;
    readonly source: Ip;
    readonly to: Target;
  }): Promise<SocketOutcome<Ip>>;
  /** Closes the servers and connections of a namespace that is about to go. */
  forget(netnsPath: string): Promise<void>;
  close(): Promise<void>;
}

const OPEN_TIMEOUT_MS = 5_000;
const DATAGRAM_TIMEOUT_MS = 700;

export function createPackets(sockets: NamespaceSockets, instanceId: Packets['instanceId']): Packets {
  const servers = createServers(sockets);
  // name -> connection that stays open
  const kept = new Map<string, { readonly from: string; readonly connection: EchoConnection }>();
  const connect = async (
    from: Spot,
    to: Target,
    timeoutMs: number,
  ): Promise<SocketOutcome<EchoConnection>> => {
    const served = await servers.ensure(to.netnsPath, to.port);
    if (served.kind !== 'ok') return served;
    return sockets.connect({ netnsPath: from.netnsPath, address: to.address, port: to.port, timeoutMs });
  };
  const closeKept = async (isToClose: (from: string) => boolean): Promise<void> => {
    for (const [name, { from, connection }] of kept)
      if (isToClose(from)) {
        kept.delete(name);
        await connection.close();
      }
  };
  return {
    visit: async (from, to, timeoutMs) => {
      const connection = await connect(from, to, timeoutMs);
      if (connection.kind !== 'ok') return connection;
      await connection.value.close();
      return done(connection.value.seenAs);
    },
    instanceId,
    open: async (name, from, to) => {
      const connection = await connect(from, to, OPEN_TIMEOUT_MS);
      if (connection.kind !== 'ok') return connection;
      kept.set(name, { from: from.netnsPath, connection: connection.value });
      return done(connection.value.seenAs);
    },
    ping: (name) =>
      kept.get(name)?.connection.ping() ??
      Promise.resolve(failed({ errno: 'ENOTCONN', message: `connection ${name} was never established` })),
    datagram: (request) => sendDatagram(sockets, request),
    forget: async (netnsPath) => {
      await closeKept((from) => from === netnsPath);
      await servers.forget(netnsPath);
    },
    close: async () => {
      await closeKept(() => true);
      await servers.close();
    },
  };
}

async function sendDatagram(
  sockets: NamespaceSockets,
  { from, source, to }: Parameters<Packets['datagram']>[0],
): Promise<SocketOutcome<Ip>> {
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
  return sent.kind === 'ok' ? received : sent;
}

interface Servers {
  ensure(netnsPath: string, port: number): Promise<SocketOutcome<void>>;
  forget(netnsPath: string): Promise<void>;
  close(): Promise<void>;
}

/** Echo servers, each started by the first packet that needs it. */
function createServers(sockets: NamespaceSockets): Servers {
  // netns path -> port -> its server
  const servers = new Map<string, Map<number, EchoServer>>();
  const forget = async (netnsPath: string): Promise<void> => {
    const ofNamespace = servers.get(netnsPath);
    servers.delete(netnsPath);
    for (const server of ofNamespace?.values() ?? []) await server.close();
  };
  return {
    ensure: async (netnsPath, port) => {
      const ofNamespace = servers.get(netnsPath) ?? new Map<number, EchoServer>();
      if (ofNamespace.has(port)) return done(undefined);
      const server = await sockets.serve({ netnsPath, port });
      if (server.kind !== 'ok') return server;
      servers.set(netnsPath, ofNamespace.set(port, server.value));
      return done(undefined);
    },
    forget,
    close: async () => {
      for (const netnsPath of servers.keys()) await forget(netnsPath);
    },
  };
}
