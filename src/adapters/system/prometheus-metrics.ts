// Measurements in Prometheus' text format, and those of the process itself.

import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Metrics, ObservedDefinition } from '../../ports/metrics.ts';

export interface PrometheusMetrics extends Metrics {
  /** Everything, as a scrape answers it. */
  text(): Promise<string>;
  readonly contentType: string;
}

/**
 * With memory, processor time and start of the process under the names that every Prometheus client uses. prom-client's
 * own set would wake an idle process a hundred times a second, to measure the event loop.
 */
export function createPrometheusMetrics(): PrometheusMetrics {
  const registry = new Registry();
  const common = { registers: [registry] };
  const metrics: Metrics = {
    counter: ({ name, help, labels = [] }) => {
      const counter = new Counter({ name, help, labelNames: labels, ...common });
      return { add: (values, by = 1) => counter.inc(values, by) };
    },
    gauge: ({ name, help, labels = [] }) => {
      const gauge = new Gauge({ name, help, labelNames: labels, ...common });
      return { set: (values, value) => gauge.set(values, value) };
    },
    histogram: ({ name, help, labels = [], buckets }) => {
      const histogram = new Histogram({ name, help, labelNames: labels, buckets: [...buckets], ...common });
      return { observe: (values, value) => histogram.observe(values, value) };
    },
    observe: (definition) => observe(registry, definition),
  };
  observeProcess(metrics);
  return { ...metrics, text: () => registry.metrics(), contentType: registry.contentType };
}

function observe<Label extends string>(registry: Registry, definition: ObservedDefinition<Label>): void {
  const { name, help, labels = [], kind = 'gauge', read } = definition;
  const options = { name, help, labelNames: labels, registers: [registry] };
  // A metric with `collect` is registered by its constructor, and read from then on.
  if (kind === 'gauge') {
    const gauge: Gauge<Label> = new Gauge({
      ...options,
      collect: () => {
        gauge.reset();
        // Without labels `reset` leaves a nought behind, which is more than is known.
        if (labels.length === 0) gauge.remove();
        for (const { labels: values, value } of read()) gauge.set(values, value);
      },
    });
    return;
  }
  const counter: Counter<Label> = new Counter({
    ...options,
    collect: () => {
      counter.reset();
      if (labels.length === 0) counter.remove();
      for (const { labels: values, value } of read()) counter.inc(values, value);
    },
  });
}

/** https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics */
function observeProcess(metrics: Metrics): void {
  const startedAt = Date.now() / 1000 - process.uptime();
  metrics.observe({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory of the process.',
    read: () => [{ labels: {}, value: process.memoryUsage.rss() }],
  });
  metrics.observe({
    name: 'process_cpu_seconds_total',
    help: 'Processor time of the process, user and system.',
    kind: 'counter',
    read: () => {
      const { user, system } = process.cpuUsage();
      return [{ labels: {}, value: (user + system) / 1e6 }];
    },
  });
  metrics.observe({
    name: 'process_start_time_seconds',
    help: 'When the process started, seconds since the epoch.',
    read: () => [{ labels: {}, value: startedAt }],
  });
}
