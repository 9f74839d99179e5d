import { describe, expect, it } from "vitest";
import type { Message, ModelRequest } from "../../src/llm/model.ts";
import { scriptedModel } from "../../src/llm/scripted.ts";
import { withSingleShot } from "../../src/llm/single-shot.ts";

const never = new AbortController().signal;
const names = { report: "report_finding", finish: "finish_review", verdict: "report_verdict" };
const define = (name: string) => ({
  name,
  description: `Does ${name}.`,
  parameters: { type: "object", properties: {} },
});
const task: Message[] = [
  { role: "system", content: "You review." },
  { role: "user", content: "Review this." },
];

async function ask(answer: string, offered: string[], messages = task) {
  const model = scriptedModel([{ content: answer }]);
  const request: ModelRequest = { messages, tools: offered.map(define), maxOutputTokens: 4_000 };
  const turn = await withSingleShot(model, names).respond(request, never);
  const calls = turn.toolCalls.map((call) => [call.name, JSON.parse(call.arguments)]);
  return { turn, calls, sent: model.requests[0]! };
}
const reviewing = ["read_file_part", "report_finding", "finish_review"];

describe("a model that answers once about what it is shown", () => {
  it("is told of the reporting tools as one answer, and of no other tool", async () => {
    const { sent } = await ask("{}", reviewing);
    expect(sent.tools).toEqual([]);
    expect(sent.messages[0]?.content).toMatch(
      /^You review\..*\{"findings": \[\.\.\.\], "rejected": \[.*\], "summary": "\.\.\."\}/s,
    );
    expect(sent.messages[0]?.content).not.toContain("read_file_part");
  });

  it("reports its findings and finishes", async () => {
    const { calls, turn } = await ask(
      'Done: {"findings": [{"line": 1}, {"line": 2}], "rejected": [{"candidate": "c1", "reason": "Fine."}], "summary": "Two."}',
      reviewing,
    );
    expect(calls).toEqual([
      ["report_finding", { line: 1 }],
      ["report_finding", { line: 2 }],
      ["finish_review", { summary: "Two.", rejected: [{ candidate: "c1", reason: "Fine." }] }],
    ]);
    expect(turn).toMatchObject({ content: "Done:", finishReason: "tool_calls" });
  });

  it("has the last of several answers count, and finishes without a summary too", async () => {
    const { calls } = await ask('{"findings": [{"line": 1}]}\nNo, rather:\n{"findings": []}', reviewing);
    expect(calls).toEqual([["finish_review", { summary: "The model gave no summary." }]]);
  });

  it("gives a verdict where one is asked for", async () => {
    const { calls, sent } = await ask('{"verdict": "refuted", "reason": "a guard"}', [
      "read_file_part",
      "report_verdict",
    ]);
    expect(calls).toEqual([["report_verdict", { verdict: "refuted", reason: "a guard" }]]);
    expect(sent.messages[0]?.content).toContain("Does report_verdict.");
  });

  it("may call tools in text where it is asked for something else", async () => {
    const { calls, sent } = await ask('{"calls": [{"name": "join_findings", "arguments": {"ids": []}}]}', [
      "join_findings",
    ]);
    expect(calls).toEqual([["join_findings", { ids: [] }]]);
    expect(sent.messages[0]?.content).toContain("## join_findings");
  });

  it("has said nothing that counts in prose or in an answer that was cut off", async () => {
    expect((await ask("All is well.", reviewing)).calls).toEqual([]);
    expect((await ask('{"findings": [{"line": 1}, {"title": "he said "x""}]}', reviewing)).calls).toEqual([]);
  });

  it("sees its earlier answer as it should give it, and what became of it", async () => {
    const call = (id: string, name: string, value: unknown) => ({
      id,
      name,
      arguments: JSON.stringify(value),
    });
    const { sent } = await ask("{}", reviewing, [
      ...task,
      {
        role: "assistant",
        content: "",
        toolCalls: [
          call("a", "report_finding", { line: 1 }),
          call("b", "finish_review", { summary: "One." }),
        ],
      },
      { role: "tool", callId: "a", content: "no such line" },
      { role: "tool", callId: "b", content: "not executed" },
    ]);
    expect(sent.messages.slice(2).map(({ content }) => content)).toEqual([
      '{"findings":[{"line":1}],"summary":"One."}',
      "To 1 of your answer (report_finding):\nno such line\n\nTo 2 of your answer (finish_review):\nnot executed",
    ]);
  });
});
