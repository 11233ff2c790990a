// Why the runtime tests cannot run on a machine.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { whyNoKernel } from '../../netns/linux-support.ts';

export const TOP = fileURLToPath(new URL('../../..', import.meta.url));
export const PLUGIN = `${TOP}build/eniwhere-cni`;

/** Why there can be no node with the plugin here; undefined when there can. */
export function whyNoNode(): string | undefined {
  const why = whyNoKernel();
  if (why !== undefined) return why;
  return whyNoPlugin();
}

/** Why the compiled plugin cannot be run here; undefined when it can. */
export const whyNoPlugin = (): string | undefined =>
  existsSync(PLUGIN) ? undefined : `${PLUGIN} is missing: npm run build:cni`;
