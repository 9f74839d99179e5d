import { isWorthParsing } from "../../code/parse.ts";
import type { Finding } from "../../finding.ts";
import { fence } from "../../text/fence.ts";
import type { AnchorFile } from "../find/anchor.ts";
import { reasonToRefuse } from "./reason-to-refuse.ts";
import { type Anchored, isBlank, repair } from "./repair.ts";

type Suggesting = Pick<Finding, "path" | "side" | "line" | "start_line" | "body" | "suggestion">;

/** A finding with a checked suggestion, and a note about it. */
interface Checked<T> {
  finding: T;
  /** For the model; null if the suggestion is unchanged, or there was none. */
  note: string | null;
}

/** Keeps a suggestion only if it can be applied to a copy of the file; otherwise the proposal becomes prose. */
export async function withCheckedSuggestion<T extends Suggesting>(
  finding: T,
  { lines }: Pick<AnchorFile, "lines">,
): Promise<Checked<T>> {
  const { path, side, line, start_line, suggestion } = finding;
  if (suggestion === null) return { finding, note: null };
  // GitHub applies suggestions to the head's file only.
  if (side === "LEFT" || lines.RIGHT === null) return asProse(finding, "it would replace removed lines");
  const checked = await checkSuggestion({
    ...{ path, lines: lines.RIGHT, suggestion },
    start: start_line ?? line,
    end: line,
  });
  if (!checked.ok) return asProse(finding, checked.reason);
  const note =
    checked.repairs.length > 0 ? `the suggestion was repaired: ${checked.repairs.join(", ")}` : null;
  return { finding: { ...finding, suggestion: checked.suggestion }, note };
}

function asProse<T extends Suggesting>(finding: T, reason: string): Checked<T> {
  return {
    finding: withoutSuggestion(finding, reason),
    note: `the suggestion becomes prose, because ${reason}`,
  };
}

/** Moves the proposed code into the body, so that nothing is lost. `reason` is a clause of ours. */
export function withoutSuggestion<T extends Pick<Finding, "body" | "suggestion">>(
  finding: T,
  reason: string,
): T {
  if (finding.suggestion === null) return finding;
  const proposal = `Proposed replacement (not offered as a suggestion: ${reason}):`;
  return {
    ...finding,
    suggestion: null,
    body: `${finding.body}\n\n${proposal}\n\n${fence(finding.suggestion)}`,
  };
}

/** The suggestion as it may be posted, or why it may not. */
type CheckedSuggestion =
  | {
      ok: true;
      /**
       * The lines that replace the anchored ones, joined by line feeds and each with the carriage return that the file's
       * lines have. Empty: the lines are deleted, as GitHub does for an empty suggestion block.
       */
      suggestion: string;
      /** What was repaired, in words: "the indentation was taken from the file". */
      repairs: readonly string[];
    }
  | {
      ok: false;
      /** A clause for the model and for people: "the file would not parse". */
      reason: string;
    };

interface SuggestionToCheck {
  path: string;
  /** The head's file, without line feeds but with any carriage return. */
  lines: readonly string[];
  /** 1-indexed and inclusive: exactly the lines that are replaced. */
  start: number;
  end: number;
  suggestion: string;
}

/**
 * Applies a suggestion to a copy of the file. It is accepted if it changes something, is a version of the lines it replaces, and
 * leaves the file no worse. Fences, diff signs, indentation and copied neighbouring lines are repaired first. In doubt it is refused:
 * a suggestion as prose costs little.
 */
export async function checkSuggestion(given: SuggestionToCheck): Promise<CheckedSuggestion> {
  const { path, start, end, suggestion } = given;
  const unfit = outOfBounds(given);
  if (unfit) return { ok: false, reason: unfit };
  if (suggestion !== "" && isBlank(suggestion)) return { ok: false, reason: "it contains only white space" };
  const lines = given.lines.map((line) => line.replace(/\r$/, ""));
  const around: Anchored = {
    path,
    before: lines.slice(0, start - 1),
    old: lines.slice(start - 1, end),
    after: lines.slice(end),
  };
  const repaired = repair(suggestion, around);
  if (!repaired) return { ok: false, reason: "it only repeats the lines around the finding" };
  const reason = await reasonToRefuse(repaired, around);
  if (reason !== null) return { ok: false, reason };
  return { ok: true, suggestion: withLineEnds(repaired.lines, given), repairs: repaired.repairs };
}

/** Why the lines or the suggestion cannot be checked; null if they can. */
function outOfBounds({ lines, start, end, suggestion }: SuggestionToCheck): string | null {
  if (start < 1 || end < start || end > lines.length) return "the file has no such lines";
  const characters = lines.reduce((sum, line) => sum + line.length + 1, 0);
  if (characters > 300_000) return "the file is too large to check it";
  const old = lines.slice(start - 1, end);
  if (end - start >= 500 || suggestion.length > 20_000 || old.join("\n").length > 20_000)
    return "it is too long to check it";
  // Patterns with lookbehind are slow on longer lines.
  if ([...old, ...suggestion.split("\n")].some((line) => line.length > 2_000))
    return "its lines are too long to check them";
  return isWorthParsing(lines.join("\n")) ? null : "the file's lines are too long to check it";
}

/** Adds the carriage returns of the replaced lines; the file's last line may have none. */
function withLineEnds(replacement: readonly string[], { lines, start, end }: SuggestionToCheck): string {
  const isCrlf =
    lines[start - 1]?.endsWith("\r") || (start === lines.length && lines[start - 2]?.endsWith("\r"));
  const lastHasOne = lines[end - 1]?.endsWith("\r");
  return replacement
    .map((line, at) => (isCrlf && (at < replacement.length - 1 || lastHasOne) ? `${line}\r` : line))
    .join("\n");
}
