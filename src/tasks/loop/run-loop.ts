import type { Message, ModelFacts, ModelRole, Usage } from "../../agent/llm/model.ts";
import type { TokenBudget, UsageTotals } from "../../agent/loop/limits.ts";
import { type AgentInput, type AgentResult, runAgent } from "../../agent/loop/run-agent.ts";
import type { AgentEvent } from "../../agent/record/trajectory.ts";
import { graphTools, journalTools, readingTools } from "../../agent/tools/index.ts";
import type { AnyTool, GraphPort, JournalPort, ToolContext } from "../../agent/tools/tool.ts";
import { count } from "../../core/text/count.ts";
import { cutAtLine } from "../../core/text/cut.ts";
import { wrapUntrusted } from "../../core/text/fence.ts";
import { parseJson } from "../../core/text/json.ts";
import type { CoverageSink } from "../../repo/diff-pages.ts";
import type { StopReason, TotalUsage, WorkResult } from "../shapes/review-result.ts";
import type { ReportWatch } from "./report-watch.ts";
import type { LoopRun, ReviewDependencies } from "./review-run.ts";

/** The first messages of a loop. Sections that are empty are left out. */
export const openingMessages = (prompt: string, sections: readonly string[]): Message[] => [
  { role: "system", content: prompt },
  { role: "user", content: sections.filter((section) => section !== "").join("\n\n") },
];

interface LoopTask {
  /** Identifies the loop within the run; a resumed run finds its recorded turns by it. */
  loop: string;
  role: ModelRole;
  messages: readonly Message[];
  /** The tools through which the loop reports and finishes. */
  outputTools: readonly AnyTool[];
  /** Default: all; none if the messages hold everything that the loop needs. */
  readingTools?: readonly AnyTool[];
  ports: Omit<ToolContext, "targetBranch" | "workspace" | "alsoRoots" | "diffs" | "coverage" | "isPrivate">;
  coverage?: CoverageSink;
  /** A part of the run's budget. Default: all of it. */
  budget?: TokenBudget;
  turns: number;
  tokens: number;
  milliseconds: number;
  interject?: AgentInput["interject"];
  /** Takes each answer of the model, before it is acted on. */
  onAnswer?(turn: number, text: string): void;
  onCall?: ReportWatch["saw"];
}

/** What a loop is offered besides its own tools. */
export const furtherTools = (graph: GraphPort | null, journal?: JournalPort): readonly AnyTool[] => [
  ...(graph ? graphTools : []),
  ...(journal ? journalTools : []),
];

export async function runLoop(run: LoopRun, task: LoopTask): Promise<AgentResult> {
  const { input, deps } = run;
  const { progress, workspace, diffs, isPrivate } = deps;
  const { limits } = input;
  const result = await runAgent({
    loop: task.loop,
    model: deps.models[task.role],
    messages: task.messages,
    tools: [...(task.readingTools ?? readingTools), ...task.outputTools],
    outputTools: task.outputTools,
    context: {
      targetBranch: input.targetBranch,
      workspace,
      diffs,
      isPrivate,
      coverage: task.coverage ?? { serve() {} },
      ...task.ports,
    },
    limits: {
      turns: Math.min(task.turns, limits.turns),
      tokens: task.tokens,
      costUsd: limits.costUsd,
      milliseconds: Math.max(1, Math.floor(task.milliseconds)),
    },
    budget: task.budget ?? run.limits.budget,
    trajectory: deps.trajectory,
    replay: deps.replay.filter(({ loop }) => loop === task.loop),
    ...(deps.masking && { masking: deps.masking }),
    signal: deps.signal,
    now: deps.now,
    ...(task.interject ? { interject: task.interject } : {}),
    emit(event) {
      if (event.type === "turn_finished") {
        // A refusal answers for nothing that it was shown.
        if (event.model.finishReason !== "content_filter") task.onAnswer?.(event.turn, event.model.content);
        const { usage } = run.limits.budget;
        progress({ type: "turn", turn: usage.requests, total: usageOf(usage) });
      }
      if (event.type === "tool_finished") task.onCall?.(event);
      forward(event, progress);
    },
  });
  if (result.modelError) progress({ type: "model_failed", error: result.modelError.line });
  return result;
}

function forward(event: AgentEvent, progress: ReviewDependencies["progress"]): void {
  switch (event.type) {
    case "tool_started":
      progress({ type: "tool", tool: event.tool, target: target(event.arguments), status: "started" });
      break;
    case "tool_finished":
      progress({ type: "tool", tool: event.call.name, target: null, status: event.result.status });
      break;
    case "tool_crashed":
      progress({ type: "crash", where: event.tool, error: event.error });
  }
}

/** Only these four figures: the strict schema of the parent process rejects unknown keys. */
function usageOf({ promptTokens, cachedTokens, completionTokens, costUsd }: Usage): Usage {
  return { promptTokens, cachedTokens, completionTokens, costUsd };
}

const MAX_TARGET = 120;

function target(text: string): string | null {
  const { file_path, path, pattern, directory, command } = (parseJson(text) ?? {}) as Record<string, unknown>;
  const about = [file_path, path, pattern, directory, command].find((value) => typeof value === "string");
  return about?.slice(0, MAX_TARGET) ?? null;
}

