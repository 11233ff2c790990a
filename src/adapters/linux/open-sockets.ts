// Opening TCP and UDP sockets inside a namespace: they stay in it, and can then be served from anywhere in the process.

import { familyOf, type Ip, type IpFamily } from '../../domain/address/ip.ts';
import { unless } from './kernel-refusal.ts';
import { addressFamilyOf } from './ip-bytes.ts';
import {
  bindSocket,
  closeSocket,
  connectSocket,
  openSocket,
  sendTo,
  setSocketOption,
  SOCK_DGRAM,
  SOCK_NONBLOCK,
  SOCK_STREAM,
} from './libc.ts';
import { insideNamespace, withNamespace } from './namespace.ts';
import { socketAddress } from './socket-address.ts';

const SOL_SOCKET = 1;
const SO_REUSEADDR = 2;
const SOL_IP = 0;
const IP_TRANSPARENT = 19;
const SOL_IPV6 = 41;
const IPV6_V6ONLY = 26;
const IPV6_TRANSPARENT = 75;

const ANY_IPV4 = '0.0.0.0' as Ip;
const ANY_IPV6 = '::' as Ip;

/** Opens a socket in the namespace and prepares it there; closes it again when that is refused. */
function openIn(
  netnsPath: string,
  kind: { readonly family: IpFamily; readonly type: number },
  prepare: (fd: number) => void,
): number {
  return withNamespace(netnsPath, (namespace) =>
    insideNamespace(namespace, () => {
      const fd = openSocket(addressFamilyOf(kind.family), kind.type | SOCK_NONBLOCK, 0);
      try {
        prepare(fd);
        return fd;
      } catch (error) {
        closeSocket(fd);
        throw error;
      }
    }),
  );
}

/** A socket bound to `port` on all addresses, of both families where the kernel has IPv6. */
function openBound(netnsPath: string, type: number, port: number): number {
  const bindTo = (fd: number, any: Ip): void => {
    // Of UDP sockets, two could then share the port; of TCP's, only one with connections that linger.
    if (type === SOCK_STREAM) setSocketOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    bindSocket(fd, socketAddress(any, port), `bind port ${port} in ${netnsPath}`);
  };
  const dual = unless(['EAFNOSUPPORT', 'EADDRNOTAVAIL'], () =>
    openIn(netnsPath, { family: 6, type }, (fd) => {
      setSocketOption(fd, SOL_IPV6, IPV6_V6ONLY, 0);
      bindTo(fd, ANY_IPV6);
    }),
  );
  return (
    dual ??
    openIn(netnsPath, { family: 4, type }, (fd) => {
      bindTo(fd, ANY_IPV4);
    })
  );
}

/** A TCP socket bound to `port` on all addresses, not listening yet. */
export const openServer = (netnsPath: string, port: number): number =>
  openBound(netnsPath, SOCK_STREAM, port);

/** A UDP socket bound to `port` on all addresses. */
export const openReceiver = (netnsPath: string, port: number): number =>
  openBound(netnsPath, SOCK_DGRAM, port);

/** A TCP socket that has begun to connect. */
export function openClient(
  netnsPath: string,
  to: { readonly address: Ip; readonly port: number; readonly source?: Ip },
): number {
  return openIn(netnsPath, { family: familyOf(to.address), type: SOCK_STREAM }, (fd) => {
    if (to.source !== undefined) {
      bindSocket(fd, socketAddress(to.source, 0), `bind source address ${to.source} in ${netnsPath}`);
    }
    connectSocket(fd, socketAddress(to.address, to.port), `connect to ${to.address} port ${to.port}`);
  });
}

/** Sends one datagram from an address that is not the namespace's own: ip(7), IP_TRANSPARENT. */
export function sendSpoofed(
  netnsPath: string,
  datagram: {
    readonly source: Ip;
    readonly destination: Ip;
    readonly port: number;
    readonly payload: Buffer;
  },
): void {
  const family = familyOf(datagram.source);
  const fd = openIn(netnsPath, { family, type: SOCK_DGRAM }, (socket) => {
    if (family === 4) setSocketOption(socket, SOL_IP, IP_TRANSPARENT, 1);
    else setSocketOption(socket, SOL_IPV6, IPV6_TRANSPARENT, 1);
    bindSocket(socket, socketAddress(datagram.source, 0), `bind foreign address ${datagram.source}`);
    sendTo(
      socket,
      datagram.payload,
      socketAddress(datagram.destination, datagram.port),
      `send a datagram to ${datagram.destination}`,
    );
  });
  closeSocket(fd);
}
