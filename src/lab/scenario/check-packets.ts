// Expectations about packets: who reaches whom, what the far end sees, and what must not arrive.

import { familyOf } from '../../domain/address/ip.ts';
import type { SocketFailure } from '../../ports/namespace-sockets.ts';
import type { Outcome } from '../../ports/outcome.ts';
import { eniOfPod } from './check-objects.ts';
import type { CheckOf } from './check-schema.ts';
import { type Lab, livingPods } from './lab.ts';
import type { Packets } from './packets.ts';
import { DEFAULT_PORT, type Destination, matchPods, showEndpoint, showPod } from './schema-words.ts';
import { allOf, type Sighting } from './sighting.ts';

export interface Ground {
  readonly lab: Lab;
  readonly packets: Packets;
}

/** A connection in the lab takes well under a millisecond; this leaves room for one lost SYN (repeated after 1 s). */
const REACH_TIMEOUT_MS = 2_500;
/** Long enough for an answer to come if there were one. */
const BLOCKED_TIMEOUT_MS = 600;

const showOutcome = (outcome: Outcome<unknown, SocketFailure>): string => {
  switch (outcome.kind) {
    case 'ok':
      return 'connected';
    case 'failed':
      return `${outcome.failure.errno}: ${outcome.failure.message}`;
    case 'unknown':
      return outcome.cause;
  }
};

const showTarget = ({ endpoint, port }: Destination): string =>
  `${showEndpoint(endpoint)}${port === DEFAULT_PORT || endpoint.kind === 'Metadata' ? '' : ` port ${port}`}`;

export async function sightReach(ground: Ground, want: CheckOf<'reach'>): Promise<Sighting> {
  if (want.to.endpoint.kind === 'Metadata') return sightMetadata(ground, want);
  const { packets } = ground;
  const { places } = ground.lab;
  const seenAs = want.seenAs === 'self' ? want.from : want.seenAs;
  const from = places.spot(want.from, want.family);
  const family = want.family ?? (from && familyOf(from.address));
  const wanted = seenAs === undefined ? undefined : places.spot(seenAs, family)?.address;
  const as = seenAs === undefined ? '' : `, seen as ${showEndpoint(seenAs)} (${wanted ?? 'no address yet'})`;
  const expected = `${showEndpoint(want.from)} connects to ${showTarget(want.to)}${as}`;
  const to = places.target(want.to, family);
  if (from === undefined || to === undefined || (seenAs !== undefined && wanted === undefined))
    return { held: false, seen: 'an endpoint has no address yet', expected };
  const outcome = await packets.visit(from, to, REACH_TIMEOUT_MS);
  if (outcome.kind !== 'ok')
    return { held: false, seen: `${from.address} -> ${to.address}: ${showOutcome(outcome)}`, expected };
  const behind = places.addressBehind(outcome.value);
  const through = behind === outcome.value ? '' : ` (the public address of ${behind})`;
  return {
    held: wanted === undefined || behind === wanted,
    seen: `${from.address} -> ${to.address}:${to.port}, seen as ${outcome.value}${through}`,
    expected,
  };
}

/** Metadata must answer with the instance of the node that asks, or that the asking pod is on. */
async function sightMetadata(
  { lab, packets }: Ground,
  { from, family }: CheckOf<'reach'>,
): Promise<Sighting> {
  const instanceId = lab.places.instanceBehind(from);
  const expected = `${showEndpoint(from)} reads its instance id (${instanceId ?? 'not known'}) from instance metadata`;
  const spot = lab.places.spot(from, family);
  if (spot === undefined) return { held: false, seen: 'the endpoint has no address yet', expected };
  const outcome = await packets.instanceId(spot, REACH_TIMEOUT_MS, familyOf(spot.address));
  if (outcome.kind !== 'ok') return { held: false, seen: showOutcome(outcome), expected };
  return { held: outcome.value === instanceId, seen: `instance-id ${outcome.value}`, expected };
}

