import { shorten, shownBytes } from "../diff/render.ts";
import { countLines } from "../diff/survey.ts";

/** Lines from `start` to `end`, counted from 1, both among them. */
export interface LineRange {
  start: number;
  end: number;
}

/** A line feed ends a line, it does not begin one. */
export const totalLines = (text: string) => countLines(text) + (text === "" || text.endsWith("\n") ? 0 : 1);

/**
 * The lines of a range as `12|text`, as many as `maxBytes` hold once they are shown, but one at least. Only those are made: a
 * file may have more lines than fit into memory one by one.
 */
export function takeLines(text: string, { start, end }: LineRange, maxBytes: number): string[] {
  let at = 0;
  for (let line = 1; line < start; line += 1) at = text.indexOf("\n", at) + 1;
  const taken: string[] = [];
  let bytes = 0;
  for (let line = start; line <= end; line += 1) {
    const newline = text.indexOf("\n", at);
    const entry = `${line}|${newline < 0 ? text.slice(at) : text.slice(at, newline)}`;
    bytes += shownBytes(shorten(entry)) + 1;
    if (bytes > maxBytes && taken.length > 0) break;
    taken.push(entry);
    at = newline + 1;
  }
  return taken;
}
