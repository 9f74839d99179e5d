import { shownBytes } from "../diff/file-diff.ts";

/**
 * A path as the model reads and repeats it. Line feeds and tabs survive the escaping of renderings, so a path that holds
 * one is quoted as a JSON string; the path tools take that form back.
 */
export function showPath(path: string): string {
  return /[\n\t]/.test(path) || path.startsWith('"') ? JSON.stringify(path) : path;
}

/** How many, with its noun: `1 file`, `2,000 files`. */
export function count(number: number, noun: string): string {
  // toLocaleString would group them too, but loads 8 MB of tables for the first number of a process.
  const grouped = String(number).replace(/\B(?=(?:\d{3})+$)/g, ",");
  return `${grouped} ${noun}${number === 1 ? "" : "s"}`;
}

/** How many of the first entries fit into `maxBytes`, each with its line feed, once they are escaped. */
export function fitting(entries: readonly string[], maxBytes: number): number {
  let bytes = 0;
  const past = entries.findIndex((entry) => {
    bytes += shownBytes(entry) + 1;
    return bytes > maxBytes;
  });
  return past < 0 ? entries.length : past;
}
