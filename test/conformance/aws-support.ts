// The real adapter against the simulated EC2 over HTTP, for tests.

import { createAwsEc2 } from '../../src/adapters/aws/create-aws-ec2.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { calmEc2, type Ec2Profile } from '../../src/lab/ec2/ec2-profile.ts';
import { createSimEc2, type SimEc2 } from '../../src/lab/ec2/sim-ec2.ts';
import { createSmallAccount, type SmallAccount } from '../../src/lab/ec2/testing.ts';
import { serveEc2Http } from '../../src/lab/ec2-http/serve-ec2-http.ts';
import { seededRandom } from '../../src/lab/kernel/seeded-random.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Ec2 } from '../../src/ports/ec2.ts';

// Found by the SDK's default chain, like anybody's; the simulated EC2 checks no signature.
process.env['AWS_ACCESS_KEY_ID'] = 'conformance';
process.env['AWS_SECRET_ACCESS_KEY'] = 'conformance';
process.env['AWS_EC2_METADATA_DISABLED'] = 'true';

/** Everything EC2 does takes real milliseconds, as few as order allows. */
const quickEc2: Ec2Profile = {
  ...calmEc2,
  latencyMinMs: 0,
  latencyMaxMs: 0,
  attachMinMs: 10,
  attachMaxMs: 20,
  detachMinMs: 10,
  detachMaxMs: 20,
  tokenBuckets: false,
  timeoutMs: 50,
};

/** Real time, in which whoever polls once a second is made to poll every few milliseconds. */
export const hastyClock: Clock = {
  ...systemClock,
  sleep: (ms, label) => systemClock.sleep(Math.ceil(ms / 200), label),
};

export interface WireWorld extends SmallAccount {
  readonly sim: SimEc2;
  readonly url: string;
  /** Through SDK, HTTP and XML. */
  readonly ec2: Ec2;
  readonly clock: Clock;
  run<T>(work: () => Promise<T>): Promise<T>;
}

export interface WireOptions {
  readonly profile?: Partial<Ec2Profile>;
  readonly itemsPerPageMax?: number;
  /** Something between the simulated EC2 and the wire. */
  readonly through?: (ec2: Ec2) => Ec2;
}

export const REGION = 'eu-central-1';

export const adapterFor = (endpoint: string, requestTimeoutMs = 5000): Ec2 =>
  createAwsEc2({ version: '0.0.0-test', region: REGION, endpoint, requestTimeoutMs });

/** `profile` is read at every call, so a test may change it. The server ends when the test's work does. */
export async function createWireWorld({
  profile = {},
  itemsPerPageMax,
  through = (ec2) => ec2,
}: WireOptions = {}): Promise<WireWorld> {
  const sim = createSimEc2({
    clock: systemClock,
    random: seededRandom(1),
    profile: () => ({ ...quickEc2, ...profile }),
  });
  const account = createSmallAccount(sim);
  const server = await serveEc2Http({
    ec2: through(sim.client({ name: 'wire' })),
    truth: sim.truth,
    denies: sim.admin.isDenied,
    ...(itemsPerPageMax === undefined ? {} : { itemsPerPageMax }),
  });
  return {
    ...account,
    sim,
    url: server.url,
    ec2: adapterFor(server.url),
    clock: hastyClock,
    run: async (work) => {
      try {
        return await work();
      } finally {
        await server.close();
      }
    },
  };
}
