import type { TokenBudget, UsageTotals } from "../agent/limits.ts";
import { type AgentInput, type AgentResult, runAgent } from "../agent/run-agent.ts";
import type { AgentEvent } from "../agent/trajectory.ts";
import type { Message, ModelFacts, ModelRole, Usage } from "../llm/model.ts";
import { readingTools } from "../tools/index.ts";
import type { AnyTool, CoverageSink, ToolContext } from "../tools/tool.ts";
import type { ReviewInput } from "./review-input.ts";
import type { TotalUsage } from "./review-result.ts";
import type { ReviewDependencies, ReviewRun } from "./review-run.ts";

/** What a loop needs of the run that it is part of. */
export interface LoopRun extends Pick<ReviewRun, "models" | "budget" | "replayOf"> {
  input: Pick<ReviewInput, "limits" | "targetBranch">;
  deps: Omit<ReviewDependencies, "models" | "startedAt">;
}

/** The same for a loop about one place of the change, that has read which files there are. */
export interface PlaceRun extends LoopRun, Pick<ReviewRun, "files" | "anchorFile" | "timeLeft"> {}

interface LoopTask {
  /** Names the loop within the run: its turns are found again by it. */
  loop: string;
  role: ModelRole;
  messages: readonly Message[];
  /** The tools through which it reports and ends. A model that can read between its turns has the reading tools as well. */
  outputTools: readonly AnyTool[];
  /** True where all that it needs is in its messages: then there is nothing to read with. */
  hasNoReadingTools?: boolean;
  /** The ports through which this loop reports. */
  ports: Pick<
    ToolContext,
    | "report"
    | "judge"
    | "join"
    | "settle"
    | "compare"
    | "converse"
    | "journal"
    | "edit"
    | "fix"
    | "commands"
    | "graph"
  >;
  /** Told what the model is shown of the change. */
  coverage: CoverageSink;
  /** Pays for it; what all loops share, or a part of that. */
  budget: TokenBudget;
  turns: number;
  tokens: number;
  /** Wall time that this loop may take. */
  milliseconds: number;
  interject?: AgentInput["interject"];
  /** Called when the model has answered, before its answer is acted on. */
  answered?(): void;
}

/** One loop of a review, with what all of them share. */
export async function runLoop(run: LoopRun, task: LoopTask): Promise<AgentResult> {
  const { input, deps, models, replayOf } = run;
  const { progress, workspace, diffs, isPrivate } = deps;
  const { limits } = input;
  const model = models[task.role];
  const result = await runAgent({
    loop: task.loop,
    model,
    messages: task.messages,
    tools: task.hasNoReadingTools ? task.outputTools : [...readingTools, ...task.outputTools],
    context: {
      targetBranch: input.targetBranch,
      ...{ workspace, diffs, isPrivate },
      coverage: task.coverage,
      ...task.ports,
    },
    limits: {
      turns: task.turns,
      tokens: task.tokens,
      costUsd: limits.costUsd,
      milliseconds: Math.max(1, Math.floor(task.milliseconds)),
    },
    budget: task.budget,
    trajectory: deps.trajectory,
    replay: replayOf(task.loop),
    isPlayback: deps.isPlayback,
    ...(deps.masking && { masking: deps.masking }),
    signal: deps.signal,
    now: deps.now,
    ...(task.interject ? { interject: task.interject } : {}),
    emit(event) {
      if (event.type === "turn_finished") {
        task.answered?.();
        const { usage } = run.budget;
        progress({ type: "turn", turn: usage.requests, total: usageOf(usage) });
      }
      forward(event, progress);
    },
  });
  if (result.modelError) progress({ type: "model_failed", error: result.modelError.line });
  return result;
}

