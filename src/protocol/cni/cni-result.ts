// The result of ADD: one shape inside, written and read in the form of each version.

import type { Result } from '../../domain/result.ts';
import { type Decoder, listOf, object, optional, text, wholeNumber } from './decode.ts';
import { type CniVersion, isAtLeast } from './version.ts';

export interface CniInterface {
  readonly name: string;
  readonly mac?: string | undefined;
  /** Bytes. Since version 1.1.0. */
  readonly mtu?: number | undefined;
  /** Path of the network namespace; absent for an interface of the host. */
  readonly sandbox?: string | undefined;
}

export interface CniIp {
  /** Address and prefix length, such as 10.1.0.4/32. */
  readonly address: string;
  readonly gateway?: string | undefined;
  /** Index into `interfaces`. */
  readonly interface?: number | undefined;
}

export interface CniRoute {
  readonly dst: string;
  readonly gw?: string | undefined;
}

/** CNI specification, section 5. */
export interface CniResult {
  readonly interfaces: readonly CniInterface[];
  readonly ips: readonly CniIp[];
  readonly routes: readonly CniRoute[];
}

/** What ADD prints. 0.3.1 and 0.4.0 have `version` ("4" or "6") on each address; `mtu` came with 1.1.0. */
export function formatResult(result: CniResult, version: CniVersion): string {
  const interfaces = result.interfaces.map(({ mtu, ...rest }) =>
    isAtLeast(version, '1.1.0') && mtu !== undefined ? { ...rest, mtu } : rest,
  );
  const ips = result.ips.map((ip) =>
    isAtLeast(version, '1.0.0') ? ip : { version: ip.address.includes(':') ? '6' : '4', ...ip },
  );
  return JSON.stringify({ cniVersion: version, interfaces, ips, routes: result.routes, dns: {} });
}

export const cniResult: Decoder<CniResult> = (value, path) => {
  const decoded: Result<Partial<CniResult>, string> = object<Partial<CniResult>>({
    interfaces: optional(
      listOf(
        object<CniInterface>({
          name: text,
          mac: optional(text),
          mtu: optional(wholeNumber),
          sandbox: optional(text),
        }),
      ),
    ),
    ips: optional(
      listOf(object<CniIp>({ address: text, gateway: optional(text), interface: optional(wholeNumber) })),
    ),
    routes: optional(listOf(object<CniRoute>({ dst: text, gw: optional(text) }))),
  })(value, path);
  if (!decoded.ok) return decoded;
  const { interfaces = [], ips = [], routes = [] } = decoded.value;
  return { ok: true, value: { interfaces, ips, routes } };
};

/** The addresses of a result without their prefix lengths. */
export const resultAddresses = (result: CniResult): readonly string[] =>
  result.ips.map(({ address }) => address.split('/')[0] ?? '');
