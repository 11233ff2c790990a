// What is to happen, ordered by time: a binary heap.

export interface SimEvent {
  /** Milliseconds since the epoch. Not to be changed while it is in the heap. */
  at: number;
  /** Orders events of the same time before `sequence` does; 0 unless ties are broken at random. */
  readonly tie: number;
  readonly sequence: number;
  readonly owner: string;
  readonly label: string;
  readonly run: () => void;
  /** Of the process that set it: with its end, the event is off. */
  readonly life: { readonly isAlive: boolean };
  cancelled: boolean;
  /** Stops of its owner that have been looked at for it. */
  stopCount?: number;
}

export interface EventHeap {
  push(event: SimEvent): void;
  pop(): SimEvent | undefined;
  peek(): SimEvent | undefined;
}

const isBefore = (a: SimEvent, b: SimEvent): boolean => {
  if (a.at !== b.at) return a.at < b.at;
  if (a.tie !== b.tie) return a.tie < b.tie;
  return a.sequence < b.sequence;
};

const isOff = ({ cancelled, life }: SimEvent): boolean => cancelled || !life.isAlive;

/** Events that are off are dropped when they come to the top, so a cancel, or a process' end, costs nothing. */
export function createEventHeap(): EventHeap {
  const heap: SimEvent[] = [];

  const popTop = (): SimEvent | undefined => {
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined) return undefined;
    if (heap.length > 0) sink(heap, last);
    return top;
  };
  const dropWhatIsOff = (): void => {
    for (let top = heap[0]; top !== undefined && isOff(top); top = heap[0]) popTop();
  };

  return {
    push: (event) => {
      heap.push(event);
      rise(heap, event);
    },
    pop: () => {
      dropWhatIsOff();
      return popTop();
    },
    peek: () => {
      dropWhatIsOff();
      return heap[0];
    },
  };
}

/** Moves `event`, which is last in the heap, up to its place. */
function rise(heap: SimEvent[], event: SimEvent): void {
  let index = heap.length - 1;
  while (index > 0) {
    const parentIndex = (index - 1) >> 1;
    const parent = heap[parentIndex] as SimEvent;
    if (!isBefore(event, parent)) break;
    heap[index] = parent;
    index = parentIndex;
  }
  heap[index] = event;
}

/** Puts `event` at the top, whose place is free, and moves it down to its own. */
function sink(heap: SimEvent[], event: SimEvent): void {
  let index = 0;
  for (;;) {
    const left = 2 * index + 1;
    if (left >= heap.length) break;
    const right = left + 1;
    const isRightFirst = right < heap.length && isBefore(heap[right] as SimEvent, heap[left] as SimEvent);
    const childIndex = isRightFirst ? right : left;
    const child = heap[childIndex] as SimEvent;
    if (!isBefore(child, event)) break;
    heap[index] = child;
    index = childIndex;
  }
  heap[index] = event;
}
