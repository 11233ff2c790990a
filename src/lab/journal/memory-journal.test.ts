// The memory journal keeps the port's contract.

import { setImmediate } from 'node:timers/promises';
import { journalContract } from '../../ports/journal.contract.ts';
import { createKernel } from '../kernel/kernel.ts';
import { settle } from '../kernel/settle.ts';
import { createMemoryJournal } from './memory-journal.ts';

journalContract('in memory', async () => {
  const kernel = createKernel({ seed: 1 });
  const journal = createMemoryJournal();
  return {
    open: () => journal.open(kernel.clock('agent')),
    crash: async () => {
      kernel.kill('agent');
      journal.crash(false);
    },
    cutAppend: async (open, records) => {
      void open.append(records);
      kernel.kill('agent');
      journal.crash(true);
    },
    run: (work) => settle(kernel, work(), { drain: () => setImmediate() }),
    close: async () => {},
  };
});
