import type { Commit, Shas, Workspace } from "../../git/workspace.ts";
import type { ChangedFile, CoverageSink, DiffSource } from "../../tools/tool.ts";
import type { ReviewedHunks } from "../followup/known-change.ts";
import type { ReviewInput } from "../review-input.ts";
import type { OpenedGraph } from "../review-run.ts";
import type { ShownCandidates } from "./candidates-section.ts";

/** What messages about a change are made of. */
export interface ContextParts {
  input: ReviewInput;
  shas: Shas;
  /** All changed files, for the overview. */
  allFiles: readonly ChangedFile[];
  /** The files of this unit: their diff is shown, in this order. One unit of several when there are fewer than `allFiles`. */
  files: readonly ChangedFile[];
  commits: readonly Commit[];
  workspace: Workspace;
  diffs: DiffSource;
  coverage: CoverageSink;
  isPrivate(path: string): boolean;
  /** What is known of the repository; null where nothing is. */
  graph: OpenedGraph | null;
  signal: AbortSignal;
  /** Milliseconds. */
  now(): number;
  /** Bytes that the diff may take. */
  diffBytes: number;
  /** Bytes that all of the code context may take. */
  contextBytes: number;
}

/** The same for a loop over a unit. */
export interface MessageParts extends ContextParts {
  /** What earlier reviews have read of the change; null where they have read nothing of it. */
  known: ReviewedHunks | null;
  /** What rules matched in the files of this unit. */
  candidates: ShownCandidates;
}

/** Whether the loop reads all files that are to be read, not one unit of several. */
export function isWhole({ allFiles, files, known }: MessageParts): boolean {
  const shown = new Set(files.map(({ change }) => change.path));
  return allFiles.every(
    (file) => !file.reviewable || shown.has(file.change.path) || isReadBefore(file, known),
  );
}

/** Whether earlier reviews have read every hunk of a file. */
export function isReadBefore({ change }: ChangedFile, known: ReviewedHunks | null): boolean {
  return known !== null && known.known(change.path).size > 0 && !known.hasNew(change.path);
}
