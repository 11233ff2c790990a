// What happened in a run: a hash of all events, and the last events of each owner for failure reports.

export interface TracedEvent {
  readonly sequence: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly owner: string;
  readonly label: string;
}

/** What reports call the event. */
export const nameOf = ({ owner, label }: TracedEvent): string => `${owner}/${label}`;

export interface Trace {
  add(event: TracedEvent): void;
  /** 16 hex digits: equal for two runs that did the same things at the same times. */
  hash(): string;
  /** The last events of the owners whose name starts with `ownerPrefix`, oldest first, at most `count`. */
  recent(ownerPrefix: string, count: number): readonly TracedEvent[];
}

/** Events kept per owner unless said otherwise. */
const RECENT_EVENT_MAX = 64;

/** Two multiplicative lanes of 32 bits: cheap, and enough to tell runs apart. No defence against a forger. */
function createHash(): { add(ownerWord: number, label: string, at: number): void; hex(): string } {
  let low = 0x811c9dc5;
  let high = 0x9747b28c;
  // Most labels come again and again.
  const words = new Map<string, number>();
  const mix = (word: number): void => {
    low = Math.imul(low ^ word, 0x01000193);
    high = Math.imul(high ^ word, 0x85ebca6b) ^ (high >>> 15);
  };
  return {
    add: (ownerWord, label, at) => {
      let word = words.get(label);
      if (word === undefined) words.set(label, (word = wordOf(label)));
      mix(ownerWord);
      mix(word);
      mix(at | 0);
      mix(Math.floor(at / 0x1_0000_0000));
    },
    hex: () => (high >>> 0).toString(16).padStart(8, '0') + (low >>> 0).toString(16).padStart(8, '0'),
  };
}

/** FNV-1a. */
function wordOf(text: string): number {
  let word = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    word = Math.imul(word ^ text.charCodeAt(index), 0x01000193);
  return word;
}

export function createTrace(recentMax = RECENT_EVENT_MAX): Trace {
  const hash = createHash();
  // owner -> its last events, as a ring: the event of count n is at index n % recentMax
  const rings = new Map<string, { readonly word: number; readonly events: TracedEvent[]; count: number }>();

  return {
    add: (event) => {
      const { owner, label, at } = event;
      let ring = rings.get(owner);
      if (ring === undefined) {
        ring = { word: wordOf(owner), events: [], count: 0 };
        rings.set(owner, ring);
      }
      hash.add(ring.word, label, at);
      ring.events[ring.count % recentMax] = event;
      ring.count += 1;
    },
    hash: () => hash.hex(),
    recent: (ownerPrefix, count) =>
      [...rings]
        .filter(([owner]) => owner.startsWith(ownerPrefix))
        .flatMap(([, ring]) => ring.events)
        .sort((a, b) => a.sequence - b.sequence)
        .slice(-count),
  };
}
