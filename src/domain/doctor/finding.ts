// What a check of a cluster finds.

export type Severity = 'error' | 'warning' | 'info';

export interface Finding {
  /** Id of the check, for those who leave some out. */
  readonly check: string;
  readonly severity: Severity;
  /** Names the object. */
  readonly what: string;
  /** What goes wrong if it stays. */
  readonly why: string;
  /** The command, or the step, that puts it right. */
  readonly fix: string;
}

/** As a check finds it: the table knows which check it was. */
export type Found = Omit<Finding, 'check'>;

export const SEVERITIES: readonly Severity[] = ['error', 'warning', 'info'];

/** 0 when nothing is worse than information, 1 with warnings, 2 with errors. */
export function exitCodeOf(findings: readonly Finding[]): 0 | 1 | 2 {
  if (findings.some((one) => one.severity === 'error')) return 2;
  return findings.some((one) => one.severity === 'warning') ? 1 : 0;
}
