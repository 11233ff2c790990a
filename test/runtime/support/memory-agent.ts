// An agent on a node in memory and in real time, for tests that only its words matter to.

import { systemClock } from '../../../src/adapters/system/clock.ts';
import { systemRandom } from '../../../src/adapters/system/random.ts';
import { type Agent, startAgent } from '../../../src/agent/start-agent.ts';
import type { NodeName } from '../../../src/domain/ids.ts';
import { createSimCluster } from '../../../src/lab/cluster/sim-cluster.ts';
import { createMemoryJournal } from '../../../src/lab/journal/memory-journal.ts';
import { createMemoryKernel, type MemoryKernel } from '../../../src/lab/linux/memory-kernel.ts';
import { createMemoryStack } from '../../../src/lab/linux/memory-stack.ts';
import type { Log } from '../../../src/ports/log.ts';
import { nodeSpec, podAddresses } from './node-spec.ts';

export interface MemoryAgent {
  readonly agent: Agent;
  readonly kernel: MemoryKernel;
}

const quiet = (): void => {
  // What an agent tells of hostile input would fill the terminal.
};
const NO_LOG: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet, mark: quiet };

/** Resolves once the agent serves. Addresses rest for a millisecond, and ADD does not wait for one. */
export async function startMemoryAgent(
  addressCount: number,
  netnsPaths: readonly string[],
): Promise<MemoryAgent> {
  const nodeName = 'n0' as NodeName;
  const kernel = createMemoryKernel();
  const spec = nodeSpec(podAddresses(addressCount), 1);
  for (const { mac } of spec.enis) kernel.plugLink(mac);
  for (const path of netnsPaths) kernel.makeNamespace(path);
  const cluster = createSimCluster({ clock: systemClock, random: systemRandom });
  const node = cluster.admin.applyNode({ name: nodeName, zone: 'us-west-2a' });
  await cluster.client().createNodeNetwork(nodeName, node, spec);
  const agent = await startAgent({
    nodeName,
    cluster: cluster.client(),
    stack: createMemoryStack({ kernel, clock: systemClock }),
    journal: createMemoryJournal().open(systemClock),
    clock: systemClock,
    random: systemRandom,
    log: NO_LOG,
    addWaitMs: 0,
  });
  await agent.whenServing();
  return { agent, kernel };
}
