import { hash } from "node:crypto";
import { isOverlong, MAX_LINE_BYTES, shorten, shownBytes } from "./file-diff.ts";

/** Facts about a patch that need no parsing. */
interface PatchSurvey {
  hunks: number;
  /** Whether an added or removed line is too long to show whole. */
  overlongChange: boolean;
  /** Bytes of its hunks as the model sees them, line numbers included; the same as for the output of `renderHunks`. */
  shownBytes: number;
  /** For each hunk the digests of its changes, in order: runs of added and removed lines, without context and position. */
  changes: string[][];
}

/** Longer diffs are not parsed, because every line becomes an object. */
export const MAX_DIFF_LINES = 200_000;

/** The number of line feeds in a text; for a patch, the number of its lines, including the header. */
export function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

const [AT, PLUS, MINUS, BACKSLASH] = ["@", "+", "-", "\\"].map((sign) => sign.charCodeAt(0));

/**
 * Reads one file's patch line by line. For an overview of a thousand files: many times faster than parsing them. A line of the file always
 * has a sign before it, so after the header only a hunk's own line begins with `@`.
 */
export function surveyPatch(patch: string): PatchSurvey {
  const survey: PatchSurvey = { hunks: 0, overlongChange: false, shownBytes: 0, changes: [] };
  const body = hunksOf(patch);
  survey.shownBytes = shownBytes(body);
  let [oldLine, newLine] = [0, 0];
  const changes = createChanges(body);
  for (let start = 0; start < body.length; ) {
    const newline = body.indexOf("\n", start);
    const end = newline < 0 ? body.length : newline;
    const sign = body.charCodeAt(start);
    changes.take(sign, start);
    if (sign === AT) {
      survey.hunks += 1;
      [oldLine, newLine] = hunkStart(body.slice(start, end));
    } else if (sign !== BACKSLASH) {
      survey.shownBytes += numberBytes(sign === MINUS ? oldLine : newLine);
      if (sign !== PLUS) oldLine += 1;
      if (sign !== MINUS) newLine += 1;
      takeOverlong(survey, body, start, end);
    }
    start = end + 1;
  }
  survey.changes = changes.end();
  return survey;
}

/** Computes the digests of changes line by line. */
function createChanges(body: string) {
  const hunks: string[][] = [];
  /** The start of the change with the last line; -1 outside of a change. */
  let begin = -1;
  function endAt(end: number): void {
    if (begin >= 0) hunks.at(-1)?.push(hash("sha256", body.slice(begin, end), "base64url"));
    begin = -1;
  }
  return {
    take(sign: number, start: number): void {
      if (sign === PLUS || sign === MINUS) {
        if (begin < 0) begin = start;
        // Git's remark that a changed line has no line feed is part of the change.
      } else if (sign !== BACKSLASH) endAt(start - 1);
      if (sign === AT) hunks.push([]);
    },
    end(): string[][] {
      endAt(body.length);
      return hunks;
    },
  };
}

/** A patch without its header and its last line feed. */
function hunksOf(patch: string): string {
  const first = patch.startsWith("@@ -") ? 0 : patch.indexOf("\n@@ -") + 1;
  if (first === 0 && !patch.startsWith("@@ -")) return "";
  return patch.slice(first, patch.endsWith("\n") ? -1 : undefined);
}

function hunkStart(header: string): [oldLine: number, newLine: number] {
  const [, oldStart, newStart] = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(header) ?? [];
  return [Number(oldStart ?? 0), Number(newStart ?? 0)];
}

/** Bytes of a line's number and the space after it. */
function numberBytes(number: number): number {
  let bytes = 2;
  for (let rest = number; rest >= 10; rest /= 10) bytes += 1;
  return bytes;
}

/** Only the beginning of an overlong line is shown; one that the change adds or removes makes its file unreadable. */
function takeOverlong(survey: PatchSurvey, body: string, start: number, end: number): void {
  // No character takes more than eight bytes after escaping, so ordinary lines need no check.
  if ((end - start) * 8 <= MAX_LINE_BYTES) return;
  const text = body.slice(start + 1, end);
  if (!isOverlong(text)) return;
  survey.shownBytes += shownBytes(shorten(text)) - shownBytes(text);
  const sign = body.charCodeAt(start);
  survey.overlongChange ||= sign === PLUS || sign === MINUS;
}
