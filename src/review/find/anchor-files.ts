import { LRUCache } from "lru-cache";
import { createLineIndex, type FileDiff, isHiddenForSize } from "../../diff/file-diff.ts";
import { AppError } from "../../errors.ts";
import type { Change, FileText, Ref, Workspace } from "../../git/workspace.ts";
import { splitLines } from "../../text/cut.ts";
import type { DiffSource } from "../../tools/tool.ts";
import type { AnchorFile } from "./anchor.ts";

/** Size of the cache, in lines of files. */
const KEPT_LINES = 400_000;
/** Longer lines count as several. */
const CHARACTERS_A_LINE = 100;

const TOO_LARGE = "GitHub shows no diff of this file, it is too large";
const UNREADABLE = "the diff of this file could not be read";

/**
 * Reads files for anchoring. A path may be that of the head or, for a renamed file, of the merge base. Recent files are cached;
 * a failed read is tried again at the next call.
 */
export function createAnchorFiles(
  workspace: Pick<Workspace, "changes" | "tree" | "readBlob">,
  diffs: Pick<DiffSource, "fileDiff">,
  keptLines = KEPT_LINES,
): (path: string) => Promise<AnchorFile | undefined> {
  const kept = new LRUCache<string, AnchorFile>({ maxSize: keptLines });
  const reading = new Map<string, Promise<AnchorFile | undefined>>();

  async function load(path: string): Promise<AnchorFile | undefined> {
    const changes = await workspace.changes();
    const change = changes.find((one) => one.path === path) ?? changes.find((one) => one.oldPath === path);
    const file = await (change ? changedFile(change) : unchangedFile(path));
    if (file && file.hidden !== UNREADABLE) kept.set(path, file, { size: sizeOf(file) });
    return file;
  }

  async function changedFile(change: Change): Promise<AnchorFile> {
    const { path, oldPath } = change;
    const [right, left, diff] = await Promise.all([
      textAt("head", path),
      textAt("merge_base", oldPath ?? path),
      diffs.fileDiff(change, 3).catch(reasonOf),
    ]);
    const encoding = [right, left].some((file) => file?.encoding === "latin1") ? "latin1" : "utf8";
    const paths = oldPath === null ? [path] : [path, oldPath];
    const lines = { RIGHT: linesOf(right), LEFT: linesOf(left) };
    return { path, paths, inChange: true, lines, ...placesIn(diff, encoding) };
  }

  async function unchangedFile(path: string): Promise<AnchorFile | undefined> {
    const RIGHT = linesOf(await textAt("head", path));
    if (!RIGHT) return undefined;
    return { path, paths: [path], inChange: false, lines: { RIGHT, LEFT: null }, ...nowhere };
  }

  async function textAt(ref: Ref, path: string): Promise<FileText | null> {
    const entry = (await workspace.tree(ref)).get(path);
    if (!entry || entry.mode === "160000") return null;
    const file = await workspace.readBlob(entry.oid).catch(() => null);
    return file?.binary ? null : file;
  }

  return async (path) => {
    const known = kept.get(path) ?? reading.get(path);
    if (known !== undefined) return known;
    const file = load(path).finally(() => reading.delete(path));
    reading.set(path, file);
    return file;
  };
}

const linesOf = (file: FileText | null) => file && splitLines(file.text);

/** Size in lines: both sides and the diff. */
function sizeOf({ lines, hunks }: AnchorFile): number {
  const cost = (all: readonly string[]) =>
    Math.max(all.length, all.reduce((sum, line) => sum + line.length, 0) / CHARACTERS_A_LINE);
  const shown = hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
  return Math.ceil(cost(lines.RIGHT ?? []) + cost(lines.LEFT ?? [])) + shown + 1;
}

const reasonOf = (error: unknown) =>
  error instanceof AppError && error.code === "too_large" ? TOO_LARGE : UNREADABLE;

type Places = Pick<AnchorFile, "hidden" | "hunks" | "hunkAt" | "isRemoved">;

const nowhere: Places = { hidden: null, hunks: [], hunkAt: () => undefined, isRemoved: () => false };

function placesIn(diff: FileDiff | string, encoding: FileText["encoding"]): Places {
  // Without the diff the removed lines are unknown: a quote may mean any line of the merge base.
  if (typeof diff === "string") return { ...nowhere, hidden: diff, isRemoved: () => true };
  const index = createLineIndex(diff);
  const hidden = isHiddenForSize(diff, encoding) ? TOO_LARGE : null;
  return {
    hidden,
    hunks: diff.hunks,
    hunkAt: (side, line) => (hidden === null ? index.at(side, line)?.hunk : undefined),
    isRemoved: (line) => index.at("LEFT", line)?.line.kind === "removed",
  };
}
