// How the slots of a node's ENIs are filled.

/** `SecondaryIP`: an address in each; `Prefix`: a block of addresses in each. */
export const MODES = ['SecondaryIP', 'Prefix'] as const;
export type Mode = (typeof MODES)[number];
