// A log whose every line carries the same fields: whose line it is, where several write to one log.

import type { Log, LogFields } from '../../ports/log.ts';

export const logWith = (log: Log, always: LogFields): Log => ({
  debug: (message, fields) => log.debug(message, { ...always, ...fields }),
  info: (message, fields) => log.info(message, { ...always, ...fields }),
  warn: (message, fields) => log.warn(message, { ...always, ...fields }),
  error: (message, fields) => log.error(message, { ...always, ...fields }),
  mark: (name) => log.mark(name),
});
