import { describe, expect, it } from "vitest";
import { type Message, type ModelRequest, withoutThinking } from "../../../src/agent/llm/model.ts";
import { scan, withTextProtocol } from "../../../src/agent/llm/text-fallback.ts";
import { type ScriptedTurn, scriptedModel } from "../../support/scripted.ts";

const never = new AbortController().signal;
const tools = ["diff_file", "report"].map((name) => ({
  name,
  description: `Does ${name}.`,
  parameters: {
    type: "object",
    properties: { file_path: { type: ["string", "null"] } },
    additionalProperties: false,
  },
}));
const task: Message[] = [
  { role: "system", content: "You review." },
  { role: "user", content: "Review this." },
];
const ask = (messages: Message[] = task): ModelRequest => ({ messages, tools, maxOutputTokens: 4_000 });

async function turnFor(answer: string | ScriptedTurn) {
  const model = scriptedModel([typeof answer === "string" ? { content: answer } : answer]);
  return withTextProtocol(model).respond(ask(), never);
}
const callsIn = async (answer: string | ScriptedTurn) =>
  (await turnFor(answer)).toolCalls.map((call) => [call.name, call.arguments]);

const look = ["diff_file", '{"file_path":"a.ts"}'];
const object = '{"name": "diff_file", "arguments": {"file_path": "a.ts"}}';

describe("a model in the text protocol", () => {
  it.each([
    ["as it was told", `{"calls": [${object}]}`],
    ["in a fence within words", `I look first.\n\`\`\`json\n{"calls": [${object}]}\n\`\`\`\nThen I go on.`],
    ["with trailing commas", `{"calls": [{"name": "diff_file", "arguments": {"file_path": "a.ts",},},]}`],
    ["as a single object", object],
    ["as a list", `[${object}]`],
    ["as one call where a list belongs", `{"calls": ${object}}`],
    ["with other words for it", '{"tool": "diff_file", "parameters": {"file_path": "a.ts"}}'],
    [
      "in the form of the API",
      '{"tool_calls": [{"type": "function", "function": {"name": "diff_file", "arguments": "{\\"file_path\\": \\"a.ts\\"}"}}]}',
    ],
    ["with the name as key", '{"diff_file": {"file_path": "a.ts"}}'],
    ["with its arguments beside the name", '{"tool": "diff_file", "file_path": "a.ts"}'],
    ["in a tag", `<tool_call>\n${object}\n</tool_call>`],
    ["after thinking aloud", `<think>First {"calls": []}, or rather not.</think>\n{"calls": [${object}]}`],
    ["after thinking in a tag that the template opened", `I could call {"x": 1}.\n</think>\n${object}`],
  ])("A model in the text protocol is understood %s", async (_, answer) =>
    expect(await callsIn(answer)).toEqual([look]),
  );

  it("A model in the text protocol may call several tools, in one object or in several", async () => {
    const both = [look, ["report", "{}"]];
    expect(await callsIn(`{"calls": [${object}, {"name": "report"}]}`)).toEqual(both);
    expect(await callsIn(`${object}\n\n{"name": "report", "arguments": {}}`)).toEqual(both);
  });

  it("The loop answers unknown tools and broken arguments in text", async () => {
    expect(await callsIn('{"calls": [{"name": "made_up", "arguments": {"a": 1}}]}')).toEqual([
      ["made_up", '{"a":1}'],
    ]);
    expect(await callsIn('{"calls": [{"name": "diff_file", "arguments": "a.ts"}]}')).toEqual([
      ["diff_file", "a.ts"],
    ]);
  });

  it.each([
    ["only prose", "The change is fine."],
    ["JSON about something else", 'The package says {"name": "hunkwise", "version": "1"}.'],
    ["nothing but an unfinished thought", `<think>I could call ${object}`],
    [
      "calls that cannot be read as a whole, of which no part is taken",
      `{"calls": [${object}, {"name": "report", "arguments": {"a": "he said "x""}}]}`,
    ],
  ])("A model in the text protocol has not called anything with %s", async (_, answer) => {
    expect(await turnFor(answer)).toMatchObject({ toolCalls: [], finishReason: "stop" });
  });

  it("A model in the text protocol has not called anything when its answer was cut off", async () => {
    const cut = {
      content: '{"calls": [{"name": "report", "arguments": {"line": 1',
      finishReason: "length",
    } as const;
    expect(await turnFor(cut)).toMatchObject({ toolCalls: [], finishReason: "length" });
    expect(await callsIn(cut.content)).toEqual([["report", '{"line":1}']]);
  });

  it("A refused answer in the text protocol holds no call", async () => {
    const refused = { content: object, finishReason: "content_filter" } as const;
    expect(await turnFor(refused)).toMatchObject({ toolCalls: [], finishReason: "content_filter" });
  });

  it("A model in the text protocol keeps what it says beside its calls", async () => {
    expect(await turnFor(`I look first.\n${object}`)).toMatchObject({
      content: "I look first.",
      finishReason: "tool_calls",
    });
  });

  it("A model in the text protocol does not end its thinking at a tag within its JSON", async () => {
    const answer = '{"calls": [{"name": "report", "arguments": {"quote": "</think>"}}]}';
    expect(await callsIn(answer)).toEqual([["report", '{"quote":"</think>"}']]);
  });
});

