/** Tables from the titles of their columns and their rows. A title that begins with ">" is that of figures, which are right-aligned. */

type Rows = readonly (readonly string[])[];

const isOfFigures = (title: string) => title.startsWith(">");
const nameOf = (title: string) => title.replace(/^>/, "");

/** A table for a terminal, with a rule below its heading and above each row of `ruledRows` (counted from 0). */
export function textTable(titles: readonly string[], rows: Rows, ruledRows: readonly number[] = []): string {
  const heading = titles.map(nameOf);
  const widths = heading.map((_, at) => Math.max(...[heading, ...rows].map((row) => (row[at] ?? "").length)));
  const rule = widths.map((width) => "-".repeat(width)).join("  ");
  const line = (cells: readonly string[]) => {
    const padded = titles.map((title, at) => {
      const [cell, width] = [cells[at] ?? "", widths[at] ?? 0];
      return isOfFigures(title) ? cell.padStart(width) : cell.padEnd(width);
    });
    return padded.join("  ").trimEnd();
  };
  const body = rows.flatMap((row, at) => (ruledRows.includes(at) ? [rule, line(row)] : [line(row)]));
  return [line(heading), rule, ...body].join("\n");
}

/** The same table in Markdown. */
export function markdownTable(titles: readonly string[], rows: Rows): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  const rule = titles.map((title) => (isOfFigures(title) ? "---:" : "---"));
  return [titles.map(nameOf), rule, ...rows].map(line).join("\n");
}
