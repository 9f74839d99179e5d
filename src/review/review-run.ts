import { type Account, createAccount } from "../agent/account.ts";
import type { Coverage } from "../agent/coverage.ts";
import type { LoopEntry } from "../agent/trajectory.ts";
import type { Commit } from "../git/workspace.ts";
import type { Models } from "../llm/model.ts";
import type { ChangedFile } from "../tools/tool.ts";
import type { AnchorFile } from "./anchor.ts";
import type { Candidates, RuleMatches } from "./candidates.ts";
import type { ReviewDependencies } from "./dependencies.ts";
import type { KnownChange } from "./known/known-change.ts";
import type { OpenedGraph } from "./known-graph.ts";
import type { ReviewInput } from "./review-input.ts";

/** What a review by a model has before its first loop. */
export interface ReadChange {
  files: readonly ChangedFile[];
  /** What the analyzers found, and in which files they did not finish. */
  candidates: Candidates;
  /** The same findings as the review goes on with them. */
  matches: RuleMatches;
  /** Of the whole change; loops that read parts of it report here. */
  coverage: Coverage;
  /** What of it earlier reviews have read. */
  known: KnownChange;
  anchorFile(path: string): Promise<AnchorFile | undefined>;
}

/** What all loops of one review share. */
export interface ReviewRun extends ReadChange {
  input: ReviewInput;
  deps: ReviewDependencies;
  models: Models;
  /** What is known of the repository; null where nothing is. */
  graph: OpenedGraph | null;
  commits: readonly Commit[];
  /** Nothing that was read is remembered: everything is new. */
  isFirst: boolean;
  /** Tokens and money of all loops together. */
  account: Account;
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
  change: ReadChange,
): Promise<ReviewRun> {
  const recorded = Map.groupBy(deps.replay, ({ loop }) => loop);
  return {
    ...{ input, deps, models },
    ...change,
    graph: (await deps.graph?.open()) ?? null,
    commits: await deps.workspace.commits(COMMITS),
    isFirst: !input.history?.reviewed,
    account: createAccount(input.limits),
    replayOf: (loop) => recorded.get(loop) ?? [],
    timeLeft: () => Math.max(1, input.limits.milliseconds - (deps.now() - deps.startedAt)),
  };
}
