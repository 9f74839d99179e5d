import type { DiffSource } from "../../tools/tool.ts";
import type { KnownChange } from "../known/known-change.ts";
import type { LineRange } from "../quote.ts";
import type { EarlierFinding } from "../review-input.ts";
import type { ReadChange } from "../review-run.ts";
import { definitionNamed, definitionOf } from "../symbols.ts";

/** What of a run decides whether an earlier finding is looked at again. */
export interface CheckedChange extends Pick<ReadChange, "files" | "anchorFile"> {
  known: Pick<KnownChange, "known" | "hasNew" | "hasLost" | "isKnownLine">;
  isFirst: boolean;
  deps: { diffs: Pick<DiffSource, "fileDiff"> };
}

/** A change so close to the lines of a finding may settle it. */
const NEAR_LINES = 15;

/**
 * Whether what an earlier finding is about has changed since the last review: something that was read of its file is gone;
 * something new stands in its definition or close to it, or, once its own code is gone, anywhere in its file; or a file that it
 * named as evidence has changed. Where nothing is remembered: whether its code is gone.
 *
 * @param place where its code stands now; null where it is gone
 */
export async function needsCheck(
  run: CheckedChange,
  earlier: EarlierFinding,
  place: LineRange | null,
): Promise<boolean> {
  const { known, isFirst } = run;
  if (isFirst) return earlier.state === "outdated" || (place === null && earlier.code !== null);
  const [path = earlier.path, ...files] = [earlier.path, ...earlier.files].map((one) => headPath(run, one));
  if (known.hasLost(path) || files.some((file) => known.hasNew(file) || known.hasLost(file))) return true;
  if (!known.hasNew(path)) return false;
  return place === null || hasNewNear(run, path, earlier, place);
}

/** A file's name at head, whichever of its names is given. */
export function headPath({ files }: Pick<ReadChange, "files">, path: string): string {
  const file =
    files.find(({ change }) => change.path === path) ?? files.find(({ change }) => change.oldPath === path);
  return file?.change.path ?? path;
}

async function hasNewNear(
  run: CheckedChange,
  path: string,
  earlier: EarlierFinding,
  place: LineRange,
): Promise<boolean> {
  const file = run.files.find(({ change }) => change.path === path);
  if (!file) return false;
  const around = await aroundOf(run, earlier, place);
  const known = run.known.known(path);
  const { hunks } = await run.deps.diffs.fileDiff(file.change, 3);
  return hunks.some((hunk, at) => {
    const [start, lines] =
      earlier.side === "RIGHT" ? [hunk.newStart, hunk.newLines] : [hunk.oldStart, hunk.oldLines];
    return !known.has(at + 1) && start <= around.end && around.start <= start + Math.max(1, lines) - 1;
  });
}

/** The lines near a finding, and those of its definition. */
async function aroundOf(
  { anchorFile }: CheckedChange,
  { path, side, symbol }: EarlierFinding,
  { start, end }: LineRange,
): Promise<LineRange> {
  const near = { start: start - NEAR_LINES, end: end + NEAR_LINES };
  const file = await anchorFile(path);
  const lines = file?.lines[side] ?? null;
  const definition =
    file && symbol !== null
      ? await definitionNamed(file.path, lines, symbol, end)
      : file && (await definitionOf(file.path, lines, end));
  if (!definition) return near;
  return { start: Math.min(near.start, definition.start), end: Math.max(near.end, definition.end) };
}
