// The lab's measurements keep the port's contract.

import { metricsContract } from '../../ports/metrics.contract.ts';
import { createMemoryMetrics } from './memory-metrics.ts';

metricsContract('in memory', () => {
  const metrics = createMemoryMetrics();
  return { metrics, scrape: async () => metrics.scrape() };
});
