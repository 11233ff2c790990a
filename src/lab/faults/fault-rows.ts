// Profiles drawn from the table of faults, written down as text, and changed row by row.

import { err, ok, type Result } from '../../domain/result.ts';
import type { Random } from '../../ports/random.ts';
import { chance, pick } from '../kernel/draw.ts';
import { seededRandom } from '../kernel/seeded-random.ts';
import { calm, type FaultProfile } from './fault-profile.ts';
import { FAULT_ROWS, type FaultRow, faultName } from './fault-table.ts';

/** A run's faults. Each row draws from its own stream, so that a new row changes no old seed's other rows. */
export function drawProfile(random: Random): FaultProfile {
  const root = seededRandom(random.uint32());
  return FAULT_ROWS.reduce((profile, each) => {
    const draws = root.fork(faultName(each));
    if (!chance(draws, each.runOdds)) return profile;
    return withValue(profile, each, pick<number | boolean>(draws, each.draws));
  }, calm);
}

/** The same profile with one fault switched off: how a failing seed is shrunk. An unknown name changes nothing. */
export function withoutFault(profile: FaultProfile, name: string): FaultProfile {
  const found = FAULT_ROWS.find((each) => faultName(each) === name);
  return found === undefined ? profile : withValue(profile, found, valueOf(calm, found));
}

/** The names of the faults that a profile has. */
export const faultsOf = (profile: FaultProfile): readonly string[] =>
  FAULT_ROWS.filter((each) => valueOf(profile, each) !== valueOf(calm, each)).map(faultName);

/** The faults that a profile has, as `world.field=value`. */
export const describeFaults = (profile: FaultProfile): readonly string[] =>
  FAULT_ROWS.filter((each) => valueOf(profile, each) !== valueOf(calm, each)).map(
    (each) => `${faultName(each)}=${valueOf(profile, each)}`,
  );

/** The profile that has the faults of such texts and no others; on an error a sentence. */
export function parseFaults(texts: readonly string[]): Result<FaultProfile, string> {
  let profile = calm;
  for (const text of texts) {
    const [name = '', value = ''] = text.split('=');
    const found = FAULT_ROWS.find((each) => faultName(each) === name);
    if (found === undefined) return err(`"${name}" is not a fault; src/lab/faults/fault-table.ts lists them`);
    const parsed = value === 'true' || value === 'false' ? value === 'true' : Number(value);
    if (typeof parsed !== typeof found.draws[0] || value === '' || Number.isNaN(parsed)) {
      return err(`"${text}": expected ${name}=VALUE, for instance ${name}=${found.draws[0]}`);
    }
    profile = withValue(profile, found, parsed);
  }
  return ok(profile);
}

const valueOf = (profile: FaultProfile, { world, field }: FaultRow): number | boolean =>
  (profile[world] as unknown as Record<string, number | boolean>)[field] as number | boolean;

/** The table's type ties values to fields, which the type of a row taken from it cannot say. */
const withValue = (
  profile: FaultProfile,
  { world, field }: FaultRow,
  value: number | boolean,
): FaultProfile => ({
  ...profile,
  [world]: { ...profile[world], [field]: value },
});
