import { isWorthParsing } from "../../syntax/worth-parsing.ts";
import { faultOf } from "./fault.ts";
import { type Anchored, isBlank, type Reading, readingsOf } from "./readings.ts";

/** What may be posted in the place of a suggestion. */
export type CheckedSuggestion =
  | {
      ok: true;
      /**
       * The lines that replace the anchored ones, joined by line feeds and each with the carriage return that the file's
       * lines have. Empty: the lines are deleted, as GitHub does for an empty suggestion block.
       */
      suggestion: string;
      /** What was mended, in words: "the indentation was taken from the file". */
      repairs: readonly string[];
    }
  | {
      ok: false;
      /** A clause for the model and for people: "the file would not parse". */
      reason: string;
    };

export interface SuggestionToCheck {
  path: string;
  /** The head's file, without line feeds but with any carriage return. */
  lines: readonly string[];
  /** 1-indexed and inclusive: exactly the lines that are replaced. */
  start: number;
  end: number;
  suggestion: string;
}

/**
 * Applies a suggestion to a copy of the file and accepts it when it changes something, is a version of the lines it replaces,
 * and leaves the file no worse than it was. Fences, signs of a diff, indentation and copied neighbours are mended first. In
 * doubt it is refused: a suggestion in prose costs little.
 */
export async function checkSuggestion(given: SuggestionToCheck): Promise<CheckedSuggestion> {
  const { path, start, end, suggestion } = given;
  const unfit = outOfBounds(given);
  if (unfit) return { ok: false, reason: unfit };
  if (suggestion !== "" && isBlank(suggestion))
    return { ok: false, reason: "it is empty but for white space" };
  const lines = given.lines.map((line) => line.replace(/\r$/, ""));
  const around: Anchored = {
    path,
    before: lines.slice(0, start - 1),
    old: lines.slice(start - 1, end),
    after: lines.slice(end),
  };
  const fitting: Reading[] = [];
  let reason = "it only repeats the lines around it";
  for (const reading of readingsOf(suggestion, around)) {
    const fault = await faultOf(reading, around);
    if (fault === null) fitting.push(reading);
    else reason = fault;
  }
  const [only, other] = fitting;
  if (!only) return { ok: false, reason };
  if (other) return { ok: false, reason: "lines of it may be copies of those around, or not" };
  return { ok: true, suggestion: withLineEnds(only.lines, given), repairs: only.repairs };
}

/** Why there is too much to look at, or none of it. Null when there is not. */
function outOfBounds({ lines, start, end, suggestion }: SuggestionToCheck): string | null {
  if (start < 1 || end < start || end > lines.length) return "the file has no such lines";
  const characters = lines.reduce((sum, line) => sum + line.length + 1, 0);
  if (characters > 300_000) return "the file is too large to check it";
  const old = lines.slice(start - 1, end);
  if (end - start >= 500 || suggestion.length > 20_000 || old.join("\n").length > 20_000)
    return "it is too long to check it";
  // Patterns that look back along a line take long on longer ones.
  if ([...old, ...suggestion.split("\n")].some((line) => line.length > 2_000))
    return "its lines are too long to check them";
  return isWorthParsing(lines.join("\n")) ? null : "the file's lines are too long to check it";
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
