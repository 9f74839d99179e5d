import { type DiffedFile, findLine, hunkUpTo, positionOf } from "./commentable.ts";
import type { LineAnchor, Side } from "./model.ts";

/** The requested place of a comment. */
export interface AskedLine {
  path: string;
  line?: number;
  side?: Side;
  start_line?: number | null;
  start_side?: Side | "side" | null;
}

export type AnchorProblem = "path" | "too_large" | "line" | "start_line" | "order";
export type AnchorResult = { anchor: LineAnchor } | { problem: AnchorProblem };

/** Finds a comment's lines in the diff, or returns what is wrong with them. A range lies in one hunk and ends after it starts. */
export function resolveAnchor(files: readonly DiffedFile[], asked: AskedLine): AnchorResult {
  const file = files.find((one) => one.path === asked.path);
  if (!file) return { problem: "path" };
  if (file.tooLarge) return { problem: "too_large" };
  const side = asked.side ?? "RIGHT";
  const end = asked.line === undefined ? undefined : findLine(file, side, asked.line);
  const startSide = asked.start_side === "LEFT" || asked.start_side === "RIGHT" ? asked.start_side : side;
  const startLine = asked.start_line ?? null;
  if (startLine !== null && startSide === side && startLine >= (asked.line ?? 0)) return { problem: "order" };
  if (!end || asked.line === undefined) return { problem: "line" };
  if (startLine !== null) {
    const start = findLine(file, startSide, startLine);
    if (start?.hunk !== end.hunk) return { problem: "start_line" };
    if (start.row >= end.row) return { problem: "order" };
  }
  return {
    anchor: {
      side,
      line: asked.line,
      startSide: startLine === null ? null : startSide,
      startLine,
      position: positionOf(file, end),
      diffHunk: hunkUpTo(file, end),
    },
  };
}
