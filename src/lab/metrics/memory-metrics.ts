// Measurements kept in memory, for the lab and for tests that ask what was counted.

import { assert } from '../../domain/result.ts';
import type { LabelValues, MetricDefinition, Metrics } from '../../ports/metrics.ts';

export interface MemoryMetrics extends Metrics {
  /** All series as a scrape shows them: `name{label="value",...}` -> value, labels by name. */
  scrape(): ReadonlyMap<string, number>;
}

export function createMemoryMetrics(): MemoryMetrics {
  const kept = new Map<string, number>();
  const readers: (() => ReadonlyMap<string, number>)[] = [];
  const names = new Set<string>();
  const define = ({ name }: { readonly name: string }): void => {
    assert(!names.has(name), `the metric ${name} is defined once`);
    names.add(name);
  };
  const add = (key: string, by: number): void => {
    kept.set(key, (kept.get(key) ?? 0) + by);
  };
  return {
    counter: (definition) => {
      define(definition);
      if ((definition.labels ?? []).length === 0) add(definition.name, 0);
      return { add: (labels, by = 1) => add(seriesName(definition, labels), by) };
    },
    gauge: (definition) => {
      define(definition);
      return { set: (labels, value) => kept.set(seriesName(definition, labels), value) };
    },
    histogram: (definition) => {
      define(definition);
      const { name, labels = [] } = definition;
      return {
        observe: (values, value) => {
          for (const bound of [...definition.buckets, Number.POSITIVE_INFINITY]) {
            const le = bound === Number.POSITIVE_INFINITY ? '+Inf' : String(bound);
            const bucket = { name: `${name}_bucket`, help: '', labels: ['le', ...labels] };
            add(seriesName(bucket, { le, ...values }), value <= bound ? 1 : 0);
          }
          add(seriesName({ ...definition, name: `${name}_sum` }, values), value);
          add(seriesName({ ...definition, name: `${name}_count` }, values), 1);
        },
      };
    },
    observe: (definition) => {
      define(definition);
      readers.push(
        () => new Map(definition.read().map(({ labels, value }) => [seriesName(definition, labels), value])),
      );
    },
    scrape: () => new Map([...kept, ...readers.flatMap((read) => [...read()])]),
  };
}

function seriesName<Label extends string>(
  { name, labels = [] }: MetricDefinition<Label>,
  values: LabelValues<Label>,
): string {
  const parts = [...labels].sort().map((label) => `${label}=${JSON.stringify(values[label])}`);
  return parts.length === 0 ? name : `${name}{${parts.join(',')}}`;
}
