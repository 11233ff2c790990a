// Logging as JSON lines.

import pino from 'pino';
import type { Log } from '../../ports/log.ts';

export interface LogOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Fields of every line, such as the component's name. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** File descriptor: 1 for a daemon's standard output, 2 where standard output is for results. */
  readonly fd: 1 | 2;
}

/** Lines are written at once (a crash loses none), with ISO times. Coverage marks are not logged. */
export function createLog(options: LogOptions): Log {
  const destination = pino.destination({ dest: options.fd, sync: true });
  const timestamp = pino.stdTimeFunctions.isoTime;
  const logger = pino({ level: options.level, base: options.fields ?? {}, timestamp }, destination);
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error'): Log['info'] =>
    (message, fields) =>
      logger[level](fields ?? {}, message);
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    mark: () => undefined,
  };
}
