import type { SyntaxFault } from "../../analyzers/syntax-faults.ts";
import type { FileReading } from "./file-reading.ts";
import { type Overlay, replaced } from "./overlay.ts";

/** Why a file would be worse after a change than before: what a parser or its brackets say. Null when it would not be. */
export function worseReading(overlay: Overlay, before: FileReading, after: FileReading): string | null {
  return (
    worseSyntax(overlay, before, after) ??
    worseData(overlay, before, after) ??
    worseLayout(overlay, before, after) ??
    worseEffect(overlay, before, after)
  );
}

/** A fault by its place: what stands outside of the changed lines is the same fault at the same place. */
type Place = (fault: { what: string; line: number; endLine: number }) => string;

const placeIn =
  (lines: number, start: number, end: number): Place =>
  ({ what, line, endLine }) => {
    if (endLine <= start) return `${what} at ${line}`;
    return line > end ? `${what} at ${lines - line} from the end` : `${what} in it`;
  };

const places = ({ start, oldEnd, newEnd }: Overlay, before: FileReading, after: FileReading) => ({
  old: placeIn(before.lines, start, oldEnd),
  now: placeIn(after.lines, start, newEnd),
});

function newFault<T extends { what: string; line: number; endLine: number }>(
  old: readonly T[],
  now: readonly T[],
  { old: placeOfOld, now: placeOfNow }: { old: Place; now: Place },
): T | undefined {
  const known = new Map<string, number>();
  for (const fault of old) known.set(placeOfOld(fault), (known.get(placeOfOld(fault)) ?? 0) + 1);
  return now.find((fault) => {
    const place = placeOfNow(fault);
    const left = known.get(place) ?? 0;
    known.set(place, left - 1);
    return left <= 0;
  });
}

function worseSyntax(overlay: Overlay, before: FileReading, after: FileReading): string | null {
  if (!before.syntax || !after.syntax) return null;
  const added = newFault(before.syntax.faults, after.syntax.faults, places(overlay, before, after));
  if (added) return added.what;
  const reaches = ({ isGuess, line, endLine }: SyntaxFault) =>
    isGuess && endLine > overlay.start && line <= overlay.newEnd;
  return after.syntax.faults.some(reaches) ? "the file does not parse at these lines as it is" : null;
}

function worseData(overlay: Overlay, before: FileReading, after: FileReading): string | null {
  if (before.data?.isPlainJson && after.data?.isPlainJson === false)
    return "JSON has neither comments nor trailing commas";
  const now = after.data?.error;
  if (!now) return null;
  const old = before.data?.error;
  const fault = (error: { line: number; message: string }) => ({
    what: error.message,
    line: error.line,
    endLine: error.line,
  });
  const added = newFault(old ? [fault(old)] : [], [fault(now)], places(overlay, before, after));
  if (added) return `the file would not parse: ${now.message}`;
  // A parser stops at its first error: of what comes after it nothing is known.
  return now.line <= overlay.newEnd ? "the file does not parse up to these lines as it is" : null;
}

function worseLayout(overlay: Overlay, before: FileReading, after: FileReading): string | null {
  const fault = ({ at, what }: { at: number; what: string }) => ({ what, line: at + 1, endLine: at + 1 });
  return (
    newFault(before.layout.map(fault), after.layout.map(fault), places(overlay, before, after))?.what ?? null
  );
}

function worseEffect(overlay: Overlay, before: FileReading, after: FileReading): string | null {
  const isJoined = before.syntax?.seams === after.syntax?.seams;
  if (!isJoined && overlay.newEnd > overlay.start)
    return "it does not join the lines around it as those it replaces do";
  if (before.effect.text !== after.effect.text)
    return "its brackets, quotes or blocks do not fit those around it";
  // A block that was whole must not become the head of what belongs to another one.
  const headOf = (lines: readonly string[], line: number) => {
    const text = lines[line - 1]?.trim() ?? "";
    return /\w/.test(text) ? text : `${lines[line - 2]?.trim()} ${text}`;
  };
  const old = before.effect.heads.map((line) => headOf(overlay.before, line));
  const now = after.effect.heads.map((line) => headOf(overlay.after, line));
  const all = replaced(overlay).map((_, at) => headOf(overlay.before, overlay.start + at + 1));
  return now.some((head, at) => head !== old[at] && all.includes(head))
    ? "a block would lose its end and get another one's"
    : null;
}
