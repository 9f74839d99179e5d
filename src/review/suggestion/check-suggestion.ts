import { type Arrangement, arrangements, type Surroundings } from "./arrange.ts";
import { outOfBounds } from "./bounds.ts";
import { faultOf } from "./fault.ts";
import { hasParser, readFile } from "./file-reading.ts";
import { styleOf } from "./indentation.ts";
import { overlayOf } from "./overlay.ts";
import type { CheckedSuggestion, SuggestionToCheck } from "./suggestion-to-check.ts";
import { unwrap } from "./unwrap.ts";
import { unusable } from "./usable.ts";

const refused = (reason: string): CheckedSuggestion => ({ ok: false, reason });

/**
 * Applies a suggestion to a copy of the file and accepts it when it replaces exactly the anchored lines, changes something,
 * keeps the file's indentation and leaves the file no worse than it was. What can be mended without guessing is mended first.
 */
export async function checkSuggestion(given: SuggestionToCheck): Promise<CheckedSuggestion> {
  const { path, start, end, suggestion } = given;
  const unfit = outOfBounds(given);
  if (unfit) return refused(unfit);
  const lines = given.lines.map((line) => line.replace(/\r$/, ""));
  const anchored = lines.slice(start - 1, end);
  if (suggestion !== "" && suggestion.trim() === "") return refused("it is empty but for white space");
  const written = unwrap(suggestion, { path, anchored, line: start });
  const reason = unusable(path, written.lines, anchored);
  if (reason) return refused(reason);
  const around: Surroundings = {
    before: lines.slice(0, start - 1),
    anchored,
    after: lines.slice(end),
    style: styleOf(lines, anchored),
    hasParser: hasParser(path),
  };
  const before = await readFile(path, lines, start - 1, end);
  if (!before) return refused("the file is too deep or too dense to check it");
  const range = { start: start - 1, end };
  const apply = (one: Arrangement) => overlayOf(path, lines, range, one.lines);
  let first: string | null = null;
  for (const one of arrangements(written.lines, around)) {
    const fault = await faultOf(apply(one), around, before, one);
    first ??= fault;
    if (fault === null)
      return {
        ok: true,
        suggestion: withLineEnds(one.lines, given),
        repairs: [...written.repairs, ...one.repairs],
      };
  }
  return refused(first ?? "its first line is not indented like the first of those it replaces");
}

/** The lines with the carriage returns that the replaced ones have; what ends the file may end without one. */
function withLineEnds(replacement: readonly string[], { lines, start, end }: SuggestionToCheck): string {
  const isCrlf =
    lines[start - 1]?.endsWith("\r") || (start === lines.length && lines[start - 2]?.endsWith("\r"));
  const lastHasOne = lines[end - 1]?.endsWith("\r");
  return replacement
    .map((line, at) => (isCrlf && (at < replacement.length - 1 || lastHasOne) ? `${line}\r` : line))
    .join("\n");
}
