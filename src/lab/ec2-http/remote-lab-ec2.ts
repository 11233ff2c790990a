// A simulated EC2 in another process, as a lab sees it: its truth followed line by line, its hand by calls.

import { request as httpRequest } from 'node:http';
import { createInterface } from 'node:readline';
import { cidrContains } from '../../domain/address/cidr.ts';
import type { Ec2 } from '../../ports/ec2.ts';
import type { Ec2Hand, LabEc2, LabTruth } from '../ec2/lab-ec2.ts';
import type { Ec2Change } from '../ec2/region.ts';
import type { AttachmentChange } from '../ec2/sim-ec2.ts';
import {
  HAND_PATH,
  type HandAnswer,
  type HandRequest,
  TRUTH_PATH,
  type TruthData,
  type TruthLine,
} from './lab-messages.ts';

export interface RemoteLabEc2Options {
  /** `http://HOST:PORT`. */
  readonly url: string;
  /** EC2 as the product calls it: over the real adapter. */
  readonly client: (name: string) => Ec2;
}

interface Mirror {
  newest: TruthLine | undefined;
  /** Why nothing more will come. */
  ended: string | undefined;
  readonly listeners: Set<(change: Ec2Change) => void>;
  /** Called after each line, and at the end. */
  readonly waiting: Set<() => void>;
}

/** Resolves once the first line of truth is there. Rejects when the other process does not answer. */
export async function openRemoteLabEc2({ url, client }: RemoteLabEc2Options): Promise<LabEc2> {
  const mirror: Mirror = { newest: undefined, ended: undefined, listeners: new Set(), waiting: new Set() };
  const stream = follow(url, mirror);
  await reached(mirror, 0);
  const onChange: LabEc2['onChange'] = (notify) => {
    mirror.listeners.add(notify);
    return { close: () => mirror.listeners.delete(notify) };
  };
  return {
    elsewhere: `in another process, at ${url}`,
    hand: handOver(url, mirror),
    truth: truthOf(() => {
      if (mirror.newest === undefined) throw new Error('truth is asked for after the first line came');
      return mirror.newest.truth;
    }),
    onChange,
    onAttachment: (notify: (change: AttachmentChange) => void) =>
      onChange((change) => {
        if (change.kind === 'AttachmentChanged') notify(change);
      }),
    client,
    close: () => {
      mirror.listeners.clear();
      stream.close();
      return Promise.resolve();
    },
  };
}

/** Reads lines of truth until closed. */
function follow(url: string, mirror: Mirror): { close(): void } {
  const wake = (): void => {
    for (const look of mirror.waiting) look();
  };
  const end = (why: string): void => {
    mirror.ended ??= why;
    wake();
  };
  const request = httpRequest(`${url}${TRUTH_PATH}`, { agent: false }, (response) => {
    const lines = createInterface({ input: response });
    lines.on('line', (text) => {
      const line = JSON.parse(text) as TruthLine;
      const isFirst = mirror.newest === undefined;
      mirror.newest = line;
      // The first line's changes were before anybody listened.
      if (!isFirst) for (const change of line.changes) for (const notify of mirror.listeners) notify(change);
      wake();
    });
    // readline repeats what breaks the connection; the request hears of it, too, when it is not the lab's own doing.
    lines.on('error', (error: Error) => end(error.message));
    response.once('close', () => end('it has closed the connection'));
  });
  request.on('error', (error) => end(error.message));
  request.end();
  return { close: () => request.destroy() };
}

/** Waits until the mirror shows `revision`. Rejects when it never will. */
function reached(mirror: Mirror, revision: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const isThere = mirror.newest !== undefined && mirror.newest.revision >= revision;
      if (!isThere && mirror.ended === undefined) return;
      mirror.waiting.delete(look);
      if (isThere) resolve();
      else reject(new Error(`the simulated EC2 cannot be followed: ${mirror.ended}`));
    };
    mirror.waiting.add(look);
    look();
  });
}

function handOver(url: string, mirror: Mirror): Ec2Hand {
  const call = async (name: string, request: readonly unknown[]): Promise<unknown> => {
    const body: HandRequest = { call: name, request };
    const answer = await fetch(`${url}${HAND_PATH}`, { method: 'POST', body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`the simulated EC2 refused ${name}: ${await answer.text()}`);
    const { revision, result } = (await answer.json()) as HandAnswer;
    await reached(mirror, revision);
    return result;
  };
  const hand = new Proxy(
    {},
    {
      get:
        (_, name) =>
        (...request: unknown[]) =>
          call(String(name), request),
    },
  );
  return hand as Ec2Hand;
}

/** Looks things up in the newest line. A lab is small enough to search through. */
function truthOf(data: () => TruthData): LabTruth {
  return {
    vpcs: () => data().vpcs,
    subnets: () => data().subnets,
    subnet: (subnetId) => data().subnets.find((one) => one.subnetId === subnetId),
    securityGroups: () => data().securityGroups,
    securityGroup: (groupId) => data().securityGroups.find((one) => one.securityGroupId === groupId),
    instances: () => data().instances,
    instance: (instanceId) => data().instances.find((one) => one.instanceId === instanceId),
    enis: () => data().enis,
    eni: (eniId) => data().enis.find((one) => one.eniId === eniId),
    enisOf: (instanceId) =>
      data()
        .enis.filter((eni) => eni.attachment?.instanceId === instanceId)
        .sort((a, b) => (a.attachment?.deviceIndex ?? 0) - (b.attachment?.deviceIndex ?? 0)),
    eniHolding: (vpcId, address) =>
      data().enis.find(
        (eni) =>
          eni.vpcId === vpcId &&
          (eni.primaryAddress === address ||
            eni.addresses.includes(address) ||
            [...eni.prefixes, ...eni.ipv6Prefixes].some((prefix) => cidrContains(prefix, address))),
      ),
  };
}
