import type { DiffLine } from "../../diff/file-diff.ts";
import type { Finding } from "../../finding.ts";
import type { ChangedFile, DiffSource } from "../../tools/tool.ts";

/** A line that the change adds. */
export interface AddedLine {
  path: string;
  line: number;
  text: string;
}

/** Finds lines of the change that are built like the one a finding is about. */
export interface SiblingSearch {
  of(finding: Pick<Finding, "path" | "side" | "line" | "start_line" | "quote">): Promise<AddedLine[]>;
}

const MAX_FILES = 500;
const MAX_LINES = 60_000;
const MAX_SIBLINGS = 8;
/** Lines of fewer words and signs look alike without being alike. */
const MIN_PARTS = 6;
const MAX_LINE_LENGTH = 400;

/** Reads the added lines of the change once, at the first question. */
export function createSiblingSearch(
  files: readonly ChangedFile[],
  diffs: Pick<DiffSource, "fileDiff">,
): SiblingSearch {
  let index: Promise<Map<string, AddedLine[]>> | undefined;
  return {
    async of(finding) {
      const shapes = new Set(finding.quote.split("\n").flatMap((line) => shapeOf(line) ?? []));
      if (shapes.size === 0) return [];
      index ??= addedLines(files, diffs);
      const known = await index;
      const found = [...shapes].flatMap((shape) => known.get(shape) ?? []);
      return found.filter((one) => !isWithin(one, finding)).slice(0, MAX_SIBLINGS);
    },
  };
}

function isWithin(
  one: AddedLine,
  { path, line, start_line, side }: Pick<Finding, "path" | "side" | "line" | "start_line">,
): boolean {
  return side === "RIGHT" && one.path === path && one.line >= (start_line ?? line) && one.line <= line;
}

async function addedLines(
  files: readonly ChangedFile[],
  diffs: Pick<DiffSource, "fileDiff">,
): Promise<Map<string, AddedLine[]>> {
  const byShape = new Map<string, AddedLine[]>();
  let left = MAX_LINES;
  for (const { change } of files.filter((file) => file.reviewable).slice(0, MAX_FILES)) {
    if (left <= 0) break;
    const { hunks } = await diffs.fileDiff(change, 3);
    const lines = hunks
      .flatMap((hunk) => hunk.lines)
      .filter(isAdded)
      .slice(0, left);
    left -= lines.length;
    for (const { newLine, text } of lines) {
      const shape = shapeOf(text);
      if (shape === null) continue;
      const alike = byShape.get(shape) ?? [];
      byShape.set(shape, alike);
      alike.push({ path: change.path, line: newLine, text });
    }
  }
  return byShape;
}

type Added = Extract<DiffLine, { kind: "added" }>;
const isAdded = (line: DiffLine): line is Added => line.kind === "added";

/**
 * How a line is built: what is called and every sign stay, other names and all literals are alike. Null for lines of too few
 * parts to tell anything.
 */
export function shapeOf(line: string): string | null {
  if (line.length > MAX_LINE_LENGTH) return null;
  const parts = line.match(/"[^"]*"|'[^']*'|`[^`]*`|[\p{L}_$][\p{L}\p{N}_$]*|\d[\w.]*|[^\s\w]/gu) ?? [];
  if (parts.length < MIN_PARTS) return null;
  return parts.map((part, at) => shapeOfPart(part, parts[at + 1])).join(" ");
}

const words = new Set(
  "if else for while return await new not and or in is null None nil true false throw raise".split(" "),
);

function shapeOfPart(part: string, next: string | undefined): string {
  if (/^["'`\d]/.test(part)) return "0";
  if (!/^[\p{L}_$]/u.test(part)) return part;
  return next === "(" || words.has(part) ? part : "x";
}
