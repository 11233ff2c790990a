// TCP and UDP from inside network namespaces, without a process per namespace: what the lab probes pods with.

import type { Ip } from '../domain/address/ip.ts';
import type { Outcome } from './outcome.ts';

export interface SocketFailure {
  /** The kernel's name for the error: ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH, ... */
  readonly errno: string;
  readonly message: string;
}

export interface EchoServer {
  close(): Promise<void>;
}

export interface EchoConnection {
  /** The client's address as the server saw it. */
  readonly seenAs: Ip;
  /** One more round trip on the same connection: ok while it lives. */
  ping(): Promise<Outcome<void, SocketFailure>>;
  close(): Promise<void>;
}

export interface NamespaceSockets {
  /** A TCP server on all addresses of the namespace. Answers each line received, and the connect, with the peer's address and a newline. */
  serve(request: {
    readonly netnsPath: string;
    readonly port: number;
  }): Promise<Outcome<EchoServer, SocketFailure>>;
  connect(request: {
    readonly netnsPath: string;
    readonly address: Ip;
    readonly port: number;
    readonly timeoutMs: number;
    /** Address to connect from; the kernel's choice when absent. */
    readonly source?: Ip;
  }): Promise<Outcome<EchoConnection, SocketFailure>>;
  /** Sends one UDP datagram with a source address that the namespace does not own. `ok` says it left the socket, no more. */
  sendSpoofed(request: {
    readonly netnsPath: string;
    readonly source: Ip;
    readonly destination: Ip;
    readonly port: number;
  }): Promise<Outcome<void, SocketFailure>>;
  /** Waits for one UDP datagram on `port`; answers its source address, or ETIMEDOUT. */
  receiveDatagram(request: {
    readonly netnsPath: string;
    readonly port: number;
    readonly timeoutMs: number;
  }): Promise<Outcome<Ip, SocketFailure>>;
  close(): Promise<void>;
}
