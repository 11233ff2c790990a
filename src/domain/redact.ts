// Takes secrets out of a text that leaves the node.

const HIDDEN = '[redacted]';

/** Pattern -> what replaces it. In this order: what an earlier one has hidden is gone for the later ones. */
const RULES: readonly (readonly [RegExp, string])[] = [
  // PEM private keys; certificates are public.
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, HIDDEN],
  // JSON Web Tokens, such as a service account's.
  [/\beyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*/g, HIDDEN],
  // Access key ids: not secret by themselves, but they name an account's user.
  [/\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}\b/g, HIDDEN],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${HIDDEN}`],
  [/\b(https?:\/\/)[^\s/:@"']+:[^\s/@"']+@/g, `$1${HIDDEN}@`],
  // NAME=value and "name": "value", where the name tells.
  [
    /(["']?[\w.-]*(?:secret|password|passwd|token|credential|private[_-]?key|access[_-]?key|api[_-]?key)[\w.-]*["']?\s*[:=]\s*)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;}&]+)/gi,
    `$1${HIDDEN}`,
  ],
  // Amazon's signatures in URLs.
  [/(X-Amz-(?:Signature|Credential|Security-Token)=)[^&\s"']+/gi, `$1${HIDDEN}`],
];

/** Deterministic, and harmless to run twice. What it does not know as a secret stays: collect no secrets to begin with. */
export const redact = (text: string): string =>
  RULES.reduce((redacted, [pattern, replacement]) => redacted.replace(pattern, replacement), text);
