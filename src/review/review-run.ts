import type { Coverage } from "../agent/coverage.ts";
import { createTokenBudget, type TokenBudget } from "../agent/limits.ts";
import type { LoopEntry, Trajectory } from "../agent/trajectory.ts";
import type { Analyzer } from "../analyzers/analyzer.ts";
import type { Commit, Workspace } from "../git/workspace.ts";
import type { Masking } from "../llm/masked-request.ts";
import type { Models } from "../llm/model.ts";
import type { ChangedFile, DiffSource, GraphPort, JournalPort } from "../tools/tool.ts";
import type { AnchorFile } from "./find/anchor.ts";
import type { AnalyzerFindings, RuleMatches } from "./find/rule-matches.ts";
import type { ReviewedHunks } from "./followup/known-change.ts";
import type { ProgressEvent } from "./progress.ts";
import type { ReviewInput } from "./review-input.ts";

/** A commit before the change, with the paths that it changed. */
export interface EarlierCommit extends Commit {
  paths: readonly string[];
}

/** A place where something is called, as the graph understands it. */
export interface KnownCall {
  path: string;
  line: number;
  /** 0 to 1: how sure it is that this very thing is meant. */
  certainty: number;
}

/** What the repository's graph knows at the head. */
export interface OpenedGraph extends GraphPort {
  /** Calls under the names of a definition, surest first; those below a certainty are left out. */
  callers(of: { path: string; name: string; line: number }, least: number): readonly KnownCall[];
  /** Commits up to the merge base, newest first; none where history was cut off. */
  readonly commits: readonly EarlierCommit[];
}

/** The graph, opened when it is first asked for. */
export interface KnownGraph {
  /** Null where there is no index and none is made in a moment: then everything works without. Rejects only when aborted. */
  open(): Promise<OpenedGraph | null>;
}

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

/** What a review by a model has before its first loop. */
export interface ChangeUnderReview {
  files: readonly ChangedFile[];
  /** What the analyzers found, and in which files they did not finish. */
  candidates: AnalyzerFindings;
  /** The same findings as the review goes on with them. */
  matches: RuleMatches;
  /** Of the whole change; loops that read parts of it report here. */
  coverage: Coverage;
  /** What of it earlier reviews have read. */
  known: ReviewedHunks;
  anchorFile(path: string): Promise<AnchorFile | undefined>;
}

/** What all loops of one review share. */
export interface ReviewRun extends ChangeUnderReview {
  input: ReviewInput;
  deps: ReviewDependencies;
  models: Models;
  /** What is known of the repository; null where nothing is. */
  graph: OpenedGraph | null;
  commits: readonly Commit[];
  /** Nothing that was read is remembered: everything is new. */
  isFirst: boolean;
  /** Tokens and money of all loops together. */
  budget: TokenBudget;
  /** What an earlier run recorded of this loop. */
  replayOf(loop: string): readonly LoopEntry[];
  /** Milliseconds; at least one, so that a loop ends by itself. */
  timeLeft(): number;
}

/** Commits whose messages the first message holds; `get_commit_messages` has more. */
const COMMITS = 20;

export async function startRun(
  input: ReviewInput,
  models: Models,
  deps: ReviewDependencies,
  change: ChangeUnderReview,
): Promise<ReviewRun> {
  const recorded = Map.groupBy(deps.replay, ({ loop }) => loop);
  return {
    ...{ input, deps, models },
    ...change,
    graph: (await deps.graph?.open()) ?? null,
    commits: await deps.workspace.commits(COMMITS),
    isFirst: !input.history?.reviewed,
    budget: createTokenBudget(input.limits),
    replayOf: (loop) => recorded.get(loop) ?? [],
    timeLeft: () => Math.max(1, input.limits.milliseconds - (deps.now() - deps.startedAt)),
  };
}
