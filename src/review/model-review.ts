import type { Coverage as CoverageCounter } from "../agent/coverage.ts";
import type { AgentEvent, StopReason } from "../agent/events.ts";
import { type AgentResult, runAgent } from "../agent/run-agent.ts";
import type { Candidate } from "../analyzers/analyzer.ts";
import type { Finding } from "../finding.ts";
import type { Model, Usage } from "../llm/model.ts";
import { readingTools, reportingTools } from "../tools/index.ts";
import type { ChangedFile, ToolContext } from "../tools/tool.ts";
import type { AnchorFile } from "./anchor.ts";
import { firstMessages } from "./context.ts";
import { createCoverageGate } from "./coverage-gate.ts";
import type { ReviewDependencies } from "./dependencies.ts";
import { createFindingCollector } from "./finding-collector.ts";
import { publicFault } from "./model-fault.ts";
import type { ReviewInput } from "./review-input.ts";
import type { TotalUsage } from "./review-result.ts";

/** What a review found, whoever made it, before findings are placed. */
export interface ModelReview {
  findings: readonly Finding[];
  summary: string;
  usage: TotalUsage;
  stopReason: StopReason;
  warnings: string[];
}

/** Commits whose messages the first message holds; `get_commit_messages` has more. */
const COMMITS = 20;
/** Part of the context window that the diff may take in the first message; the rest is for reading around it. */
const DIFF_SHARE = 0.4;
/** Part of the window that each later message may show of what was not read. */
const PORTION_SHARE = 0.2;
/** A token of code is about four characters; three leave room for text that is dense in tokens. */
const BYTES_PER_TOKEN = 3;

const tools = [...readingTools, ...reportingTools];

/** How much of the diff the first message may hold. */
export const firstDiffBytes = (contextTokens: number) => bytesOf(contextTokens * DIFF_SHARE);

const bytesOf = (tokens: number) => Math.floor(tokens * BYTES_PER_TOKEN);

/** Lets the model review the change in one loop. Its findings stand whatever stopped the loop. */
export async function reviewWithModel(
  input: ReviewInput,
  model: Model,
  deps: ReviewDependencies & {
    files: readonly ChangedFile[];
    candidates: readonly Candidate[];
    coverage: CoverageCounter;
    anchorFile(path: string): Promise<AnchorFile | undefined>;
  },
): Promise<ModelReview> {
  const { workspace, diffs, coverage, progress, isPrivate } = deps;
  const gate = createCoverageGate({
    ...{ files: deps.files, diffs, coverage },
    portionBytes: bytesOf(model.contextTokens * PORTION_SHARE),
  });
  const collector = createFindingCollector({
    anchorFile: deps.anchorFile,
    refuseToFinish: gate.refuseToFinish,
    minimumSeverity: input.config.minimum_severity,
    isPrivate,
    onFinding: ({ severity, path, line, title }) =>
      progress({ type: "finding", severity, path, line, title }),
  });
  const context: ToolContext = {
    targetBranch: input.targetBranch,
    workspace,
    diffs,
    coverage,
    report: collector,
    isPrivate,
  };
  const messages = await firstMessages({
    input,
    shas: workspace.shas,
    files: deps.files,
    commits: await workspace.commits(COMMITS),
    candidates: deps.candidates,
    diffs,
    coverage,
    diffBytes: firstDiffBytes(model.contextTokens),
  });
  const tell = () => {
    const { served, total } = coverage.counts();
    progress({ type: "coverage", served, total });
  };
  tell();
  progress({ type: "phase", phase: "review" });
  const result = await runAgent({
    loop: "review",
    model,
    messages,
    tools,
    context,
    limits: { ...input.limits, milliseconds: timeLeft(input, deps) },
    trajectory: deps.trajectory,
    replay: deps.replay,
    signal: deps.signal,
    now: deps.now,
    interject: gate.interject,
    emit(event) {
      if (event.type === "turn_finished") coverage.delivered();
      forward(event, progress);
      if (event.type === "turn_finished") tell();
    },
  });
  if (result.modelError) progress({ type: "model_failed", error: result.modelError.line });
  return {
    findings: collector.findings(),
    summary: collector.summary() ?? unfinished(result),
    usage: totals(result),
    stopReason: result.stopReason,
    warnings: warningsOf(result, input),
  };
}

/** Reading the change has used up some of the time; a moment stays for the loop in any case, so that it ends by itself. */
function timeLeft({ limits }: ReviewInput, { now, startedAt }: ReviewDependencies): number {
  return Math.max(1, limits.milliseconds - (now() - startedAt));
}

function warningsOf({ modelError, usage }: AgentResult, { limits }: ReviewInput): string[] {
  const unpriced = limits.costUsd !== null && usage.requests > 0 && usage.costUsd === null;
  return [
    modelError ? publicFault(modelError) : "",
    unpriced ? "The cost limit could not be kept: the price of the model is not known." : "",
  ].filter((warning) => warning !== "");
}

const whyUnfinished: Partial<Record<StopReason, string>> = {
  no_tool_calls: "the model stopped without finishing it",
  repeated_calls: "the model made the same calls over and over",
  turn_limit: "the limit of model turns was reached",
  token_limit: "the limit of tokens was reached",
  cost_limit: "the limit of costs was reached",
  time_limit: "the time limit was reached",
  aborted: "it was aborted",
  model_error: "the model failed",
};

function unfinished({ stopReason }: AgentResult): string {
  return `The review was not finished: ${whyUnfinished[stopReason] ?? stopReason}. What was found until then is reported.`;
}

function totals({ usage }: AgentResult): TotalUsage {
  return {
    requests: usage.requests,
    prompt_tokens: usage.promptTokens,
    cached_tokens: usage.cachedTokens,
    completion_tokens: usage.completionTokens,
    cost_usd: usage.costUsd,
  };
}

function forward(event: AgentEvent, progress: ReviewDependencies["progress"]): void {
  switch (event.type) {
    case "turn_finished":
      progress({ type: "turn", turn: event.turn, total: usageOf(event.total) });
      break;
    case "tool_started":
      progress({ type: "tool", tool: event.tool, target: target(event.arguments), status: "started" });
      break;
    case "tool_finished":
      progress({ type: "tool", tool: event.tool, target: null, status: event.result.status });
      break;
    case "tool_crashed":
      progress({ type: "crash", where: event.tool, error: event.error });
  }
}

/** The four figures of a usage, whatever else came with them: the far side refuses what it does not know. */
function usageOf({ promptTokens, cachedTokens, completionTokens, costUsd }: Usage): Usage {
  return { promptTokens, cachedTokens, completionTokens, costUsd };
}

const MAX_TARGET = 120;

/** What a call is about, for people who watch: the path or pattern among its arguments. */
function target(text: string): string | null {
  try {
    const { file_path, path, pattern, directory } = JSON.parse(text);
    const about = [file_path, path, pattern, directory].find((value) => typeof value === "string");
    return about === undefined ? null : about.slice(0, MAX_TARGET);
  } catch {
    return null;
  }
}
