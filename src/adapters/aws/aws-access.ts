// Whether this machine can ask EC2 at all: a Region, and credentials by the SDK's default chain.

import { EC2Client } from '@aws-sdk/client-ec2';
import { err, ok, type Result } from '../../domain/result.ts';

/** The Region that calls would go to, or what is missing, in words. Asks nothing of EC2 itself. */
export async function findAwsAccess(region: string | undefined): Promise<Result<string, string>> {
  const client = new EC2Client(region === undefined ? {} : { region });
  try {
    const found = await client.config.region().then(
      (name) => ok(name),
      () => err('no AWS Region is set: give --region, or set AWS_REGION'),
    );
    if (!found.ok) return found;
    return await client.config.credentials().then(
      () => found,
      (error: unknown) =>
        err(`no AWS credentials were found (${error instanceof Error ? error.message : String(error)})`),
    );
  } finally {
    client.destroy();
  }
}