function forward(event: AgentEvent, progress: ReviewRun["deps"]["progress"]): void {
  switch (event.type) {
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

/** What a call is about, for people who watch: the path, pattern or command among its arguments. */
function target(text: string): string | null {
  try {
    const { file_path, path, pattern, directory, command } = JSON.parse(text);
    const about = [file_path, path, pattern, directory, command].find((value) => typeof value === "string");
    return about === undefined ? null : about.slice(0, MAX_TARGET);
  } catch {
    return null;
  }
}

/** How a model's context window is divided for one loop, in bytes. */
export interface Window {
  /** Of the diff in the first message. */
  diffBytes: number;
  /** Of the code around it in the first message. */
  contextBytes: number;
  /** Of what each later message may show of what was not read. */
  portionBytes: number;
}

/** A token of code is about four characters; three leave room for text that is dense in tokens. */
const BYTES_PER_TOKEN = 3;
/** Parts of the window; the rest is for instructions, for reading around and for answers. */
const DIFF_SHARE = 0.4;
const CONTEXT_SHARE = 0.2;
const PORTION_SHARE = 0.2;

/** A longer diff is read less carefully, however large the window is. */
const MAX_DIFF_BYTES = 160_000;

/** A small change may bring this much of the code around it, whatever its own size. */
const SMALL_CHANGE_CONTEXT = 40_000;
/** Context for each byte of diff in a large one: what it costs stays in proportion. */
const CONTEXT_A_DIFF_BYTE = 0.5;

const bytesOf = (tokens: number) => Math.floor(tokens * BYTES_PER_TOKEN);

/** The most that the diff of one unit may have. */
export function unitBytes({ contextTokens }: Pick<ModelFacts, "contextTokens">): number {
  return Math.min(MAX_DIFF_BYTES, bytesOf(contextTokens * DIFF_SHARE));
}

/** The window of a loop over a diff of so many bytes; `isWhole` where that is the whole change. */
export function windowFor(model: ModelFacts, diffBytes: number, isWhole: boolean): Window {
  const proportional = diffBytes * CONTEXT_A_DIFF_BYTE;
  const wanted = isWhole ? Math.max(SMALL_CHANGE_CONTEXT, proportional) : proportional;
  return {
    diffBytes: unitBytes(model),
    contextBytes: Math.floor(Math.min(bytesOf(model.contextTokens * CONTEXT_SHARE), wanted)),
    portionBytes: bytesOf(model.contextTokens * PORTION_SHARE),
  };
}

/** So many bytes of a text as a window has room for, where `share` of it is this text's. */
export function roomFor(
  { contextTokens }: Pick<ModelFacts, "contextTokens">,
  bytes: number,
  share: number,
): number {
  return Math.min(bytes, bytesOf(contextTokens * share));
}

type Answers = Pick<UsageTotals, "requests" | "standIns">;

/** The models that answered, as reports name them: `asked` itself, unless another one stood in every time. */
export function whoAnswered(asked: string, { requests, standIns = {} }: Answers): string {
  const others = Object.keys(standIns).filter((name) => name !== asked);
  return [...(countOf(standIns) < requests || others.length === 0 ? [asked] : []), ...others].join(" and ");
}

/** What readers of a review should know of whose it is; nothing where the models that are configured answered. */
export function standInWarning({ requests, standIns = {} }: Answers): string[] {
  const count = countOf(standIns);
  if (count === 0) return [];
  const names = Object.keys(standIns).join(" and ");
  return [
    `${names} answered ${count} of ${requests} requests, because the model that is configured for them was overloaded or could not be reached`,
  ];
}

const countOf = (standIns: Readonly<Record<string, number>>) =>
  Object.values(standIns).reduce((sum, count) => sum + count, 0);

/** What all loops of a run have used, as it leaves the process. */
export function totalUsage(usage: UsageTotals): TotalUsage {
  return {
    requests: usage.requests,
    prompt_tokens: usage.promptTokens,
    cached_tokens: usage.cachedTokens,
    completion_tokens: usage.completionTokens,
    cost_usd: usage.costUsd,
  };
}
