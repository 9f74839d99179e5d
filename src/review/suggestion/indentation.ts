/** White space at the beginning of a line. */
export const indentOf = (line: string) => /^[ \t]*/.exec(line)?.[0] ?? "";

export const isBlank = (line: string) => line.trim() === "";

/** Columns of a line's indentation, with tabs as Python counts them. */
export function widthOf(line: string): number {
  let width = 0;
  for (const character of indentOf(line)) width = character === "\t" ? width - (width % 8) + 8 : width + 1;
  return width;
}

/** How a file indents. */
export interface IndentStyle {
  /** One level: a tab, or some spaces. */
  unit: string;
}

/** The most frequent step from one line to a deeper one; four spaces where there is none. */
export function stepOf(lines: readonly string[]): number {
  const counts = new Map<number, number>();
  let previous = 0;
  for (const line of lines) {
    if (isBlank(line)) continue;
    const width = /^ */.exec(line)?.[0].length ?? 0;
    const step = width - previous;
    if (step > 1 && step <= 8) counts.set(step, (counts.get(step) ?? 0) + 1);
    previous = width;
  }
  const [first] = [...counts].toSorted((a, b) => b[1] - a[1] || a[0] - b[0]);
  return first?.[0] ?? 4;
}

/** The style of the anchored lines where they show one, else of the whole file. */
export function styleOf(lines: readonly string[], anchored: readonly string[]): IndentStyle {
  const tabbed = (all: readonly string[]) => all.filter((line) => line.startsWith("\t")).length;
  const spaced = (all: readonly string[]) => all.filter((line) => line.startsWith("  ")).length;
  const shows = tabbed(anchored) + spaced(anchored) > 0 ? anchored : lines;
  if (tabbed(shows) > spaced(shows)) return { unit: "\t" };
  return { unit: " ".repeat(stepOf(lines)) };
}

const foreign = (line: string, { unit }: IndentStyle) =>
  !isBlank(line) && (unit === "\t" ? /^\t* {4}|^ {2}(?!\s*\*)/ : /^ *\t/).test(line);

/** Whether a line is indented by the other character than the file's. */
export function breaksStyle(lines: readonly string[], style: IndentStyle): boolean {
  return lines.some((line) => foreign(line, style));
}

/** The lines with tabs for spaces, or spaces for tabs, as the file has them; levels are kept. */
export function inStyle(lines: readonly string[], style: IndentStyle): string[] {
  const step = stepOf(lines);
  return lines.map((line) => {
    const indent = indentOf(line);
    const text = line.slice(indent.length);
    if (style.unit !== "\t") return indent.replaceAll("\t", style.unit) + text;
    const columns = [...indent].reduce((sum, one) => sum + (one === "\t" ? step : 1), 0);
    return "\t".repeat(Math.floor(columns / step)) + " ".repeat(columns % step) + text;
  });
}

/** The lines as far to the right or left as takes `from` to `to`; what is less indented than that comes to the margin. */
export function shifted(lines: readonly string[], from: string, to: string): string[] {
  return lines.map((line) => {
    if (isBlank(line)) return "";
    const indent = indentOf(line);
    const text = line.slice(indent.length);
    if (indent.startsWith(from)) return to + indent.slice(from.length) + text;
    return to.slice(0, Math.max(0, to.length - (from.length - indent.length))) + text;
  });
}
