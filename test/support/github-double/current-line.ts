import { type DiffedFile, diffFiles, findLine, positionOf } from "./commentable.ts";
import type { CurrentPlace } from "./json/comment.ts";
import { mergeBaseOf } from "./json/pull.ts";
import type { Pull, ReviewComment, Side } from "./model.ts";
import { headOf } from "./model.ts";

/** GitHub's diff for a pull request with the head `head`: against the merge base, with three lines of context. */
export async function pullDiff(pull: Pull, head = headOf(pull)): Promise<DiffedFile[]> {
  return diffFiles(pull.repository.gitDir, await mergeBaseOf(pull, head), head);
}

/** The line's number after a change without context; undefined if the change touched it. */
function carried(file: DiffedFile | undefined, line: number): number | undefined {
  let shift = 0;
  for (const { rows } of file?.hunks ?? []) {
    if (rows.some((row) => row.LEFT === line)) return undefined;
    const firstAbove = rows.some((row) => row.LEFT !== null && row.LEFT < line);
    const insertedAbove = rows.every((row) => row.LEFT === null) && (rows[0]?.RIGHT ?? 0) <= line + shift;
    if (firstAbove || insertedAbove) {
      shift +=
        rows.filter((row) => row.RIGHT !== null).length - rows.filter((row) => row.LEFT !== null).length;
    }
  }
  return line + shift;
}

/**
 * Maps a line comment to the pull request's current head, as GitHub does after a push: same text, same side, still in the diff; otherwise
 * null, "outdated".
 */
export async function currentPlace(comment: ReviewComment): Promise<CurrentPlace | null> {
  const { anchor, pull, commitId, path } = comment;
  if (!anchor) return null;
  const sideCommit = (side: Side, head: string) => (side === "RIGHT" ? head : mergeBaseOf(pull, head));
  const [before, after] = await Promise.all([
    sideCommit(anchor.side, commitId),
    sideCommit(anchor.side, headOf(pull)),
  ]);
  const moved = before === after ? [] : await diffFiles(pull.repository.gitDir, before, after, 0);
  const change = moved.find((file) => file.previousPath === path || file.path === path);
  const line = carried(change, anchor.line);
  const startLine = anchor.startLine === null ? null : carried(change, anchor.startLine);
  const now = (await pullDiff(pull)).find((file) => file.path === (change?.path ?? path));
  const place = now && line !== undefined ? findLine(now, anchor.side, line) : undefined;
  if (!now || !place || line === undefined || startLine === undefined) return null;
  return { line, startLine, position: positionOf(now, place) };
}
