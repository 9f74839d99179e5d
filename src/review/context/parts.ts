import type { Finding } from "../../finding.ts";
import type { Commit, Shas, Workspace } from "../../git/workspace.ts";
import type { ChangedFile, CoverageSink, DiffSource } from "../../tools/tool.ts";
import type { RuleMatch } from "../find/rule-matches.ts";
import type { ReviewedHunks } from "../followup/known-change.ts";
import type { ReviewInput } from "../review-input.ts";
import type { OpenedGraph } from "../review-run.ts";

/** The rule matches in the first message. */
export interface ShownCandidates {
  /** Published in any case. */
  certain: readonly Finding[];
  /** The model must answer these. */
  likely: readonly RuleMatch[];
}

/** The parts of messages about a change. */
export interface ContextParts {
  input: ReviewInput;
  shas: Shas;
  /** All changed files, for the overview. */
  allFiles: readonly ChangedFile[];
  /** The files of this unit: their diff is shown, in this order. If there are fewer than `allFiles`, this is one of several units. */
  files: readonly ChangedFile[];
  commits: readonly Commit[];
  workspace: Workspace;
  diffs: DiffSource;
  coverage?: CoverageSink;
  isPrivate(path: string): boolean;
  /** Null if the repository has no graph. */
  graph: OpenedGraph | null;
  signal: AbortSignal;
  /** Milliseconds. */
  now(): number;
  /** Maximum bytes of the diff. */
  diffBytes: number;
  /** Maximum bytes of the code context. */
  contextBytes: number;
}

/** The same for a loop over a unit. */
export interface MessageParts extends ContextParts {
  /** The hunks that earlier reviews have read; null if there are none. */
  known: ReviewedHunks | null;
  /** The rule matches in the files of this unit. */
  candidates: ShownCandidates;
}

/** Whether the loop reads all unread files, not one unit of several. */
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
