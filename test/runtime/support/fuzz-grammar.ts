// Hostile input by grammar: what a runtime or a stranger may say, from almost right to noise.

import { chance, drawBetween, pick } from '../../../src/lab/kernel/draw.ts';
import type { SeededRandom } from '../../../src/lab/kernel/seeded-random.ts';
import { CNI_VERSIONS } from '../../../src/protocol/cni/version.ts';

/** Texts that have broken parsers before. */
const NASTY = [
  '',
  ' ',
  '.',
  '..',
  '../../etc/passwd',
  '\0',
  'a\0b',
  '\n',
  '\r\n',
  '\ufeff',
  '\u202e',
  '\ud800',
  '💥'.repeat(4),
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '%s%n%x',
  '$(reboot)',
  '; rm -rf /',
  '-1',
  '1e400',
  '0x41',
  'null',
  'true',
  '{}',
  '[]',
  'a'.repeat(300),
  'é'.repeat(130),
  '/',
  '//',
  '10.1.0.10/32',
  '::/0',
  '999.1.1.1',
];

export const nasty = (random: SeededRandom): string =>
  chance(random, 0.7)
    ? pick(random, NASTY)
    : String.fromCharCode(
        ...Array.from({ length: drawBetween(random, { min: 0, max: 12 }) }, () => random.uint32() & 0xffff),
      );

/** The value, or now and then something else in its place. */
export const or = <T, U>(random: SeededRandom, odds: number, value: T, other: () => U): T | U =>
  chance(random, odds) ? other() : value;

/** Any JSON value, up to the depth. */
export function anyJson(random: SeededRandom, depth = 3): unknown {
  const kind = drawBetween(random, { min: 0, max: depth > 0 ? 7 : 5 });
  switch (kind) {
    case 0:
      return null;
    case 1:
      return chance(random, 0.5);
    case 2:
      return pick(random, [0, -0, -1, 1.5, 1e308, Number.MAX_SAFE_INTEGER + 1, 2 ** 32, 11]);
    case 3:
    case 4:
    case 5:
      return nasty(random);
    case 6:
      return Array.from({ length: drawBetween(random, { min: 0, max: 3 }) }, () =>
        anyJson(random, depth - 1),
      );
    default:
      return Object.fromEntries(
        Array.from({ length: drawBetween(random, { min: 0, max: 3 }) }, () => [
          or(
            random,
            0.5,
            pick(random, ['ips', 'address', 'interfaces', 'containerId', 'command', 'pod']),
            () => nasty(random),
          ),
          anyJson(random, depth - 1),
        ]),
      );
  }
}

/** The value with a random part of it replaced, removed or repeated. */
export function mutateJson(random: SeededRandom, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || chance(random, 0.25)) return anyJson(random);
  const entries = Object.entries(value);
  if (entries.length === 0) return anyJson(random);
  const [key, inner] = pick(random, entries);
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    return items.map((item, n) => (String(n) === key ? mutateJson(random, item) : item));
  }
  const rest = entries.filter(([name]) => name !== key);
  if (chance(random, 0.2)) return Object.fromEntries(rest);
  return Object.fromEntries([
    ...rest,
    [or(random, 0.1, key, () => nasty(random)), mutateJson(random, inner)],
  ]);
}

/** The text with some of it cut out, doubled or overwritten. */
export function mutateText(random: SeededRandom, text: string): string {
  const at = drawBetween(random, { min: 0, max: text.length });
  const end = drawBetween(random, { min: at, max: Math.min(text.length, at + 8) });
  switch (drawBetween(random, { min: 0, max: 6 })) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + text.slice(end);
    case 2:
      return text.slice(0, end) + text.slice(at);
    case 3:
      return text.slice(0, at) + nasty(random) + text.slice(end);
    case 4:
      return text + text;
    case 5: {
      const depth = pick(random, [10, 255, 256, 257, 5000]);
      return text.slice(0, at) + pick(random, ['[', '{"a":']).repeat(depth) + text.slice(end);
    }
    default:
      return nasty(random);
  }
}

/** JSON of the value, mutated as a value or as a text with these odds. */
export function hostileJson(random: SeededRandom, value: unknown): string {
  let hostile = value;
  while (chance(random, 0.4)) hostile = mutateJson(random, hostile);
  const text = JSON.stringify(hostile) ?? '';
  return chance(random, 0.3) ? mutateText(random, text) : text;
}

const CONTAINERS = ['c0', 'c1', 'c2', 'c3', 'c4', 'c5'];
const PODS = ['cart', 'shop-0', 'pay'];

export const drawSandbox = (random: SeededRandom): { containerId: string; ifName: string } => ({
  containerId: pick(random, CONTAINERS),
  ifName: or(random, 0.1, 'eth0', () => 'net1'),
});

/** A container is of one pod; a pod may have had several. */
export const podOf = (containerId: string): { namespace: string; name: string; uid: string } => ({
  namespace: 'shop',
  name: PODS[CONTAINERS.indexOf(containerId) % PODS.length] ?? '',
  uid: 'uid',
});

export const drawNetns = (random: SeededRandom): string => `/run/netns/${pick(random, CONTAINERS)}`;
/** The namespaces that `drawNetns` may name. */
export const netnsPaths: readonly string[] = CONTAINERS.map((one) => `/run/netns/${one}`);

export function drawResult(random: SeededRandom): Readonly<Record<string, unknown>> {
  const address = `10.1.0.${drawBetween(random, { min: 8, max: 16 })}/32`;
  return {
    cniVersion: pick(random, CNI_VERSIONS),
    interfaces: [
      { name: 'eni0123', mac: '02:00:00:00:00:09', mtu: 9001 },
      { name: 'eth0', sandbox: '/x' },
    ],
    ips: [{ address, gateway: '169.254.1.1', interface: 1 }],
    routes: [{ dst: '0.0.0.0/0', gw: '169.254.1.1' }],
    dns: {},
  };
}
