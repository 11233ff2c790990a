// What the checks of references share: how they complain, and the lookups of subnets and security groups.

import { nearest } from './nearest.ts';
import type { Scenario } from './scenario.ts';

/** Reports a mistake at the keys and positions that lead to it in the scenario's document. */
export type Complain = (path: readonly PropertyKey[], message: string) => void;

export const oneOf = (what: string, word: string, known: readonly string[]): string => {
  const meant = nearest(word, known);
  if (meant !== undefined) return `unknown ${what} "${word}"; did you mean "${meant}"?`;
  return `unknown ${what} "${word}"; ${known.length === 0 ? 'there is none at this moment' : `known: ${known.join(', ')}`}`;
};

export function checkSubnet(
  scenario: Scenario,
  ref: string,
  path: readonly PropertyKey[],
  complain: Complain,
): void {
  const { subnets } = scenario.vpc;
  if (!subnets.some(({ id, name }) => id === ref || name === ref))
    complain(
      path,
      oneOf(
        'subnet',
        ref,
        subnets.map(({ name }) => name),
      ),
    );
}

export function checkGroup(
  scenario: Scenario,
  ref: string,
  path: () => readonly PropertyKey[],
  complain: Complain,
): void {
  const { securityGroups } = scenario.vpc;
  if (!securityGroups.some(({ id, name }) => id === ref || name === ref))
    complain(
      path(),
      oneOf(
        'security group',
        ref,
        securityGroups.map(({ name }) => name),
      ),
    );
}
