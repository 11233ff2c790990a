// A person's wish that a run end early.

export interface Interrupt {
  readonly requested: () => boolean;
  readonly whenRequested: Promise<void>;
}

export const NO_INTERRUPT: Interrupt = { requested: () => false, whenRequested: new Promise(() => {}) };

export function interruptOn(whenRequested: Promise<void>): Interrupt {
  let requested = false;
  return {
    requested: () => requested,
    whenRequested: whenRequested.then(() => {
      requested = true;
    }),
  };
}
