// Measurements of what the program does, for whoever scrapes them.

/** Values by label; every label of the definition, and no other. */
export type LabelValues<Label extends string> = Readonly<Record<Label, string>>;

/** https://prometheus.io/docs/practices/naming/ : a unit last, and `_total` on counters. */
export interface MetricDefinition<Label extends string = never> {
  readonly name: string;
  readonly help: string;
  /** Each with few values: every combination is a series for ever. */
  readonly labels?: readonly Label[];
}

export interface HistogramDefinition<Label extends string = never> extends MetricDefinition<Label> {
  /** Upper bounds, ascending, in the unit of the name. */
  readonly buckets: readonly number[];
}

/** A number that only rises. */
export interface Counter<Label extends string = never> {
  /** `by` is at least 0; 1 unless given. */
  add(labels: LabelValues<Label>, by?: number): void;
}

/** A number as it is now. */
export interface Gauge<Label extends string = never> {
  set(labels: LabelValues<Label>, value: number): void;
}

/** How often which values came up, such as durations. */
export interface Histogram<Label extends string = never> {
  observe(labels: LabelValues<Label>, value: number): void;
}

export interface Sample<Label extends string = never> {
  readonly labels: LabelValues<Label>;
  readonly value: number;
}

/** Each name is defined once. */
export interface Metrics {
  counter<Label extends string = never>(definition: MetricDefinition<Label>): Counter<Label>;
  gauge<Label extends string = never>(definition: MetricDefinition<Label>): Gauge<Label>;
  histogram<Label extends string = never>(definition: HistogramDefinition<Label>): Histogram<Label>;
  /**
   * A gauge, or with `kind` a counter, that is read when somebody scrapes: for what is counted elsewhere already. A
   * series that `read` answers no more is gone.
   */
  observe<Label extends string = never>(definition: ObservedDefinition<Label>): void;
}

export interface ObservedDefinition<Label extends string = never> extends MetricDefinition<Label> {
  /** A gauge unless given. */
  readonly kind?: 'gauge' | 'counter';
  readonly read: () => readonly Sample<Label>[];
}