export async function sightReachAmong(ground: Ground, want: CheckOf<'reachAmong'>): Promise<Sighting> {
  const { lab } = ground;
  const pods = matchPods(want.pods, livingPods(lab)).map((pod) => ({
    pod,
    eniId: eniOfPod(lab, pod)?.eniId,
  }));
  const pairs = pods.flatMap((a, index) => pods.slice(index + 1).map((b) => [a, b] as const));
  const pair = pairs.find(
    ([a, b]) =>
      a.eniId !== undefined && b.eniId !== undefined && (a.eniId === b.eniId) === (want.enis === 'same'),
  );
  if (pair === undefined)
    return {
      held: false,
      seen: `no two of the ${pods.length} pods have addresses on ${want.enis === 'same' ? 'one ENI' : 'different ENIs'}`,
      expected: `two pods with addresses on ${want.enis === 'same' ? 'one ENI' : 'different ENIs'}`,
    };
  const [a, b] = pair;
  const bothWays = [
    [a.pod, b.pod],
    [b.pod, a.pod],
  ] as const;
  const sightings: Sighting[] = [];
  for (const [from, to] of bothWays)
    sightings.push(
      await sightReach(ground, {
        from: { kind: 'Pod', pod: from },
        to: { endpoint: { kind: 'Pod', pod: to }, port: DEFAULT_PORT },
        seenAs: 'self',
        ...(want.family === undefined ? {} : { family: want.family }),
      }),
    );
  return allOf(sightings);
}

export async function sightBlocked(ground: Ground, want: CheckOf<'blocked'>): Promise<Sighting> {
  const { packets } = ground;
  const { places } = ground.lab;
  const expected = `no answer to ${showEndpoint(want.from)} from ${showTarget(want.to)}`;
  const from = places.spot(want.from, want.family);
  const toMetadata = want.to.endpoint.kind === 'Metadata';
  const to = places.target(want.to, from && familyOf(from.address));
  if (from === undefined || (to === undefined && !toMetadata))
    return { held: false, seen: 'an endpoint has no address yet', expected };
  const outcome =
    to === undefined
      ? await packets.instanceId(from, BLOCKED_TIMEOUT_MS, familyOf(from.address))
      : await packets.visit(from, to, BLOCKED_TIMEOUT_MS);
  const path = `${from.address} -> ${to === undefined ? showTarget(want.to) : `${to.address}:${to.port}`}`;
  // Only silence counts: a refusal would mean that the packet arrived and nobody listened.
  const silent = outcome.kind === 'failed' && outcome.failure.errno === 'ETIMEDOUT';
  return { held: silent, seen: silent ? `${path}: no answer` : `${path}: ${showOutcome(outcome)}`, expected };
}

export async function sightSpoofing(ground: Ground, want: CheckOf<'spoofing'>): Promise<Sighting> {
  const { packets } = ground;
  const { places } = ground.lab;
  const from = places.spot({ kind: 'Pod', pod: want.from }, want.family);
  const family = from && familyOf(from.address);
  const as = places.spot({ kind: 'Pod', pod: want.as }, family);
  const to = places.target({ endpoint: { kind: 'Pod', pod: want.to }, port: DEFAULT_PORT }, family);
  const expected = `a datagram of ${showPod(want.from)} arrives with its own address, and not with that of ${showPod(want.as)}`;
  if (from === undefined || as === undefined || to === undefined)
    return { held: false, seen: 'a pod has no address yet', expected };
  const own = await packets.datagram({ from, source: from.address, to });
  if (own.kind !== 'ok')
    return { held: false, seen: `its own address does not arrive either: ${showOutcome(own)}`, expected };
  const forged = await packets.datagram({ from, source: as.address, to });
  const dropped = forged.kind === 'failed' && forged.failure.errno === 'ETIMEDOUT';
  return {
    held: dropped && own.value === from.address,
    seen: dropped
      ? `${own.value} arrives, ${as.address} does not`
      : `${as.address} arrived: ${forged.kind === 'ok' ? forged.value : showOutcome(forged)}`,
    expected,
  };
}

export async function sightAlive(ground: Ground, want: CheckOf<'alive'>): Promise<Sighting> {
  const sightings: Sighting[] = [];
  for (const name of want.connections) {
    const outcome = await ground.packets.ping(name);
    sightings.push({
      held: outcome.kind === 'ok',
      seen: outcome.kind === 'ok' ? 'a round trip each' : `${name}: ${showOutcome(outcome)}`,
      expected: `a round trip on ${want.connections.join(', ')}`,
    });
  }
  return allOf(sightings);
}
