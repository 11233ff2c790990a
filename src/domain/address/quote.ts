// How an error names a text that it refuses.

/** Characters of a refused text that an error repeats: a Kubernetes name fits, an endless annotation does not. */
const QUOTED_CHARACTERS_MAX = 253;

/** The text in quotes: escaped, so that it cannot break a log line, and cut. */
export const quote = (text: string): string =>
  JSON.stringify(text.length > QUOTED_CHARACTERS_MAX ? `${text.slice(0, QUOTED_CHARACTERS_MAX)}...` : text);
