import type { Candidate } from "../../analyzers/analyzer.ts";
import type { Commit, Shas, Workspace } from "../../git/workspace.ts";
import type { ChangedFile, CoverageSink, DiffSource } from "../../tools/tool.ts";
import type { ReviewInput } from "../review-input.ts";

/** What the first message of a loop is made of. */
export interface ContextParts {
  input: ReviewInput;
  shas: Shas;
  /** All changed files, for the overview. */
  allFiles: readonly ChangedFile[];
  /** The files of this unit: their diff is shown, in this order. One unit of several when there are fewer than `allFiles`. */
  files: readonly ChangedFile[];
  commits: readonly Commit[];
  candidates: readonly Candidate[];
  workspace: Workspace;
  diffs: DiffSource;
  coverage: CoverageSink;
  isPrivate(path: string): boolean;
  signal: AbortSignal;
  /** Milliseconds. */
  now(): number;
  /** Bytes that the diff may take. */
  diffBytes: number;
  /** Bytes that all of the code context may take. */
  contextBytes: number;
}

/** Whether the loop reads all files that are reviewed, not one unit of several. */
export function isWhole({ allFiles, files }: Pick<ContextParts, "allFiles" | "files">): boolean {
  const shown = new Set(files.map(({ change }) => change.path));
  return allFiles.every(({ change, reviewable }) => !reviewable || shown.has(change.path));
}
