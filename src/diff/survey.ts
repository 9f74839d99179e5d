import { hash } from "node:crypto";
import { isOverlong, MAX_LINE_BYTES, shorten, shownBytes } from "./file-diff.ts";

/** What can be said of a patch without parsing it. */
interface PatchSurvey {
  hunks: number;
  /** Whether an added or removed line is too long to be shown whole. */
  overlongChange: boolean;
  /** Bytes its hunks take in front of the model, line numbers included: what `renderHunks` of them takes there. */
  shownBytes: number;
  /** Of each hunk the digests of its changes, in order: runs of added and removed lines, without context and position. */
  changes: string[][];
}

/** Longer diffs are not parsed: every line becomes an object. */
export const MAX_DIFF_LINES = 200_000;

/** The line feeds of a text: of a patch as many as it has lines, its header's too. */
export function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

const [AT, PLUS, MINUS, BACKSLASH] = ["@", "+", "-", "\\"].map((sign) => sign.charCodeAt(0));

/**
 * Looks at one file's patch line by line. For an overview of a thousand files: many times quicker than parsing them. A
 * line of the file always has a sign in front, so behind the header only a hunk's own line begins with `@`.
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

/** Takes the digests of changes while the lines of a patch go by. */
function createChanges(body: string) {
  const hunks: string[][] = [];
  /** Where the change began that the last line belongs to; -1 outside of one. */
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

/** A line's number and the space behind it. */
function numberBytes(number: number): number {
  let bytes = 2;
  for (let rest = number; rest >= 10; rest /= 10) bytes += 1;
  return bytes;
}

/** Of an overlong line only the beginning is shown, and one that the change adds or removes makes its file unreadable. */
function takeOverlong(survey: PatchSurvey, body: string, start: number, end: number): void {
  // No character takes more than eight bytes once escaped, so ordinary lines need not be looked at.
  if ((end - start) * 8 <= MAX_LINE_BYTES) return;
  const text = body.slice(start + 1, end);
  if (!isOverlong(text)) return;
  survey.shownBytes += shownBytes(shorten(text)) - shownBytes(text);
  const sign = body.charCodeAt(start);
  survey.overlongChange ||= sign === PLUS || sign === MINUS;
}
