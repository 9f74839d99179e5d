/** One column: its heading, and whether its cells are figures, which are right-aligned. */
export interface Column {
  title: string;
  isFigure: boolean;
}

/** Columns by their titles; one that begins with ">" holds figures. */
export function columnsOf(...titles: readonly string[]): Column[] {
  return titles.map((title) => ({ title: title.replace(/^>/, ""), isFigure: title.startsWith(">") }));
}

/** A table for a terminal, with a rule below its heading and above each row of `ruledRows` (counted from 0). */
export function textTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  ruledRows: readonly number[] = [],
): string {
  const widths = widthsOf(columns, rows);
  const rule = widths.map((width) => "-".repeat(width)).join("  ");
  const line = (cells: readonly string[]) => joinCells(columns, widths, cells, "  ").trimEnd();
  const body = rows.flatMap((row, index) => (ruledRows.includes(index) ? [rule, line(row)] : [line(row)]));
  return [line(columns.map(({ title }) => title)), rule, ...body].join("\n");
}

/** The same table in Markdown that is also readable as text. */
export function markdownTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = widthsOf(columns, escaped).map((width) => Math.max(3, width));
  const line = (cells: readonly string[]) => `| ${joinCells(columns, widths, cells, " | ")} |`;
  const rule = columns.map(
    ({ isFigure }, index) => "-".repeat((widths[index] ?? 3) - 1) + (isFigure ? ":" : "-"),
  );
  return [line(columns.map(({ title }) => title)), line(rule), ...escaped.map(line)].join("\n");
}

function widthsOf(columns: readonly Column[], rows: readonly (readonly string[])[]): number[] {
  return columns.map(({ title }, index) =>
    Math.max(title.length, ...rows.map((row) => (row[index] ?? "").length)),
  );
}

function joinCells(
  columns: readonly Column[],
  widths: readonly number[],
  cells: readonly string[],
  between: string,
): string {
  const padded = columns.map(({ isFigure }, index) => {
    const [cell, width] = [cells[index] ?? "", widths[index] ?? 0];
    return isFigure ? cell.padStart(width) : cell.padEnd(width);
  });
  return padded.join(between);
}
