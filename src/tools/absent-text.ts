import { distance } from "fastest-levenshtein";
import { cutLine } from "../text/cut.ts";

const MARGIN = 2;
const MAX_LINE_BYTES = 300;
/** Longer lines are compared by their beginnings. */
const COMPARED = 200;
/** Lines of a file that are compared. */
const MAX_LINES = 20_000;

const squeezed = (text: string) => text.replaceAll(/\s+/g, " ").trim();

/** What to tell somebody who looks for a text that is not in a file: where something like it stands, and what it looks like. */
export function absentText(path: string, wanted: string, replacement: string, text: string): string {
  const lines = text.split("\n");
  const first = wanted.split("\n").find((line) => line.trim() !== "") ?? "";
  const nearest = nearestLine(first, lines);
  const hints = [
    ...(replacement.trim() !== "" && text.includes(replacement) ? ["new_string is there already."] : []),
    ...(squeezed(text).includes(squeezed(wanted)) ? ["White space aside it is there: copy it exactly."] : []),
    ...(nearest === null
      ? []
      : [`Nearest to its first line is line ${nearest + 1}:`, around(lines, nearest)]),
  ];
  return [`old_string is not in '${path}'.`, ...hints].join("\n");
}

/** The line most like the wanted one, where one is like it at all; null otherwise. */
function nearestLine(wanted: string, lines: readonly string[]): number | null {
  const sought = squeezed(wanted).slice(0, COMPARED);
  if (sought === "") return null;
  let best: { at: number; apart: number } | null = null;
  for (const [at, line] of lines.slice(0, MAX_LINES).entries()) {
    const shown = squeezed(line).slice(0, COMPARED);
    const limit = best?.apart ?? Math.ceil(sought.length * 0.6);
    if (shown === "" || Math.abs(shown.length - sought.length) >= limit) continue;
    const apart = distance(shown, sought);
    if (apart < limit) best = { at, apart };
  }
  return best?.at ?? null;
}

function around(lines: readonly string[], at: number): string {
  const start = Math.max(at - MARGIN, 0);
  const shown = lines.slice(start, at + MARGIN + 1);
  return shown.map((line, index) => cutLine(`${start + index + 1}|${line}`, MAX_LINE_BYTES)).join("\n");
}
