import { decodeText } from "../text/decode.ts";
import { takeLines, totalLines } from "./numbered-lines.ts";

const MARGIN = 3;
const MAX_BYTES = 4_096;

/** The lines of a file in which it differs from what it was, with some around them, numbered as in `read_file_part`. */
export function changedLines(before: string, after: string): string {
  const text = decodeText(Buffer.from(after, "latin1")).text;
  const total = totalLines(text);
  if (total === 0) return "";
  const start = Math.max(lineAt(after, commonStart(before, after)) - MARGIN, 1);
  const tail = commonEnd(before, after);
  const end = Math.min(lineAt(after, after.length - tail) + MARGIN, total);
  return takeLines(text, { start: Math.min(start, total), end: Math.max(end, start) }, MAX_BYTES).join("\n");
}

/** The number of the line in which a place lies. */
function lineAt(text: string, place: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < place; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

function commonStart(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  let at = 0;
  while (at < length && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return at;
}

function commonEnd(one: string, other: string): number {
  const length = Math.min(one.length, other.length) - commonStart(one, other);
  let taken = 0;
  while (
    taken < length &&
    one.charCodeAt(one.length - 1 - taken) === other.charCodeAt(other.length - 1 - taken)
  )
    taken += 1;
  return taken;
}
