// Aligned columns whose cells may be coloured.

/** Control sequences of colours take no width. */
const COLOUR = new RegExp(`${String.fromCodePoint(0x1b)}\\[\\d+m`, 'g');
const visible = (cell: string): number => cell.replaceAll(COLOUR, '').length;

/** Rows as lines, two spaces between columns; columns named in `right` are aligned to the right. */
export function columns(
  rows: readonly (readonly string[])[],
  right: ReadonlySet<number> = new Set(),
): readonly string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, visible(cell));
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const space = ' '.repeat((widths[column] ?? 0) - visible(cell));
        return right.has(column) ? space + cell : cell + space;
      })
      .join('  ')
      .trimEnd(),
  );
}
