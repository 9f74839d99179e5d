import { z } from "zod";
import type { Message } from "../../../src/agent/llm/model.ts";
import { createTokenBudget } from "../../../src/agent/loop/limits.ts";
import { type AgentInput, type AgentResult, runAgent } from "../../../src/agent/loop/run-agent.ts";
import type { AgentEvent, LoopEntry } from "../../../src/agent/record/trajectory.ts";
import { type AnyTool, defineTool, type ToolContext, ToolError } from "../../../src/agent/tools/tool.ts";
import { complaintAbout, type WireMessage } from "../../support/openai-request-rules.ts";
import { type ScriptedModel, type ScriptedTurn, scriptedModel } from "../../support/scripted.ts";

export const task: Message[] = [
  { role: "system", content: "You review." },
  { role: "user", content: "Review this pull request." },
];

/** What the tools of a fixture did, in order. */
export interface Traces {
  executed: string[];
  /** Most reading calls that ran at the same moment. */
  together: number;
  reported: string[];
}

/** Small tools that behave like those of a review, and note what they are asked. */
export function fixtureTools(
  traces: Traces,
  textFor: (path: string) => string = (path) => `text of ${path}`,
): AnyTool[] {
  let running = 0;
  const look = defineTool({
    name: "look",
    title: "Look",
    description: "Looks at a file.",
    returns: "text",
    example: { path: "a" },
    kind: "read",
    input: z.strictObject({ path: z.string() }),
    async execute({ path }) {
      running += 1;
      traces.together = Math.max(traces.together, running);
      traces.executed.push(`look ${path}`);
      await new Promise((done) => setImmediate(done));
      running -= 1;
      if (path === "/etc/passwd") throw new ToolError("no such file '/etc/passwd' at head");
      if (path === "crash") throw new TypeError("a fault of ours");
      return { output: textFor(path) };
    },
    render: (output) => ({ text: output }),
  });
  const report = defineTool({
    name: "report",
    title: "Report",
    description: "Reports a finding.",
    returns: "id",
    example: { title: "t" },
    kind: "report",
    input: z.strictObject({ title: z.string() }),
    async execute({ title }) {
      traces.executed.push(`report ${title}`);
      if (title === "misquoted") throw new ToolError("a.ts does not hold the quote");
      traces.reported.push(title);
      return { output: `kept: ${title}` };
    },
    render: (output) => ({ text: output }),
  });
  const finish = defineTool({
    name: "finish",
    title: "Finish",
    description: "Ends the review.",
    returns: "true",
    example: {},
    kind: "report",
    finishes: true,
    input: z.strictObject({ ready: z.boolean().default(true) }),
    async execute({ ready }) {
      traces.executed.push("finish");
      if (!ready) throw new ToolError("2 hunks were never read");
      return { output: true, endsLoop: true };
    },
    render: () => ({ text: "finished" }),
  });
  return [look, report, finish];
}

export interface LoopRun extends Traces {
  result: AgentResult;
  events: AgentEvent[];
  entries: LoopEntry[];
  model: ScriptedModel;
  /** Texts of the tool messages, in order. */
  answers: string[];
}

type Script = Parameters<typeof scriptedModel>[0];
type Options = Partial<AgentInput> & { contextTokens?: number; textFor?: (path: string) => string };

/** Runs a loop over a script and checks what must hold of every run, whatever the script. */
export async function runLoop(script: Script, options: Options = {}): Promise<LoopRun> {
  const traces: Traces = { executed: [], together: 0, reported: [] };
  const { contextTokens, textFor, ...more } = options;
  const model = scriptedModel(script, contextTokens === undefined ? {} : { contextTokens });
  const events: AgentEvent[] = [];
  const entries: LoopEntry[] = [];
  const tools = fixtureTools(traces, textFor);
  const result = await runAgent({
    loop: "review",
    model,
    messages: task,
    tools,
    outputTools: tools,
    budget: createTokenBudget({ tokens: 10_000_000, costUsd: null }),
    replay: [],
    context: {} as ToolContext,
    limits: { turns: 50, tokens: 10_000_000, costUsd: null, milliseconds: 600_000 },
    emit: (event) => events.push(event),
    // A loop writes nothing but its own entries.
    trajectory: { append: async (entry) => void entries.push(structuredClone(entry) as LoopEntry) },
    signal: new AbortController().signal,
    now: () => 0,
    ...more,
  });
  for (const request of model.requests) assertLegal(request.messages);
  const answers = result.messages.flatMap((message) => (message.role === "tool" ? [message.content] : []));
  return { ...traces, result, events, entries, model, answers };
}

/** Throws when an endpoint would refuse the conversation. */
export function assertLegal(messages: readonly Message[]): void {
  const wire = messages.map((message): WireMessage => {
    if (message.role === "tool")
      return { role: "tool", tool_call_id: message.callId, content: message.content };
    if (message.role !== "assistant" || message.toolCalls.length === 0) {
      return { role: message.role, content: message.content };
    }
    const toolCalls = message.toolCalls.map(({ id }) => ({
      id,
      type: "function",
      function: { name: "any", arguments: "{}" },
    }));
    return { role: "assistant", content: message.content, tool_calls: toolCalls };
  });
  const complaint = complaintAbout({ model: "m", messages: wire });
  if (complaint) throw new Error(complaint);
}

/** A turn that calls tools: `["look", { path: "a" }]` each. */
export const calls = (...list: [name: string, args?: Record<string, unknown> | string][]): ScriptedTurn => ({
  toolCalls: list.map(([name, args]) => ({ name, arguments: args ?? {} })),
});
export const look = (...paths: string[]): ScriptedTurn =>
  calls(...paths.map((path): [string, Record<string, unknown>] => ["look", { path }]));
export const finish = calls(["finish"]);
