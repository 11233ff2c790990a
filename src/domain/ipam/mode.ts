// How the slots of a node's ENIs are filled: the mode that a person sets, and what the node can have of it.

import type { InstanceLimits } from '../instance/instance-limits.ts';
import { hasPrefixes } from '../instance/slots.ts';

/** `SecondaryIP`: an address in each; `Prefix`: a block of addresses in each. */
export const MODES = ['SecondaryIP', 'Prefix'] as const;
export type Mode = (typeof MODES)[number];

/** What a node can have of the mode that was set: EC2 gives no prefixes to instances that are not built on Nitro. */
export const modeInForce = (mode: Mode, limits: InstanceLimits): Mode =>
  mode === 'Prefix' && !hasPrefixes(limits) ? 'SecondaryIP' : mode;
