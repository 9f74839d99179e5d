import type { Account } from "../agent/account.ts";
import type { AgentEvent } from "../agent/events.ts";
import { type AgentInput, type AgentResult, runAgent } from "../agent/run-agent.ts";
import type { Message, ModelRole, Usage } from "../llm/model.ts";
import { readingTools } from "../tools/index.ts";
import type { AnyTool, CoverageSink, ToolContext } from "../tools/tool.ts";
import type { ReviewDependencies } from "./dependencies.ts";
import type { ReviewInput } from "./review-input.ts";
import type { ReviewRun } from "./review-run.ts";

/** What a loop needs of the run that it is part of. */
export interface LoopRun extends Pick<ReviewRun, "models" | "account" | "replayOf"> {
  input: Pick<ReviewInput, "limits" | "targetBranch">;
  deps: Omit<ReviewDependencies, "models" | "startedAt">;
}

/** The same for a loop about one place of the change, that has read which files there are. */
export interface PlaceRun extends LoopRun, Pick<ReviewRun, "files" | "anchorFile" | "timeLeft"> {}

export interface LoopTask {
  /** Names the loop within the run: its turns are found again by it. */
  loop: string;
  role: ModelRole;
  messages: readonly Message[];
  /** The tools through which it reports and ends. A model that can read between its turns has the reading tools as well. */
  outlets: readonly AnyTool[];
  /** True where all that it needs is in its messages: then there is nothing to read with. */
  isTold?: boolean;
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
  account: Account;
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
    tools: task.isTold ? task.outlets : [...readingTools, ...task.outlets],
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
    account: task.account,
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
        const { usage } = run.account;
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
