// Objects as an API server keeps them: raw JSON with versions, generations, and a history that watches read.

import { isDeepStrictEqual } from 'node:util';

export interface RawObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly labels?: Record<string, string>;
    readonly ownerReferences?: readonly { readonly uid: string }[];
  };
  readonly spec?: unknown;
  readonly status?: unknown;
}

export interface RawChange {
  readonly path: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: RawObject;
  /** Before the change: whether a watch saw it. */
  readonly before?: RawObject;
  readonly version: number;
}

export interface RawStore {
  version(): number;
  /** By list path and key, in the order of their keys. */
  list(path: string): readonly RawObject[];
  get(path: string, key: string): RawObject | undefined;
  /** Metadata's version, uid and generation are the store's to set. */
  put(
    path: string,
    key: string,
    object: Omit<RawObject, 'metadata'> & { readonly metadata: object },
  ): RawObject;
  delete(path: string, key: string): RawObject | undefined;
  changesSince(version: number): readonly RawChange[];
  /** Forgets the past: whoever resumes from before now is answered 410. */
  compact(): void;
  compactedAt(): number;
  onChange(notify: (change: RawChange) => void): () => void;
}

export function createRawStore(): RawStore {
  const objects = new Map<string, Map<string, RawObject>>();
  const listeners = new Set<(change: RawChange) => void>();
  let history: RawChange[] = [];
  let version = 1000;
  let uidCount = 0;
  let compactedAt = 0;

  const of = (path: string): Map<string, RawObject> => {
    const found = objects.get(path) ?? new Map<string, RawObject>();
    objects.set(path, found);
    return found;
  };
  const record = (change: RawChange): void => {
    history.push(change);
    for (const notify of listeners) notify(change);
  };
  return {
    version: () => version,
    list: (path) => [...of(path)].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object),
    get: (path, key) => of(path).get(key),
    put: (path, key, object) => {
      const before = of(path).get(key);
      const sameVersion = { ...object, metadata: { ...object.metadata, ...versioning(before) } };
      // A write that changes nothing makes no version.
      if (before !== undefined && isDeepStrictEqual(plain(sameVersion), plain(before))) return before;
      version += 1;
      const isNewSpec = before === undefined || !isDeepStrictEqual(before.spec, object.spec);
      const after = {
        ...object,
        metadata: {
          ...object.metadata,
          uid: before?.metadata.uid ?? `uid-${(uidCount += 1)}`,
          generation: (before?.metadata.generation ?? 0) + (isNewSpec ? 1 : 0),
          resourceVersion: String(version),
        },
      } as RawObject;
      of(path).set(key, after);
      const type = before === undefined ? 'ADDED' : 'MODIFIED';
      record({ path, type, object: after, ...(before === undefined ? {} : { before }), version });
      return after;
    },
    delete: (path, key) => {
      const before = of(path).get(key);
      if (before === undefined) return undefined;
      of(path).delete(key);
      version += 1;
      const object = { ...before, metadata: { ...before.metadata, resourceVersion: String(version) } };
      record({ path, type: 'DELETED', object, before, version });
      return before;
    },
    changesSince: (since) => history.filter((change) => change.version > since),
    compact: () => {
      compactedAt = version;
      history = [];
    },
    compactedAt: () => compactedAt,
    onChange: (notify) => {
      listeners.add(notify);
      return () => listeners.delete(notify);
    },
  };
}

const versioning = (before: RawObject | undefined): object =>
  before === undefined
    ? {}
    : {
        uid: before.metadata.uid,
        generation: before.metadata.generation,
        resourceVersion: before.metadata.resourceVersion,
      };

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