export interface Window {
  diffBytes: number;
  contextBytes: number;
  /** Unread hunks in each later message. */
  portionBytes: number;
}

/** A token of code is about four characters; three leave a margin for text with shorter tokens. */
const BYTES_PER_TOKEN = 3;
const DIFF_SHARE = 0.4;
const CONTEXT_SHARE = 0.2;
const PORTION_SHARE = 0.2;

/** Models read longer diffs less carefully, even in a large window. */
const MAX_DIFF_BYTES = 160_000;

const SMALL_CHANGE_CONTEXT = 40_000;
const CONTEXT_A_DIFF_BYTE = 0.5;

const bytesOf = (tokens: number) => Math.floor(tokens * BYTES_PER_TOKEN);

export function unitBytes({ contextTokens }: Pick<ModelFacts, "contextTokens">): number {
  return Math.min(MAX_DIFF_BYTES, bytesOf(contextTokens * DIFF_SHARE));
}

/** The window of a loop over a diff of `diffBytes`; `isWhole` if that is the whole change. */
export function windowFor(model: ModelFacts, diffBytes: number, isWhole: boolean): Window {
  const proportional = diffBytes * CONTEXT_A_DIFF_BYTE;
  const wanted = isWhole ? Math.max(SMALL_CHANGE_CONTEXT, proportional) : proportional;
  return {
    diffBytes: unitBytes(model),
    contextBytes: Math.floor(Math.min(bytesOf(model.contextTokens * CONTEXT_SHARE), wanted)),
    portionBytes: bytesOf(model.contextTokens * PORTION_SHARE),
  };
}

export function roomFor(
  { contextTokens }: Pick<ModelFacts, "contextTokens">,
  bytes: number,
  share: number,
): number {
  return Math.min(bytes, bytesOf(contextTokens * share));
}

type Answers = Pick<UsageTotals, "requests" | "standIns">;

/** The names of the models that answered: `asked`, unless others answered every request. */
export function whoAnswered(asked: string, { requests, standIns = {} }: Answers): string {
  const { [asked]: _, ...others } = standIns;
  const names = Object.keys(others);
  return [...(countOf(others) < requests || names.length === 0 ? [asked] : []), ...names].join(" and ");
}

/** Tells readers that a model answered in the place of another; empty if none did. */
export function standInWarning({ requests, standIns = {} }: Answers): string[] {
  const count = countOf(standIns);
  if (count === 0) return [];
  const names = Object.keys(standIns).join(" and ");
  return [
    `${names} answered ${count} of ${requests} requests, because the model configured for them was overloaded or could not be reached, or its provider refused them`,
  ];
}

const countOf = (standIns: Readonly<Record<string, number>>) =>
  Object.values(standIns).reduce((sum, count) => sum + count, 0);

export const workResult = (
  { deps, limits: { budget } }: LoopRun,
  role: ModelRole,
  stopReason: StopReason,
): WorkResult => ({
  model: whoAnswered(deps.models[role].name, budget.usage),
  stop_reason: stopReason,
  usage: totalUsage(budget.usage),
});

export function totalUsage(usage: UsageTotals): TotalUsage {
  return {
    requests: usage.requests,
    prompt_tokens: usage.promptTokens,
    cached_tokens: usage.cachedTokens,
    completion_tokens: usage.completionTokens,
    cost_usd: usage.costUsd,
  };
}

const MAX_BODY_BYTES = 4_000;
/** Of the window: the most that a short section of the first message may take. */
const SHORT_SHARE = 0.05;

/** What its author says of a pull request; empty without one. */
export function pullSection(
  run: LoopRun,
  pull: { number: number; title: string; body: string } | null,
): string {
  if (pull === null) return "";
  const text = cut(run, `${pull.title}\n\n${pull.body}`, MAX_BODY_BYTES);
  return `# Pull request ${pull.number}\n${wrapUntrusted("title and description", text)}`;
}

/** A text cut for a short section of the first message. */
export const cut = ({ deps: { models } }: LoopRun, text: string, maxBytes: number): string =>
  cutText(text, roomFor(models.review, maxBytes, SHORT_SHARE));

/** Browsers send CRLF; otherwise each line would end with a visible carriage return. */
export const unixLines = (text: string): string => text.replaceAll("\r\n", "\n");

/** The first lines of a text with the line ends of Unix, and how many more it has. */
export function cutText(text: string, maxBytes: number): string {
  const { text: kept, omittedLines } = cutAtLine(unixLines(text), maxBytes);
  return omittedLines > 0 ? `${kept}\n[${count(omittedLines, "more line")}]` : kept;
}

/** Names changed files, one a line, as far as there is room. */
export function filesSection(title: string, lines: readonly string[], maxBytes: number): string {
  const { text, omittedLines } = cutAtLine(lines.join("\n"), maxBytes);
  const more = omittedLines > 0 ? `\n${count(omittedLines, "more file")}: see changed_files.` : "";
  return `# ${title}\n${wrapUntrusted("changed files", text)}${more}`;
}
