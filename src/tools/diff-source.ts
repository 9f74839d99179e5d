import type { FileDiff } from "../diff/file-diff.ts";
import { createFilter, OVERLONG_LINES, type PathPatterns, TOO_LARGE, WITHHELD } from "../diff/filter.ts";
import { parseFilePatch } from "../diff/parse.ts";
import { surveyPatch } from "../diff/survey.ts";
import { AppError } from "../errors.ts";
import type { Change, Workspace } from "../git/workspace.ts";
import type { ChangedFile, DiffSource } from "./tool.ts";

/** The context width of the diff that GitHub shows. */
export const GITHUB_CONTEXT = 3;

/** Patches asked for at the same time when all files are looked at. */
const CONCURRENCY = 4;

/** Diffs at other widths that are kept; those at GitHub's width all are. */
const KEPT_WIDTHS = 64;

const isFile = (mode: string) => mode.startsWith("100") || mode === "000000";

/** Whether git prints hunks for a change; links and submodules get some too, but no line of code is in them. */
function isTextual(change: Change): boolean {
  return change.additions !== null && isFile(change.oldMode) && isFile(change.newMode);
}

const emptyDiff = (change: Change): FileDiff => ({
  path: change.path,
  oldPath: change.oldPath,
  header: [],
  hunks: [],
});

/** Runs `work` over all items, a few at a time, keeping their order. */
async function mapFew<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = new Array(items.length);
  const left = items.entries();
  const runner = async () => {
    for (const [index, item] of left) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, runner));
  return results;
}

/** Parses each diff once, also when it is asked for at the same time. What failed is tried again at the next call. */
function createDiffCache(workspace: Workspace): DiffSource["fileDiff"] {
  const atGithubWidth = new Map<string, Promise<FileDiff>>();
  const atOtherWidths = new Map<string, Promise<FileDiff>>();

  async function read(change: Change, contextLines: number): Promise<FileDiff> {
    if (!isTextual(change)) return emptyDiff(change);
    return parseFilePatch(await workspace.patch(change, contextLines), change.path, change.oldPath);
  }

  return (change, contextLines) => {
    const kept = contextLines === GITHUB_CONTEXT ? atGithubWidth : atOtherWidths;
    const key = `${contextLines} ${change.path}`;
    const known = kept.get(key);
    if (known !== undefined) return known;
    const diff = read(change, contextLines);
    kept.set(key, diff);
    diff.catch(() => kept.delete(key));
    const oldest = atOtherWidths.keys().next();
    if (atOtherWidths.size > KEPT_WIDTHS && !oldest.done) atOtherWidths.delete(oldest.value);
    return diff;
  };
}

/** The changed files of a workspace and their diffs, each read once. */
export function createDiffSource(workspace: Workspace, patterns: PathPatterns): DiffSource {
  const skipReason = createFilter(patterns);
  let all: Promise<ChangedFile[]> | undefined;

  async function describe(change: Change): Promise<ChangedFile> {
    const reason = skipReason(change);
    if (reason === WITHHELD) return { change, totalHunks: 0, reviewable: false, skipReason: reason };
    try {
      // Not parsed yet: a change of a thousand files is looked at as a whole, but read file by file.
      const patch = isTextual(change) ? await workspace.patch(change, GITHUB_CONTEXT) : "";
      const { hunks, overlongChange } = surveyPatch(patch);
      const why = reason ?? (overlongChange ? OVERLONG_LINES : null);
      return { change, totalHunks: hunks, reviewable: why === null, skipReason: why };
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "too_large") throw error;
      return { change, totalHunks: 0, reviewable: false, skipReason: reason ?? TOO_LARGE };
    }
  }

  return {
    fileDiff: createDiffCache(workspace),
    files() {
      all ??= workspace
        .changes()
        .then((changes) => mapFew(changes, describe))
        .catch((error: unknown) => {
          all = undefined;
          throw error;
        });
      return all;
    },
  };
}
