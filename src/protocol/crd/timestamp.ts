// Points in time as Kubernetes writes them: RFC 3339 in UTC, here with milliseconds.

import { err, ok, type Result } from '../../domain/result.ts';

const DAY_MS = 86_400_000;
const PATTERN = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?Z$/;

/** Days of the proleptic Gregorian calendar in the 400 years after which it repeats. */
const ERA_DAYS = 146_097;
/** Days from 0000-03-01, on which the eras are counted here, to 1970-01-01. */
const EPOCH_DAYS = 719_468;

/** Milliseconds since the epoch -> `2026-11-30T10:00:00.123Z`, for the years 0 to 9999. */
export function formatTimestamp(ms: number): string {
  const whole = Math.floor(ms);
  const days = Math.floor(whole / DAY_MS);
  const ofDay = whole - days * DAY_MS;
  const { year, month, day } = civilOf(days);
  const pad = (value: number, width: number): string => String(value).padStart(width, '0');
  const time = [
    Math.floor(ofDay / 3_600_000),
    Math.floor(ofDay / 60_000) % 60,
    Math.floor(ofDay / 1000) % 60,
  ];
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}T${time.map((part) => pad(part, 2)).join(':')}.${pad(ofDay % 1000, 3)}Z`;
}

/** The same with microseconds, which some fields must have (metav1.MicroTime). */
export const formatMicroTime = (ms: number): string => formatTimestamp(ms).replace('Z', '000Z');

/** Milliseconds since the epoch of an RFC 3339 time in UTC; finer digits are cut. */
export function parseTimestamp(text: string): Result<number, string> {
  const match = PATTERN.exec(text);
  const wrong = (): Result<number, string> =>
    err(`${JSON.stringify(text)} is not a time such as 2026-11-30T10:00:00.000Z`);
  if (match === null) return wrong();
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const milli = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3));
  if (hour > 23 || minute > 59 || second > 59) return wrong();
  const days = daysOf({ year, month, day });
  const back = civilOf(days);
  // A day that the calendar does not have comes back as another one.
  if (back.year !== year || back.month !== month || back.day !== day) return wrong();
  return ok(days * DAY_MS + hour * 3_600_000 + minute * 60_000 + second * 1000 + milli);
}

interface Civil {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** Years are counted from March here, so that the leap day is the last of its year. */
function daysOf({ year, month, day }: Civil): number {
  const marchYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(marchYear / 400);
  const ofEra = marchYear - era * 400;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const dayOfEra = ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100) + dayOfYear;
  return era * ERA_DAYS + dayOfEra - EPOCH_DAYS;
}

function civilOf(days: number): Civil {
  const shifted = days + EPOCH_DAYS;
  const era = Math.floor(shifted / ERA_DAYS);
  const dayOfEra = shifted - era * ERA_DAYS;
  const ofEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / (ERA_DAYS - 1))) /
      365,
  );
  const dayOfYear = dayOfEra - (365 * ofEra + Math.floor(ofEra / 4) - Math.floor(ofEra / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  const day = dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1;
  return { year: ofEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}
