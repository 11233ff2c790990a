// Checks a scenario's settings as the controller would at its start.

import { parseControllerSettings } from '../../controller/controller-settings.ts';
import { nearest } from './nearest.ts';
import type { Complain } from './reference-words.ts';

/** The variables that the controller reads: those that it asks an empty environment for. */
function knownSettings(): readonly string[] {
  const asked = new Set<string>();
  const environment = new Proxy<Record<string, string>>(
    {},
    {
      get: (_, name) => {
        if (typeof name === 'string') asked.add(name);
        return undefined;
      },
    },
  );
  parseControllerSettings(environment);
  return [...asked];
}

/**
 * Complains of values that the controller refuses, and of names that look like a slip of one that it reads. Other names
 * are let through: people paste the whole environment of the AWS CNI's DaemonSet.
 */
export function checkSettings(settings: Readonly<Record<string, string>>, complain: Complain): void {
  const known = knownSettings();
  for (const name of Object.keys(settings)) {
    if (known.includes(name)) continue;
    const meant = nearest(name, known);
    if (meant !== undefined) complain([name], `unknown setting "${name}"; did you mean "${meant}"?`);
  }
  const parsed = parseControllerSettings(settings);
  if (parsed.ok) return;
  for (const mistake of parsed.error) {
    const name = Object.keys(settings).find((one) => mistake.startsWith(one));
    complain(name === undefined ? [] : [name], mistake);
  }
}
