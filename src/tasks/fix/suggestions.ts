import type { FileDiff, Hunk } from "../../repo/diff/file-diff.ts";

/** Lines at head that a suggestion replaces. */
export interface LineSuggestion {
  path: string;
  /** 1-indexed, inclusive. */
  start: number;
  end: number;
  /** Empty to delete the lines. */
  lines: readonly string[];
}

/** A file that a fix changes, with two diffs. */
interface FixedFile {
  path: string;
  /** From head to the fixed file, without context. */
  fix: FileDiff;
  /** The pull request's diff with the context that GitHub shows; undefined for an unchanged file. */
  change: FileDiff | undefined;
  lines: readonly string[];
}

/**
 * A fix as suggestions on lines of the pull request: GitHub takes one on lines that its diff shows in one hunk
 * (https://docs.github.com/en/pull-requests/collaborating-with-pull-requests/reviewing-changes-in-pull-requests/commenting-on-a-pull-request).
 * Null if a part of the fix has no such lines: half of a repair is not a repair.
 */
export function suggestionsFor(files: readonly FixedFile[]): LineSuggestion[] | null {
  const all = files.map(suggestionsOf);
  return all.every((one) => one !== null) ? all.flat() : null;
}

function suggestionsOf(file: FixedFile): LineSuggestion[] | null {
  const { header, hunks } = file.fix;
  // A new or deleted file, or a change of mode only, has no lines to replace.
  if (hunks.length === 0 || header.some((line) => /^(?:new|deleted) file/.test(line))) return null;
  const found: LineSuggestion[] = [];
  for (const hunk of hunks) {
    const suggestion = suggestionOf(file, hunk, found.at(-1));
    if (suggestion === null) return null;
    // A suggestion that extends the last one replaces it.
    if (found.at(-1)?.start === suggestion.start) found.pop();
    found.push(suggestion);
  }
  const shown = found.map((suggestion) => asShown(suggestion, file.lines));
  return shown.every((one) => one !== null) ? shown : null;
}

const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** GitHub keeps a file's line ends. Null if a suggestion would change them, or holds invisible characters. */
function asShown(suggestion: LineSuggestion, lines: readonly string[]): LineSuggestion | null {
  const { start, end } = suggestion;
  const all = [...lines.slice(start - 1, end), ...suggestion.lines];
  const returns = all.filter((line) => line.endsWith("\r")).length;
  if (returns > 0 && returns < all.length) return null;
  const plain = suggestion.lines.map((line) => line.replace(/\r$/, ""));
  return plain.some((line) => unseen.test(line.replaceAll("\t", "")))
    ? null
    : { ...suggestion, lines: plain };
}

function suggestionOf(
  { path, change, lines }: FixedFile,
  hunk: Hunk,
  last: LineSuggestion | undefined,
): LineSuggestion | null {
  // A suggestion cannot express a missing line feed at the end of a file.
  if (hunk.lines.some((line) => line.noNewline)) return null;
  const added = hunk.lines.flatMap((line) => (line.kind === "added" ? [line.text] : []));
  const range = { start: hunk.oldStart, end: hunk.oldStart + hunk.oldLines - 1 };
  if (hunk.oldLines > 0) return isShown(change, range) ? { path, ...range, lines: added } : null;
  // Added lines are attached to the line before them, or to the one after.
  const [before, behind] = [hunk.oldStart, hunk.oldStart + 1];
  if (last?.end === before) return { ...last, lines: [...last.lines, ...added] };
  if (before > 0 && isShown(change, { start: before, end: before }))
    return { path, start: before, end: before, lines: [lines[before - 1] ?? "", ...added] };
  if (behind <= lines.length && isShown(change, { start: behind, end: behind }))
    return { path, start: behind, end: behind, lines: [...added, lines[behind - 1] ?? ""] };
  return null;
}

function isShown(change: FileDiff | undefined, { start, end }: { start: number; end: number }): boolean {
  return (change?.hunks ?? []).some(
    ({ newStart, newLines }) => newStart <= start && end < newStart + newLines,
  );
}
