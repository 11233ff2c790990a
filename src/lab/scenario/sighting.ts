// What one look at the world found, against what a check wants.

export interface Sighting {
  readonly held: boolean;
  /** In a few words, for the report. */
  readonly seen: string;
  /** In a few words, for a cross. */
  readonly expected: string;
}

/** The first sighting that does not hold, or the last one: for checks of several things. */
export function allOf(sightings: readonly Sighting[]): Sighting {
  const bad = sightings.find(({ held }) => !held);
  const last = bad ?? sightings.at(-1);
  return last ?? { held: false, seen: 'nothing', expected: 'something to look at' };
}

/** A list as people read it; long ones are cut. */
export function listed(items: readonly string[]): string {
  const shownMax = 4;
  if (items.length === 0) return 'none';
  const shown = items.slice(0, shownMax).join(', ');
  return items.length <= shownMax ? shown : `${shown} and ${items.length - shownMax} more`;
}
