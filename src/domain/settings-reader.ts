// Reads settings out of an environment, and collects what is wrong with them.

import type { AddressFamily } from './address/families.ts';
import { parseCidr } from './address/cidr.ts';
import type { Cidr } from './address/ip.ts';
import { type BindAddress, parseBindAddress } from './bind-address.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface SettingsReader {
  text(name: string, fallback: string): string;
  flag(name: string, fallback: boolean): boolean;
  count(name: string, range?: { readonly min: number; readonly max: number }): number | undefined;
  choice<T extends string>(name: string, allowed: readonly T[], fallback: T): T;
  cidrs(name: string): readonly Cidr[];
  bindAddress(name: string, fallback: BindAddress): BindAddress;
}

const COUNT_MAX = 1_000_000;

/**
 * Every mistake goes to `errors`: the variable, its value and what is allowed; the answer is then the fallback. A
 * variable that is set but empty counts as a mistake for booleans (an upgrade that blanks a value must not change the
 * mode of a cluster in silence), and as unset for everything else.
 */
export function settingsReader(env: Environment, errors: string[]): SettingsReader {
  const isUnset = (text: string | undefined): text is undefined | '' => text === undefined || text === '';
  return {
    text: (name, fallback) => {
      const text = env[name];
      return isUnset(text) ? fallback : text;
    },
    flag: (name, fallback) => {
      const text = env[name];
      if (text === undefined) return fallback;
      if (/^(true|t|1)$/i.test(text)) return true;
      if (/^(false|f|0)$/i.test(text)) return false;
      errors.push(`${name}="${text}": expected true or false`);
      return fallback;
    },
    count: (name, range = { min: 0, max: COUNT_MAX }) => {
      const text = env[name];
      if (isUnset(text)) return undefined;
      const value = Number(text);
      if (/^\d+$/.test(text) && value >= range.min && value <= range.max) return value;
      errors.push(`${name}="${text}": expected a whole number from ${range.min} to ${range.max}`);
      return undefined;
    },
    choice: (name, allowed, fallback) => {
      const text = env[name];
      if (isUnset(text)) return fallback;
      const found = allowed.find((one) => one === text);
      if (found === undefined) errors.push(`${name}="${text}": expected one of ${allowed.join(', ')}`);
      return found ?? fallback;
    },
    cidrs: (name) => {
      const text = env[name];
      if (isUnset(text)) return [];
      return text.split(',').flatMap((part) => {
        const cidr = parseCidr(part.trim());
        if (cidr.ok) return [cidr.value];
        errors.push(`${name}: ${cidr.error}`);
        return [];
      });
    },
    bindAddress: (name, fallback) => {
      const text = env[name];
      if (isUnset(text)) return fallback;
      const address = parseBindAddress(text);
      if (address.ok) return address.value;
      errors.push(`${name}=${address.error}`);
      return fallback;
    },
  };
}

/** ENABLE_IPv4 and ENABLE_IPv6, each as in the AWS VPC CNI, which takes one of the two only; both give pods both. */
export const addressFamiliesOf = (read: SettingsReader): readonly AddressFamily[] => [
  ...(read.flag('ENABLE_IPv4', true) ? (['IPv4'] as const) : []),
  ...(read.flag('ENABLE_IPv6', false) ? (['IPv6'] as const) : []),
];
