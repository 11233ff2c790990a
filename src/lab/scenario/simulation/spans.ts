// What held when: values of named things, each for a span of time.

/** `until` is Infinity while it lasts. */
interface Span<T> {
  readonly value: T;
  readonly from: number;
  until: number;
}

export interface Spans<T> {
  /** From now on the thing is `value`; undefined: it is not there. */
  set(name: string, value: T | undefined): void;
  now(name: string): T | undefined;
  /** Names of the things that are there now, in the order in which they came. */
  names(): readonly string[];
  /** All values that held at some time since then, of one thing or of all. */
  since(time: number, name?: string): readonly T[];
  /** Whether the thing was there, with values of which all meet `holds`, the whole time since then. */
  always(name: string, time: number, holds: (value: T) => boolean): boolean;
}

/** `now` in milliseconds since the epoch. */
export function createSpans<T>(now: () => number): Spans<T> {
  const spans = new Map<string, Span<T>[]>(); // name -> its values, oldest first
  const last = (name: string): Span<T> | undefined => {
    const found = spans.get(name)?.at(-1);
    return found?.until === Infinity ? found : undefined;
  };
  return {
    set: (name, value) => {
      const before = last(name);
      if (before !== undefined) before.until = now();
      const history = spans.get(name) ?? [];
      if (value !== undefined) history.push({ value, from: now(), until: Infinity });
      spans.set(name, history);
    },
    now: (name) => last(name)?.value,
    names: () => [...spans.keys()].filter((name) => last(name) !== undefined),
    since: (time, name) =>
      (name === undefined ? [...spans.values()].flat() : (spans.get(name) ?? []))
        .filter(({ until }) => until >= time)
        .map(({ value }) => value),
    always: (name, time, holds) => {
      const history = (spans.get(name) ?? []).filter(({ until }) => until >= time);
      const isGapless = history.every(({ until }, n) => until === (history[n + 1]?.from ?? Infinity));
      const [first] = history;
      return (
        first !== undefined && first.from <= time && isGapless && history.every(({ value }) => holds(value))
      );
    },
  };
}