describe("the requests of the text protocol", () => {
  const said: Message[] = [
    {
      role: "assistant",
      content: "I look.",
      toolCalls: [call("a", "diff_file", '{"file_path":"a.ts"}'), call("b", "report", "{broken")],
    },
    { role: "tool", callId: "a", content: "the diff" },
    { role: "tool", callId: "b", content: "not valid JSON" },
    { role: "user", content: "Come to an end." },
  ];
  function call(id: string, name: string, json: string) {
    return { id, name, arguments: json, extras: { extra_content: "signature" } };
  }

  async function sent(messages: Message[]) {
    const model = scriptedModel([{ content: "ok" }]);
    await withTextProtocol(model).respond(ask(messages), never);
    return model.requests[0]!;
  }

  it("Requests in the text protocol describe the tools in the system message", async () => {
    const request = await sent(task);
    expect(request.tools).toEqual([]);
    const [system, user] = request.messages;
    expect(system?.content).toMatch(
      /^You review\.\n\n# Tools\n\nYou use tools by answering with one JSON object/,
    );
    expect(system?.content).toContain(
      '## diff_file\nDoes diff_file.\nArguments: {"type":"object","properties":{"file_path":{"type":"string"}}}',
    );
    expect(user).toEqual(task[1]);
  });

  it("Requests in the text protocol tell of calls and answers in turns that alternate", async () => {
    expect((await sent([...task, ...said])).messages.slice(2)).toEqual([
      {
        role: "assistant",
        content:
          'I look.\n\n{"calls":[{"name":"diff_file","arguments":{"file_path":"a.ts"}},{"name":"report","arguments":"{broken"}]}',
        toolCalls: [],
      },
      {
        role: "user",
        content:
          "Answer to call 1, diff_file:\nthe diff\n\nAnswer to call 2, report:\nnot valid JSON\n\nCome to an end.",
      },
    ]);
  });

  it("Requests in the text protocol only grow", async () => {
    const more: Message[] = [
      { role: "assistant", content: "", toolCalls: [call("c", "report", "{}")] },
      { role: "tool", callId: "c", content: "kept" },
    ];
    const before = await sent([...task, ...said]);
    const after = await sent([...task, ...said, ...more]);
    expect(after.messages.slice(0, before.messages.length)).toEqual(before.messages);
  });

  it("Requests in the text protocol go through as they are where there are no tools", async () => {
    const model = scriptedModel([{ content: object }]);
    const turn = await withTextProtocol(model).respond({ ...ask(), tools: [] }, never);
    expect(model.requests[0]?.messages).toEqual(task);
    expect(turn).toMatchObject({ content: object, toolCalls: [] });
  });
});

describe("scan", () => {
  const jsonIn = (text: string) => {
    const { found, prose } = scan(text, {});
    return { values: found.map(({ value }) => value), prose };
  };

  it("JSON in a model's answer is found in order, with what stands around it", () => {
    expect(jsonIn('First {"a": 1}, then [{"b": 2}] and {"c": {"d": 3}}.')).toEqual({
      values: [{ a: 1 }, [{ b: 2 }], { c: { d: 3 } }],
      prose: "First , then  and .",
    });
  });

  it("JSON in a model's answer is not what only looks like it", () => {
    const code = "if (x) { return list[0]; } and {x: y}";
    expect(jsonIn(code)).toEqual({ values: [], prose: code });
  });

  it.each([
    ["opening brackets alone", "{".repeat(100_000)],
    ["lists of nothing", "[ {".repeat(50_000)],
    ["strings without end", '{"a": "'.repeat(20_000)],
    ["thoughts without end", "<think>".repeat(20_000)],
    ["many objects", '{"a": 1} '.repeat(20_000)],
  ])("JSON in a model's answer is looked for no longer than it is worth in %s", (_, text) => {
    expect(jsonIn(withoutThinking(text)).values.length).toBeLessThanOrEqual(100);
  });
});
