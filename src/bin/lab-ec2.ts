// The simulated EC2 as a process of its own: serves it here, or starts that process and reaches it over HTTP.

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createAwsEc2 } from '../adapters/aws/create-aws-ec2.ts';
import { systemClock } from '../adapters/system/clock.ts';
import { systemRandom } from '../adapters/system/random.ts';
import type { Ec2ServerAnswer, Ec2ServerRequest } from '../cli/context.ts';
import { assert } from '../domain/result.ts';
import { demoEc2 } from '../lab/ec2/ec2-profile.ts';
import { type LabEc2, labEc2Of } from '../lab/ec2/lab-ec2.ts';
import { createSimEc2 } from '../lab/ec2/sim-ec2.ts';
import { openRemoteLabEc2 } from '../lab/ec2-http/remote-lab-ec2.ts';
import { serveEc2Http } from '../lab/ec2-http/serve-ec2-http.ts';
import { buildVpc } from '../lab/scenario/build-vpc.ts';
import { launchInstanceOf } from '../lab/scenario/launch-instance.ts';

const ENIWHERE = fileURLToPath(new URL('eniwhere.ts', import.meta.url));
/** The simulated EC2 is in no Region and checks no signature, but the SDK signs for both. */
const REGION = 'eu-west-1';
const CREDENTIALS = { accessKeyId: 'lab', secretAccessKey: 'lab' };
/** Starting Node.js takes a fraction of a second. */
const START_TIMEOUT_MS = 20_000;

/** What the child says to its parent once its port listens. */
interface Listening {
  readonly url: string;
}

/** Serves an EC2 with the scenario's VPC and instances, if there is one. */
export async function serveLabEc2(request: Ec2ServerRequest): Promise<Ec2ServerAnswer> {
  const sim = createSimEc2({ clock: systemClock, random: systemRandom, profile: () => demoEc2 });
  const { hand } = labEc2Of(sim);
  const { scenario } = request;
  const instances = new Map<string, string>();
  if (scenario !== undefined) {
    await buildVpc(scenario, hand);
    for (const node of scenario.nodes) {
      if (node.launch !== 'AtStart') continue;
      instances.set(node.name, (await launchInstanceOf(scenario, node, hand)).instanceId);
    }
  }
  await hand.setFaults([...(scenario?.ec2Faults ?? []), ...request.faults]);
  try {
    const { url, close } = await serveEc2Http({
      ec2: sim.client({ name: 'http' }),
      truth: sim.truth,
      lab: sim,
      denies: sim.admin.isDenied,
      host: request.host,
      port: request.port,
    });
    // Only there when another lab has started this process.
    process.send?.({ url } satisfies Listening);
    return {
      kind: 'Serving',
      url,
      instances,
      close: async () => {
        await close();
        // An open channel keeps a process alive.
        if (process.connected) process.disconnect();
      },
    };
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    return { kind: 'Impossible', message: `cannot listen on ${request.host} port ${request.port}: ${cause}` };
  }
}

/** Starts `eniwhere lab ec2` and answers it as the lab's EC2, its clients by way of SDK and HTTP. Closing it ends the process. */
export async function startLabEc2Process(version: string): Promise<LabEc2> {
  // A session of its own, for Ctrl-C is the lab's to answer; when the lab dies the channel breaks, and it ends too.
  const child = fork(ENIWHERE, ['lab', 'ec2', '--port', '0'], {
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const { url } = await new Promise<Listening>((resolve, reject) => {
    const timer = systemClock.timer(START_TIMEOUT_MS, 'simulated EC2 starts', () =>
      reject(new Error(`the simulated EC2 did not start within ${START_TIMEOUT_MS} ms`)),
    );
    child.once('message', (message) => {
      timer.cancel();
      resolve(message as Listening);
    });
    child.once('error', reject);
    child.once('exit', (exitCode) => {
      timer.cancel();
      reject(new Error(`the simulated EC2 ended with ${exitCode}`));
    });
  });
  assert(url.startsWith('http://'), 'the child says where it listens');
  const remote = await openRemoteLabEc2({
    url,
    client: () => createAwsEc2({ version, region: REGION, endpoint: url, credentials: CREDENTIALS }),
  });
  return {
    ...remote,
    close: async () => {
      await remote.close();
      child.kill('SIGTERM');
      await ended;
    },
  };
}
