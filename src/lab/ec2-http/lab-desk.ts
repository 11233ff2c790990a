// The lab's side door to a simulated EC2 that runs in a process of its own: the hand that changes it, and its truth.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { err, ok, type Result } from '../../domain/result.ts';
import type { SimEc2 } from '../ec2/sim-ec2.ts';
import { HAND_PATH, type HandAnswer, type HandRequest, TRUTH_PATH, type TruthLine } from './lab-messages.ts';
import type { Ec2Change } from '../ec2/region.ts';

export interface LabDesk {
  /** Whether the request is for the lab and not for EC2. */
  isFor(request: IncomingMessage): boolean;
  /** `body` is the request's, empty for a GET. */
  serve(request: IncomingMessage, response: ServerResponse, body: string): void;
  close(): void;
}

export function createLabDesk(sim: Pick<SimEc2, 'admin' | 'truth' | 'onChange'>): LabDesk {
  const readers = new Set<ServerResponse>();
  const feed = createFeed(sim, (line) => {
    for (const reader of readers) reader.write(line);
  });
  return {
    isFor: ({ url }) => url === HAND_PATH || url === TRUTH_PATH,
    serve: (request, response, body) => {
      if (request.url === TRUTH_PATH) {
        response.writeHead(200, { 'content-type': 'application/x-ndjson' });
        response.write(feed.newest());
        readers.add(response);
        response.once('close', () => readers.delete(response));
        return;
      }
      const moved = moveHand(sim, body);
      if (moved.ok) {
        const answer: HandAnswer = { revision: feed.publish(), result: moved.value };
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      } else response.writeHead(400, { 'content-type': 'text/plain' }).end(moved.error);
    },
    close: () => feed.close(),
  };
}

/** Lines of truth: one for all changes of a turn. */
function createFeed(
  { truth, onChange }: Pick<SimEc2, 'truth' | 'onChange'>,
  send: (line: string) => void,
): { newest(): string; publish(): number; close(): void } {
  let revision = 0;
  let changes: Ec2Change[] = [];
  const line = (): string => {
    const { vpcs, subnets, securityGroups, instances, enis } = truth;
    const content: TruthLine = {
      revision,
      truth: {
        vpcs: vpcs(),
        subnets: subnets(),
        securityGroups: securityGroups(),
        instances: instances(),
        enis: enis(),
      },
      changes,
    };
    return `${JSON.stringify(content)}\n`;
  };
  const publish = (): number => {
    if (changes.length === 0) return revision;
    revision += 1;
    send(line());
    changes = [];
    return revision;
  };
  const subscription = onChange((change) => {
    if (changes.length === 0) setImmediate(publish);
    changes.push(change);
  });
  return {
    newest: () => {
      // Whoever begins to read now must not hear of what the line already shows.
      publish();
      return line();
    },
    publish,
    close: () => subscription.close(),
  };
}

/** Makes one call of the hand. What the lab itself got wrong is answered in words. */
function moveHand({ admin }: Pick<SimEc2, 'admin'>, body: string): Result<unknown, string> {
  try {
    const { call, request } = JSON.parse(body) as HandRequest;
    const calls = admin as unknown as Readonly<Record<string, (...request: unknown[]) => unknown>>;
    const known = Object.hasOwn(calls, call) ? calls[call] : undefined;
    if (known === undefined)
      return err(`the hand has no call "${call}"; it has ${Object.keys(admin).join(', ')}`);
    return ok(known(...request));
  } catch (error) {
    return err(`the call cannot be made: ${error instanceof Error ? error.message : String(error)}`);
  }
}
