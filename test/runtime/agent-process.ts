// An agent in a process of its own, which a test may kill. Reads its options as JSON from its first argument; answers
// each line of its input with its snapshot; ends when its input does.

import { createInterface } from 'node:readline';
import { createLinuxStacks } from '../../src/adapters/linux/linux-stacks.ts';
import { serveAgentSocket } from '../../src/adapters/system/agent-socket.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { createFileJournal } from '../../src/adapters/system/file-journal.ts';
import { createLog } from '../../src/adapters/system/log.ts';
import { systemRandom } from '../../src/adapters/system/random.ts';
import { startAgent } from '../../src/agent/start-agent.ts';
import type { NodeName } from '../../src/domain/ids.ts';
import type { AgentLine, AgentOptions } from './support/agent-options.ts';
import { createFileCluster } from './support/file-cluster.ts';
import { mortalPorts } from './support/mortal.ts';

const options = JSON.parse(process.argv[2] ?? '') as AgentOptions;
const nodeName = options.nodeName as NodeName;
const tell = (line: AgentLine): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`);
};

const mortal = mortalPorts(options.death);
const stacks = createLinuxStacks();
const agent = await startAgent({
  nodeName,
  cluster: createFileCluster(options.specPath, nodeName),
  stack: mortal.stack(stacks.open({ netnsPath: options.netnsPath })),
  journal: mortal.journal(createFileJournal(options.journalPath)),
  clock: systemClock,
  random: systemRandom,
  log: createLog({ level: 'info', fields: { pid: process.pid }, fd: 2 }),
  addWaitMs: options.addWaitMs,
});
await serveAgentSocket(
  options.socketPath,
  mortal.handle((request) => agent.handleCni(request)),
);
tell({ kind: 'Listening' });

const lines = createInterface({ input: process.stdin });
lines.on('line', () => tell({ kind: 'Snapshot', snapshot: agent.describe() }));
lines.on('close', () => process.exit(0));
await agent.whenServing();
tell({ kind: 'Serving' });
