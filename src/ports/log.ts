// Logging: a constant message plus fields.

export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Names a rare branch that simulation must have seen (a coverage mark); free of effect elsewhere. */
  mark(name: string): void;
}
