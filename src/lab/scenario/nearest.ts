// "Did you mean": the known word nearest to a mistyped one.

/** Edits beyond which two words are taken to be different words, not a slip. */
const EDITS_MAX = 3;

/** The known word nearest to `word`, if it is near enough to be what was meant. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestEdits = Math.min(EDITS_MAX, Math.floor(word.length / 2)) + 1;
  for (const candidate of known) {
    const edits = editCount(word.toLowerCase(), candidate.toLowerCase());
    if (edits < bestEdits) {
      best = candidate;
      bestEdits = edits;
    }
  }
  return best;
}

/** Levenshtein distance, one row at a time. */
function editCount(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const substitute = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min((previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, substitute));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
