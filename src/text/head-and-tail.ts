import { stripVTControlCharacters } from "node:util";
import { cutLine } from "./cut.ts";

/** Bytes of the longest line that is shown whole. */
const MAX_LINE = 2_000;

/**
 * What a program printed, for the model: its first and last lines as far as `maxBytes` go, without colours and movements of a cursor. The
 * end of a test run tells what failed, its beginning what was run.
 *
 * @param sizeOf bytes that a line takes once it is shown
 */
export function headAndTail(
  output: string,
  maxBytes: number,
  sizeOf: (line: string) => number,
): { text: string; truncated: boolean } {
  const lines = stripVTControlCharacters(output)
    .replace(/\n+$/, "")
    .split("\n")
    .map((line) => cutLine(line.replace(/\r$/, ""), Math.min(MAX_LINE, maxBytes / 4)));
  const total = lines.reduce((sum, line) => sum + sizeOf(line) + 1, 0);
  if (total <= maxBytes) return { text: lines.join("\n"), truncated: false };
  const half = (maxBytes - 100) / 2;
  const head = fitting(lines, half, sizeOf);
  const tail = fitting(lines.toReversed(), half, sizeOf);
  const gap = `[... ${lines.length - head - tail} lines left out here ...]`;
  const text = [...lines.slice(0, head), gap, ...lines.slice(lines.length - tail)].join("\n");
  return { text, truncated: true };
}

function fitting(lines: readonly string[], maxBytes: number, sizeOf: (line: string) => number): number {
  let bytes = 0;
  const past = lines.findIndex((line) => {
    bytes += sizeOf(line) + 1;
    return bytes > maxBytes;
  });
  return past < 0 ? lines.length : past;
}
