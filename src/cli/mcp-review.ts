import type { CallToolResult, McpServer, ServerContext } from "@modelcontextprotocol/server";
import { z } from "zod";
import { readLocalEnv } from "../config/env.ts";
import { AppError } from "../errors.ts";
import { startReviewProcess } from "../process/start-review-process.ts";
import { ReviewJson } from "../reporters/json.ts";
import { plainLine, WIDEST } from "../reporters/terminal-style.ts";
import type { ProgressEvent } from "../review/progress.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { parseArguments } from "../tools/run-tool.ts";
import { toMcpArguments, toMcpError, toMcpOutput, withoutHidden } from "../tools/to-mcp.ts";
import { ToolError } from "../tools/tool.ts";
import type { ConnectedModels } from "./create-model.ts";
import { loadSources } from "./load-sources.ts";
import { presentIndex } from "./local-index.ts";
import { advance, noProgress, statusLine } from "./progress.ts";
import { type CurrentRange, type RangeKeeper, UNCOMMITTED } from "./range-keeper.ts";
import { emptyNotice } from "./range-notices.ts";
import { renderResult } from "./render-result.ts";
import { reviewRange } from "./review-range.ts";
import type { RecordPlaces } from "./run-record.ts";

const ReviewArguments = z.strictObject({
  offline: z
    .boolean()
    .default(false)
    .describe("Ask no model: the built-in analyzers alone look at the change, in seconds and for nothing."),
});

export interface McpReviewOptions {
  keeper: RangeKeeper;
  /** The models of the environment; null where there are none. */
  connect(): Promise<ConnectedModels | null>;
  /** Where each review leaves its record. */
  records: RecordPlaces;
  /** Ends a review that runs. */
  signal: AbortSignal;
}

export type McpReview = (args: unknown, context: ServerContext) => Promise<CallToolResult>;

const description = [
  "Reviews the whole change, as a pull request with these commits would be reviewed, and answers with findings, each on a line of the",
  "change. Read-only; takes minutes and costs tokens where a model is configured. What is not committed is not reviewed. Mend what",
  "is right, commit, and review again.",
].join(" ");

export function registerReview(server: McpServer, review: McpReview): void {
  const config = {
    title: "Review the change",
    description,
    inputSchema: toMcpArguments(ReviewArguments),
    outputSchema: toMcpOutput(ReviewJson),
    // Where a model is configured, code is sent to it.
    annotations: { title: "Review the change", readOnlyHint: true, openWorldHint: true },
  };
  server.registerTool("review", config, review);
}

/**
 * The review as a tool: one at a time, as each may spend up to the budget of the repository. One that was called off still has
 * to end its processes; who asks again meanwhile waits for that.
 */
export function createMcpReview(options: McpReviewOptions): McpReview {
  let running: { asked: AbortSignal; ended: Promise<unknown> } | null = null;
  return async (args, context) => {
    while (running !== null) {
      if (!running.asked.aborted) return toMcpError("a review is running already; wait for its answer");
      await running.ended;
    }
    const answer = review(args, context, options).catch(toAnswer);
    running = { asked: context.mcpReq.signal, ended: answer.catch(() => {}) };
    try {
      return await answer;
    } finally {
      running = null;
    }
  };
}

/** The error as an answer of the tool. Throws what is neither a `ToolError` nor an `AppError`: that is a bug. */
function toAnswer(error: unknown): CallToolResult {
  if (error instanceof ToolError) return toMcpError(error.message);
  if (error instanceof AppError) return toMcpError(error.line);
  throw error;
}

async function review(
  args: unknown,
  context: ServerContext,
  { keeper, connect, records, signal: ending }: McpReviewOptions,
): Promise<CallToolResult> {
  const { offline } = ReviewArguments.parse(parseArguments({ name: "review", input: ReviewArguments }, args));
  const signal = AbortSignal.any([ending, context.mcpReq.signal]);
  // It loads its code while the range is opened.
  const graphIndex = presentIndex(records.repository, readLocalEnv());
  using started = startReviewProcess({ graphIndex });
  return await keeper.use(async (current) => {
    const connected = offline ? null : await connect();
    using progress = reportProgress(context);
    const { reviewed, modelFault } = await reviewRange({
      ...{ range: current.range, config: current.config, connected, graphIndex, records, signal, started },
      onProgress: progress.handle,
    });
    return await answer(await withWarnings(reviewed, modelFault, current), current);
  });
}

/** What whoever asked has to know beside the review itself. */
async function withWarnings(
  result: ReviewResult,
  modelFault: string | null,
  { range, dirty }: CurrentRange,
): Promise<ReviewResult> {
  const empty = emptyNotice(range);
  const warnings = [
    ...((await dirty) ? [UNCOMMITTED] : []),
    ...(empty === null ? [] : [empty]),
    ...(modelFault === null ? [] : [`The model failed: ${plainLine(modelFault)}`]),
    ...result.warnings,
  ];
  return { ...result, warnings };
}

/**
 * As text with the code around each finding, and as the document that `--format json` prints. Not as Markdown, in which names are
 * escaped (`find\_user`): agents take them over as they stand.
 */
async function answer(result: ReviewResult, { range }: CurrentRange): Promise<CallToolResult> {
  const found = result.findings.map(({ finding }) => finding);
  const source = await loadSources(range.workspace, found);
  const options = { range: range.names, source, colour: false, width: WIDEST };
  const document: unknown = JSON.parse(await renderResult("json", result, options));
  return {
    content: [{ type: "text", text: await renderResult("pretty", result, options) }],
    structuredContent: withoutHidden(document) as Record<string, unknown>,
  };
}

/** Between two notifications, in milliseconds. Clients give up on calls of which they hear nothing for a minute or less. */
const BEAT_MS = 5_000;

interface McpProgress extends Disposable {
  handle(event: ProgressEvent): void;
}

/** Tells the client where a call stands, if it asked for that: at each phase, and now and then in between. */
function reportProgress({ mcpReq }: ServerContext, now: () => number = Date.now): McpProgress {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return { handle: () => {}, [Symbol.dispose]: () => {} };
  const began = now();
  let state = noProgress;
  let sent = 0;
  const send = () => {
    sent += 1;
    const params = { progressToken, progress: sent, message: statusLine(state, now() - began) };
    // Whoever has gone away needs no progress; that they have ends the call by itself.
    mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
  };
  const timer = setInterval(send, BEAT_MS);
  return {
    handle(event) {
      state = advance(state, event);
      if (event.type === "phase") send();
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
