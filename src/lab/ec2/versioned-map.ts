// A map that remembers what it held a short while ago: what a stale describe answers from.

export interface VersionedMap<K, V> {
  get(key: K): V | undefined;
  put(key: K, value: V): void;
  delete(key: K): void;
  values(): readonly V[];
  /** What the key held at a time no longer ago than the history reaches; undefined when it held nothing. */
  asOf(key: K, at: number): V | undefined;
  /** Whether the key holds something now or did within the history. */
  isRecent(key: K): boolean;
  /** Keys that hold something now or did within the history. */
  recentKeys(): readonly K[];
}

interface Version<V> {
  /** Milliseconds since the epoch from which on the key held `value`; undefined: nothing. */
  readonly at: number;
  readonly value: V | undefined;
}

export interface VersionedMapOptions {
  readonly now: () => number;
  /** How far back `asOf` reaches, milliseconds. */
  readonly historyMs: number;
}

/** Values are immutable: a change puts a new one. */
export function createVersionedMap<K, V>({ now, historyMs }: VersionedMapOptions): VersionedMap<K, V> {
  const current = new Map<K, V>();
  // key -> its versions, oldest first; at most one of them is older than the history reaches
  const versions = new Map<K, Version<V>[]>();
  // deleted keys in the order of their deletion, to be forgotten in time
  const deletions: { readonly key: K; readonly at: number }[] = [];

  const record = (key: K, value: V | undefined): void => {
    const at = now();
    const list = versions.get(key) ?? [];
    versions.set(key, list);
    list.push({ at, value });
    while (list.length > 1 && (list[1] as Version<V>).at <= at - historyMs) list.shift();
    forgetOldDeletions();
  };
  const forgetOldDeletions = (): void => {
    const cut = now() - historyMs;
    for (let first = deletions[0]; first !== undefined && first.at < cut; first = deletions[0]) {
      deletions.shift();
      if (!current.has(first.key) && versions.get(first.key)?.at(-1)?.at === first.at) {
        versions.delete(first.key);
      }
    }
  };

  return {
    get: (key) => current.get(key),
    put: (key, value) => {
      current.set(key, value);
      record(key, value);
    },
    delete: (key) => {
      if (!current.delete(key)) return;
      deletions.push({ key, at: now() });
      record(key, undefined);
    },
    values: () => [...current.values()],
    asOf: (key, at) => versions.get(key)?.findLast((version) => version.at <= at)?.value,
    isRecent: (key) => {
      forgetOldDeletions();
      return versions.has(key);
    },
    recentKeys: () => {
      forgetOldDeletions();
      return [...versions.keys()];
    },
  };
}
