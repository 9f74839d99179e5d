import type { LoopEntry, Trajectory } from "../agent/trajectory.ts";
import type { Analyzer } from "../analyzers/analyzer.ts";
import type { Workspace } from "../git/workspace.ts";
import type { Masking } from "../llm/masked-request.ts";
import type { Models } from "../llm/model.ts";
import type { DiffSource, JournalPort } from "../tools/tool.ts";
import type { KnownGraph } from "./known-graph.ts";
import type { ProgressEvent } from "./progress.ts";

/** What a review works with; the process it runs in composes them. */
export interface ReviewDependencies {
  workspace: Workspace;
  diffs: DiffSource;
  /** Null reviews with the analyzers alone. */
  models: Models | null;
  trajectory: Trajectory;
  /** What an earlier run of this review recorded. */
  replay: readonly LoopEntry[];
  /** That run is played back: its turns are taken as they are, and no model is asked. */
  isPlayback?: boolean;
  /** Reads the masks of secrets in what a model calls for; left out where nothing was masked. */
  masking?: Masking;
  /** Left out where no notes are taken. */
  journal?: JournalPort;
  /** What is known of the repository; left out, nothing is. */
  graph?: KnownGraph;
  /** Injected by tests; left out, all of this process. */
  analyzers?: readonly Analyzer[];
  isPrivate(path: string): boolean;
  progress(event: ProgressEvent): void;
  signal: AbortSignal;
  /** Milliseconds. */
  now(): number;
  /** When the review began, by `now`. Its time limit counts from there. */
  startedAt: number;
}
