import { showHidden } from "../core/text/escape-invisible.ts";

/** What a cell may hold; null is an empty cell. */
export type Cell = string | number | null;

/** A spreadsheet takes text that begins with one of these for a formula, or drops it and looks at the next character. */
const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** One line of CSV (RFC 4180). Cells that a spreadsheet would run as a formula start with an apostrophe, and invisible characters are shown. */
export const csvLine = (cells: readonly Cell[]): string => `${cells.map(csvCell).join(",")}\r\n`;

function csvCell(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  const text = showHidden(cell);
  // Also behind spaces, which some programs cut off.
  const safe = formula.test(text) || formula.test(text.trimStart()) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe;
}
