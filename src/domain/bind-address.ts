// Where a local server listens.

import { parseIp } from './address/parse-ip.ts';
import { err, ok, type Result } from './result.ts';

export type BindAddress =
  /** `host` is an IP address; absent: every address of the host. */
  | { readonly kind: 'Tcp'; readonly host?: string; readonly port: number }
  | { readonly kind: 'Unix'; readonly path: string };

const PORT_MAX = 65_535;

/** `127.0.0.1:61679`, `[::1]:61679`, `:61678` (every address) or `unix:/run/eniwhere/introspection.sock`. */
export function parseBindAddress(text: string): Result<BindAddress, string> {
  const refuse = err(
    `${JSON.stringify(text)}: expected an address with a port, such as 127.0.0.1:61679 or :61679, or unix:/PATH`,
  );
  if (text.startsWith('unix:')) {
    const path = text.slice('unix:'.length);
    return path.startsWith('/') && !path.includes('\0') ? ok({ kind: 'Unix', path }) : refuse;
  }
  const parts = /^(?:\[(?<ipv6>[^\]]+)\]|(?<ipv4>[^:]*)):(?<port>\d{1,5})$/.exec(text)?.groups;
  if (parts === undefined) return refuse;
  const port = Number(parts['port']);
  if (port < 1 || port > PORT_MAX) return refuse;
  const host = parts['ipv6'] ?? parts['ipv4'] ?? '';
  if (host === '') return ok({ kind: 'Tcp', port });
  return parseIp(host).ok ? ok({ kind: 'Tcp', host, port }) : refuse;
}

export const describeBindAddress = (address: BindAddress): string =>
  address.kind === 'Unix'
    ? `unix:${address.path}`
    : `${address.host?.includes(':') === true ? `[${address.host}]` : (address.host ?? '')}:${address.port}`;
