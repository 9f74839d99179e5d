import type { LoopEntry, Trajectory } from "../agent/trajectory.ts";
import type { Workspace } from "../git/workspace.ts";
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
  /** Left out where no notes are taken. */
  journal?: JournalPort;
  /** What is known of the repository; left out, nothing is. */
  graph?: KnownGraph;
  isPrivate(path: string): boolean;
  progress(event: ProgressEvent): void;
  signal: AbortSignal;
  /** Milliseconds. */
  now(): number;
  /** When the review began, by `now`. Its time limit counts from there. */
  startedAt: number;
}
