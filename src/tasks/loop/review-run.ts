import type { Masking } from "../../agent/llm/masked-request.ts";
import type { Models } from "../../agent/llm/model.ts";
import type { Coverage } from "../../agent/loop/coverage.ts";
import { createTokenBudget, type TokenBudget } from "../../agent/loop/limits.ts";
import type { LoopEntry, Trajectory } from "../../agent/record/trajectory.ts";
import type { GraphPort, JournalPort } from "../../agent/tools/tool.ts";
import type { ChangedFile, DiffSource } from "../../repo/diff-source.ts";
import type { Commit, Workspace } from "../../repo/git/workspace.ts";
import { type AnchorFile, createAnchorFiles } from "../anchor/anchor.ts";
import type { ReviewedHunks } from "../reviewed/known-change.ts";
import type { Analyzer } from "../rules/analyzers/analyzer.ts";
import { appliedRules, type ScopedRule } from "../rules/named-rules.ts";
import type { RuleMatcher } from "../rules/own/rule-run.ts";
import type { AnalyzerFindings, RuleMatches } from "../rules/rule-matches.ts";
import type { Limits, ReviewInput } from "../shapes/review-input.ts";
import type { ProgressEvent } from "../shapes/review-result.ts";

/** A commit before the change, with the paths it changed. */
export interface EarlierCommit extends Commit {
  paths: readonly string[];
}

export interface KnownCall {
  path: string;
  line: number;
  /** 0 to 1: how certain the graph is about the callee. */
  certainty: number;
}

/** The repository's graph at the head commit. */
export interface OpenedGraph extends GraphPort {
  /** Calls of a definition, the most certain first, without those below `least`. */
  callers(of: { path: string; name: string; line: number }, least: number): readonly KnownCall[];
  /** Commits up to the merge base, newest first; empty in a shallow clone. */
  readonly commits: readonly EarlierCommit[];
}

export interface KnownGraph {
  /** Null if there is no index and none can be built quickly; reviews work without one. Rejects only if aborted. */
  open(): Promise<OpenedGraph | null>;
}

/** The ports of a review. The review process provides them. */
export interface ReviewDependencies {
  workspace: Workspace;
  diffs: DiffSource;
  /** If null, only the analyzers review. */
  models: Models | null;
  trajectory: Trajectory;
  replay: readonly LoopEntry[];
  /** Resolves the masks of secrets in the model's tool calls; omitted if nothing was masked. */
  masking?: Masking;
  journal?: JournalPort;
  /** The repository's graph; omitted if there is none. */
  graph?: KnownGraph;
  /** For tests; default: all analyzers of this process. */
  analyzers?: readonly Analyzer[];
  /** Starts a process that matches the repository's own rules; omitted if they do not run. */
  startRules?: () => RuleMatcher;
  isPrivate(path: string): boolean;
  progress(event: ProgressEvent): void;
  signal: AbortSignal;
  /** Milliseconds. */
  now(): number;
  /** Start of the review by `now`; its time limit counts from here. */
  startedAt: number;
}

/** The ports of work that a model does. */
export interface WorkDependencies extends ReviewDependencies {
  models: Models;
}

export interface ChangeFiles {
  files: readonly ChangedFile[];
  /** Undefined if neither side has the file. */
  anchorFile(path: string): Promise<AnchorFile | undefined>;
}

/** A change of which earlier reviews may have read some hunks. */
export interface KnownChange extends ChangeFiles {
  known: ReviewedHunks;
}

/** A change after its analysis. */
export interface AnalyzedChange extends KnownChange {
  analysis: AnalyzerFindings;
  /** Counts the hunks of the whole change; loops that read parts of it report here. */
  coverage: Coverage;
}

/** A review, with or without a model. */
export interface AnalyzedRun {
  input: ReviewInput;
  deps: ReviewDependencies;
  change: AnalyzedChange;
}

/** What a model reviews. */
export interface ChangeUnderReview extends AnalyzedChange {
  /** The findings of the analysis, divided by whether a model judges them. */
  matches: RuleMatches;
  commits: readonly Commit[];
  /** The named rules of the configuration that apply to this change. */
  rules: readonly ScopedRule[];
  /** The repository's graph; null if there is none. */
  graph: OpenedGraph | null;
}

/** What all loops of a run may use together. */
export interface RunLimits {
  budget: TokenBudget;
  /** Milliseconds, at least 1, so that a loop stops through its own limit. */
  timeLeft(): number;
}

interface LoopInput {
  targetBranch: string;
  limits: Limits;
}

/** What every agent loop needs. */
export interface LoopRun {
  input: LoopInput;
  deps: WorkDependencies;
  limits: RunLimits;
}

/** Work on places of a change: an answer, a fix or a proof. */
export interface PlaceRun extends LoopRun {
  change: ChangeFiles;
}

/** A review by a model. */
export interface ReviewRun extends PlaceRun {
  input: ReviewInput;
  change: ChangeUnderReview;
}

/** Starts work on a change that is no review. All of its loops share one budget. */
export async function startPlaceRun<Input extends LoopInput>(
  input: Input,
  deps: WorkDependencies,
): Promise<PlaceRun & { input: Input }> {
  const files = await deps.diffs.files();
  const change = { files, anchorFile: createAnchorFiles(deps.workspace, deps.diffs) };
  return { input, deps, change, limits: limitsOf(input, deps) };
}

/** Commits whose messages the first message holds; `get_commit_messages` has more. */
const COMMITS = 20;

export async function startRun(
  input: ReviewInput,
  deps: WorkDependencies,
  change: AnalyzedChange & { matches: RuleMatches },
): Promise<ReviewRun> {
  const graph = (await deps.graph?.open()) ?? null;
  const commits = await deps.workspace.commits(COMMITS);
  const rules = appliedRules(input.config, change.files);
  return { input, deps, change: { ...change, graph, commits, rules }, limits: limitsOf(input, deps) };
}

const limitsOf = ({ limits }: LoopInput, deps: WorkDependencies): RunLimits => ({
  budget: createTokenBudget(limits),
  timeLeft: () => Math.max(1, limits.milliseconds - (deps.now() - deps.startedAt)),
});
