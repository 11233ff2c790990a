// CNI errors: their codes and their JSON.

/**
 * Codes of the CNI specification 1.1 (section 2, Error), 999 as libcni uses it, and one of our own from the range that
 * the specification leaves to plugins (100 and above).
 */
export const CNI_ERROR = {
  incompatibleVersion: 1,
  unsupportedField: 2,
  unknownContainer: 3,
  invalidEnvironment: 4,
  ioFailure: 5,
  decodingFailure: 6,
  invalidConfig: 7,
  tryAgainLater: 11,
  pluginNotAvailable: 50,
  /** CHECK: the kernel or the journal is not as ADD left it. */
  attachmentBroken: 100,
  internal: 999,
} as const;

export type CniErrorCode = (typeof CNI_ERROR)[keyof typeof CNI_ERROR];

export interface CniError {
  readonly code: CniErrorCode;
  /** One short sentence: what went wrong. */
  readonly msg: string;
  /** Names, values and the cure. */
  readonly details: string;
}

export const cniError = (code: CniErrorCode, msg: string, details: string): CniError => ({
  code,
  msg,
  details,
});

/** The object that a plugin prints to stdout before it exits with 1. */
export const formatError = (error: CniError, cniVersion: string): string =>
  JSON.stringify({ cniVersion, code: error.code, msg: error.msg, details: error.details });
