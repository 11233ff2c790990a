// The newest record of each object of one watch: knows what is a change, and keeps what was read last of an object that cannot be read any more.

import type { Kind, KindMap, WatchEvent } from '../../ports/cluster.ts';
import type { Log } from '../../ports/log.ts';
import { nameOf, type Unreadable } from '../../protocol/crd/object.ts';
import { keyOf, resourceOf } from './resources.ts';

type Change<K extends Kind> = Exclude<WatchEvent<KindMap[K]>, { readonly type: 'Snapshot' }>;

export interface ObjectCache<K extends Kind> {
  get(key: string): KindMap[K] | undefined;
  startSnapshot(): {
    add(object: unknown): void;
    /** From now on what was added is all there is. */
    finish(): readonly KindMap[K][];
  };
  /** The event that an object of the watch makes; undefined when it brings nothing new, or cannot be read. */
  apply(object: unknown): Change<K> | undefined;
  remove(object: unknown): Change<K> | undefined;
}

export function createObjectCache<K extends Kind>(kind: K, log: Log): ObjectCache<K> {
  const { read, plural } = resourceOf(kind);
  let records = new Map<string, KindMap[K]>();
  const complain = ({ name, field, message }: Unreadable): void =>
    log.warn('an object cannot be read; what was read of it before stays, and the others go on', {
      object: `${plural}/${name}`,
      field,
      cause: message,
    });
  /** Answers the record that is known already where it is the same version: two lists then share their records. */
  const project = (object: unknown): KindMap[K] | undefined => {
    const parsed = read(object);
    if (!parsed.ok) {
      complain(parsed.error);
      // It is there. To call it gone would free what it grants.
      return records.get(nameOf(object) ?? '');
    }
    const before = records.get(keyOf(parsed.value));
    return before?.resourceVersion === parsed.value.resourceVersion ? before : parsed.value;
  };
  return {
    get: (key) => records.get(key),
    startSnapshot: () => {
      const next = new Map<string, KindMap[K]>();
      return {
        add: (object) => {
          const record = project(object);
          if (record !== undefined) next.set(keyOf(record), record);
        },
        finish: () => {
          records = next;
          return [...next.values()];
        },
      };
    },
    apply: (object) => {
      const record = project(object);
      if (record === undefined || records.get(keyOf(record)) === record) return undefined;
      records.set(keyOf(record), record);
      return { type: 'Applied', object: record };
    },
    remove: (object) => {
      const parsed = read(object);
      const key = parsed.ok ? keyOf(parsed.value) : (nameOf(object) ?? '');
      const record = parsed.ok ? parsed.value : records.get(key);
      if (record === undefined) return undefined;
      const isKnown = records.delete(key);
      return isKnown ? { type: 'Deleted', object: record } : undefined;
    },
  };
}
