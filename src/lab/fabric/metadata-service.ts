// The instance metadata service: session tokens, and who gets which answer.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html

import type { Ip } from '../../domain/address/ip.ts';
import type { InstanceId } from '../../domain/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import { type Random, randomHex } from '../../ports/random.ts';
import { instanceSending, metadataOf, readMetadata } from './metadata.ts';
import type { VpcTruth } from './vpc-truth.ts';

export interface MetadataRequest {
  /** The packets' source, which the router has checked. */
  readonly source: Ip;
  readonly method: string;
  readonly path: string;
  /** Header x-aws-ec2-metadata-token. */
  readonly token?: string;
  /** Header x-aws-ec2-metadata-token-ttl-seconds. */
  readonly tokenTtlSeconds?: string;
  /** Whether there is a header x-forwarded-for: a request that came through an open proxy. */
  readonly isForwarded: boolean;
}

export interface MetadataAnswer {
  readonly status: number;
  readonly body: string;
}

export type MetadataService = (request: MetadataRequest) => MetadataAnswer;

const TOKEN_PATH = '/latest/api/token';
const METADATA_PATH = '/latest/meta-data';
const TOKEN_TTL_MAX_SECONDS = 21_600;
/** The oldest token goes when there are more. */
const TOKEN_COUNT_MAX = 1_000;
const TOKEN_HEX_DIGITS = 56;

const refusal = (status: number, body: string): MetadataAnswer => ({ status, body: `${body}\n` });

/** Version 2 (with a token) and version 1 (without), as with HttpTokens set to "optional". */
export function createMetadataService({
  truth,
  clock,
  random,
}: {
  readonly truth: VpcTruth;
  readonly clock: Clock;
  readonly random: Random;
}): MetadataService {
  // token -> the instance that it was made for, and until when, in milliseconds since the epoch; oldest first
  const tokens = new Map<string, { readonly instanceId: InstanceId; readonly untilMs: number }>();

  const newToken = (instanceId: InstanceId, request: MetadataRequest): MetadataAnswer => {
    if (request.isForwarded) return refusal(403, 'tokens are not given to forwarded requests');
    const ttlSeconds = Number(request.tokenTtlSeconds);
    if (!Number.isInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > TOKEN_TTL_MAX_SECONDS) {
      return refusal(
        400,
        `x-aws-ec2-metadata-token-ttl-seconds must be a whole number from 1 to ${TOKEN_TTL_MAX_SECONDS}`,
      );
    }
    const token = randomHex(random, TOKEN_HEX_DIGITS);
    tokens.set(token, { instanceId, untilMs: clock.now() + ttlSeconds * 1_000 });
    for (const oldest of tokens.keys()) if (tokens.size > TOKEN_COUNT_MAX) tokens.delete(oldest);
    return { status: 200, body: token };
  };
  const isValid = (token: string, instanceId: InstanceId): boolean => {
    const known = tokens.get(token);
    return known !== undefined && known.instanceId === instanceId && clock.now() < known.untilMs;
  };

  return (request) => {
    const view = truth.read();
    const instance = instanceSending(view, request.source);
    if (instance === undefined) return refusal(404, `no instance holds ${request.source}`);
    if (request.path === TOKEN_PATH) {
      return request.method === 'PUT'
        ? newToken(instance.instanceId, request)
        : refusal(405, 'a token is made with PUT');
    }
    if (request.method !== 'GET') return refusal(405, 'metadata is read with GET');
    if (request.token !== undefined && !isValid(request.token, instance.instanceId)) {
      return refusal(401, 'the token is unknown, expired, or of another instance');
    }
    const [, below] = new RegExp(`^${METADATA_PATH}(?:/(.*))?$`).exec(request.path) ?? [];
    const isMetadata = request.path === METADATA_PATH || below !== undefined;
    const body = isMetadata ? readMetadata(metadataOf(view, instance), below ?? '') : undefined;
    return body === undefined ? refusal(404, `${request.path} does not exist`) : { status: 200, body };
  };
}
