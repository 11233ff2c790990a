// The Ec2 port over the AWS SDK. It repeats nothing and limits nothing: the controller's budget and its cures do.

import { EC2Client, type EC2ClientConfig } from '@aws-sdk/client-ec2';
import type { Ec2 } from '../../ports/ec2.ts';
import { createAwsEc2Reader } from './aws-ec2-reader.ts';
import { createAwsEc2Writer } from './aws-ec2-writer.ts';

export interface AwsEc2Options {
  /** Of Eniwhere, for the user agent. */
  readonly version: string;
  /** The SDK's own search (AWS_REGION, the shared configuration file) when absent. */
  readonly region?: string;
  /** URL of another EC2: a VPC endpoint's, or a simulated one's. AWS's own for the Region when absent. */
  readonly endpoint?: string;
  /** In place of those that the SDK's default chain finds: for a simulated EC2, which checks none. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** From the first byte sent to the whole answer. Past it the outcome is unknown. */
  readonly requestTimeoutMs?: number;
  readonly connectTimeoutMs?: number;
  /** A connection that was unused for so long is not used again. */
  readonly idleConnectionMs?: number;
}

/** EC2's own slow answers take a few seconds; a describe of many pages is many requests. */
export const REQUEST_TIMEOUT_MS = 10_000;
export const CONNECT_TIMEOUT_MS = 3_000;
/**
 * Shorter than any server keeps an idle connection: a request that meets the server's closing is broken off, and its
 * outcome is unknown, which costs a write far more than a new connection does.
 */
const IDLE_CONNECTION_MS = 4_000;
/** More than the controller has calls under way: its workers and its read loop. */
const CONNECTIONS_MAX = 50;

/**
 * Credentials come by the SDK's default chain (environment, IRSA, Pod Identity, instance profile), unless given.
 * Calls answer outcomes and do not reject, but for settings that no call could work with, such as a missing Region.
 */
export function createAwsEc2(options: AwsEc2Options): Ec2 {
  const client = new EC2Client(clientConfig(options));
  return { ...createAwsEc2Reader(client), ...createAwsEc2Writer(client) };
}

/** What every client of the SDK here is made with. */
export function clientConfig(options: AwsEc2Options): EC2ClientConfig {
  const requestTimeout = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  const agent = {
    keepAlive: true,
    maxSockets: CONNECTIONS_MAX,
    timeout: options.idleConnectionMs ?? IDLE_CONNECTION_MS,
  };
  return {
    ...(options.region === undefined ? {} : { region: options.region }),
    ...(options.endpoint === undefined ? {} : { endpoint: options.endpoint }),
    ...(options.credentials === undefined ? {} : { credentials: options.credentials }),
    // The SDK's retries share one bucket over all actions: a throttled describe would hold up an attach.
    maxAttempts: 1,
    customUserAgent: [['eniwhere', options.version]],
    requestHandler: {
      connectionTimeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
      requestTimeout,
      // Without it the SDK only prints a warning and waits on.
      throwOnRequestTimeout: true,
      // An answer that stops half-way is past the request's timeout in the SDK's eyes, not past the socket's.
      socketTimeout: requestTimeout,
      httpAgent: agent,
      httpsAgent: agent,
    },
  };
}
