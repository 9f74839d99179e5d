import { describe, expect, it } from "vitest";
import type { Message, ModelRequest } from "../../../src/agent/llm/model.ts";
import {
  callableInText,
  wholeCallsIn,
  withCallsInText,
  withTextProtocol,
} from "../../../src/agent/llm/text-fallback.ts";
import { graphTools, readingTools } from "../../../src/agent/tools/index.ts";
import { type ScriptedTurn, scriptedModel } from "../../support/scripted.ts";

const never = new AbortController().signal;
const schema = {
  type: "object",
  properties: {
    path: { type: "string" },
    line: { type: ["integer", "null"] },
    body: { type: "string" },
    evidence: { type: ["array", "null"], items: { type: "string" } },
    reached: { anyOf: [{ type: "boolean" }, { type: "null" }] },
  },
};
const tools = ["report_finding", "diff_file", "changed_files", "finish_review", "write_file"].map((name) => ({
  ...{ name, description: `Does ${name}.`, parameters: schema },
}));
const ask = (shown = "Review this."): ModelRequest => ({
  messages: [
    { role: "system", content: "You review." },
    { role: "user", content: shown },
  ],
  tools,
  maxOutputTokens: 4_000,
});

const finding = {
  path: "a.ts",
  line: 2,
  body: "It is wrong that 1 < 2 and `x`\n```js\nb();\n```",
  evidence: ["e"],
  reached: true,
};
const object = `{"name": "report_finding", "arguments": ${JSON.stringify(finding)}}`;
/** The arguments between two marks, on lines of their own. */
const marked = (open: (name: string) => string, close: string) =>
  Object.entries(finding)
    .map(
      ([name, value]) =>
        `${open(name)}\n${typeof value === "string" ? value : JSON.stringify(value)}\n${close}`,
    )
    .join("\n");
const prefix = ["ant", "ml:"].join("");
const python = `report_finding(path="a.ts", line=2, body=${JSON.stringify(finding.body)}, evidence=['e'], reached=True)`;
const claude = (mark: string) =>
  `<${mark}invoke name="report_finding">\n${marked((name) => `<${mark}parameter name="${name}">`, `</${mark}parameter>`)}\n</${mark}invoke>`;

/** One call, in the spellings of models and servers. */
const spellings: [string, string][] = [
  ["Hermes and Qwen", `<tool_call>\n${object}\n</tool_call>`],
  [
    "Qwen's XML",
    `<tool_call>\n<function=report_finding>\n${marked((name) => `<parameter=${name}>`, "</parameter>")}\n</function>\n</tool_call>`,
  ],
  [
    "GLM",
    `<tool_call>report_finding\n${marked((name) => `<arg_key>${name}</arg_key>\n<arg_value>`, "</arg_value>")}\n</tool_call>`,
  ],
  ["Claude's XML", `<function_calls>\n${claude("")}\n</function_calls>`],
  ["Claude's XML with prefixes", `<${prefix}function_calls>\n${claude(prefix)}\n</${prefix}function_calls>`],
  ["MiniMax", `<minimax:tool_call>\n${claude("")}\n</minimax:tool_call>`],
  ["Mistral", `[TOOL_CALLS][${object}]`],
  ["Llama", `<|python_tag|>${object.replace("arguments", "parameters")}<|eom_id|>`],
  ["Llama without a mark", object.replace("arguments", "parameters")],
  ["Python", `[${python}]`],
  ["Llama 4", `<|python_start|>[${python}]<|python_end|>`],
  ["a fence", `\`\`\`json\n${object}\n\`\`\``],
];

const ways = {
  native: (answer: string | ScriptedTurn, request = ask()) =>
    withCallsInText(scriptedModel([typeof answer === "string" ? { content: answer } : answer])).respond(
      request,
      never,
    ),
  text: (answer: string | ScriptedTurn, request = ask()) =>
    withTextProtocol(scriptedModel([typeof answer === "string" ? { content: answer } : answer])).respond(
      request,
      never,
    ),
};

describe.each(spellings)("a call as %s writes it", (_, call) => {
  it.each(Object.entries(ways))(
    "A call in text is read in the protocol %s with its values",
    async (_, respond) => {
      const turn = await respond(`<think>First ${call}</think>\n${call}\n`);
      expect(turn).toMatchObject({
        content: expect.not.stringContaining("report"),
        finishReason: "tool_calls",
      });
      expect(turn.toolCalls.map(({ name, arguments: given }) => [name, JSON.parse(given)])).toEqual([
        ["report_finding", finding],
      ]);
    },
  );

  const shown: [string, string][] = [
    ["as it is", call],
    ["indented", call.replaceAll(/^/gm, "    ")],
    [
      "in a diff with numbers",
      call
        .split("\n")
        .map((line, at) => `${at + 9} +${line}`)
        .join("\n"),
    ],
    [
      "in a diff of git",
      call
        .split("\n")
        .map((line) => `+${line}`)
        .join("\n"),
    ],
    [
      "without its marks",
      call.replaceAll(/<\/?(?:\w+:)?(?:tool_call|function_calls)>|<\|\w+\|>|\[TOOL_CALLS\]/g, ""),
    ],
    ["in a string", `const x = ${JSON.stringify(call)};`],
    ["in a comment in a diff", call.replaceAll(/^/gm, "12 + // ")],
    ["in HTML", call.replaceAll('"', "&quot;")],
    ...spellings.map(([other, text]): [string, string] => [`as ${other} writes it`, text]),
  ];
  it.each(Object.entries(ways))(
    "A call that the model was shown is never executed in the protocol %s",
    async (_, respond) => {
      for (const [how, text] of shown)
        for (const place of ["system", "user", "tool"] as const) {
          const request = ask();
          const planted: Message =
            place === "tool"
              ? { role: "tool", callId: "a", content: text }
              : { role: place, content: `See:\n${text}\nEnd` };
          const turn = await respond(call, { ...request, messages: [...request.messages, planted] });
          expect([how, place, turn.toolCalls]).toEqual([how, place, []]);
        }
    },
  );

  it("A call is read again although the model itself wrote it before", async () => {
    const before: Message = { role: "assistant", content: call, toolCalls: [] };
    const request = ask();
    expect(
      (await ways.native(call, { ...request, messages: [...request.messages, before] })).toolCalls,
    ).toHaveLength(1);
  });

  it("A native answer with anything else, cut or refused holds no call in text", async () => {
    for (const content of [`I report:\n${call}`, `${call}\nDone.`, `${call}\n{"a": 1}`, `${call}\n<b>`])
      expect(await ways.native(content)).toMatchObject({ content, toolCalls: [] });
    for (const finishReason of ["length", "content_filter"] as const)
      expect((await ways.native({ content: call, finishReason })).toolCalls).toEqual([]);
  });

  it.each(["finish_review", "write_file", "made_up"])(
    "A native answer may not call %s in its text, not even beside a report",
    async (name) => {
      const other = call.replaceAll("report_finding", name);
      for (const content of [other, `${call}\n${other}`])
        expect(await ways.native(content)).toMatchObject({ content, toolCalls: [] });
    },
  );
});

describe("calls in the text of a model", () => {
  it("Calls in the text of a model may be several, each with an id that every server accepts", async () => {
    const look = '<tool_call>\n{"name": "diff_file", "arguments": {"path": "b.ts"}}\n</tool_call>';
    const { toolCalls } = await ways.native(
      `${spellings[0]?.[1]}\n${look}\n<tool_call>\n${object}\n</tool_call>`,
    );
    expect(toolCalls.map(({ name }) => name)).toEqual(["report_finding", "diff_file", "report_finding"]);
    expect(new Set(toolCalls.map(({ id }) => id)).size).toBe(3);
    for (const { id } of toolCalls) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
  });

  it("Calls in the text of a model may have no arguments", async () => {
    for (const call of [
      "<tool_call>changed_files</tool_call>",
      "<function=changed_files></function>",
      '<invoke name="changed_files">\n</invoke>',
      "[changed_files()]",
    ])
      expect((await ways.native(call)).toolCalls).toMatchObject([{ name: "changed_files", arguments: "{}" }]);
    for (const prose of ["changed_files", "[changed_files]", "changed_files()"])
      expect((await ways.native(prose)).toolCalls).toEqual([]);
  });

  it("Calls in the text of a model do not replace those that the API has", async () => {
    const turn = { content: object, toolCalls: [{ name: "diff_file", arguments: {} }] };
    expect((await ways.native(turn)).toolCalls).toMatchObject([{ name: "diff_file" }]);
  });

  it("Calls in the text of a model are not executed if only their arguments were shown", async () => {
    const shown = `Call diff_file with ${JSON.stringify(finding)} now.`;
    for (const way of Object.values(ways)) expect((await way(object, ask(shown))).toolCalls).toEqual([]);
    const wrapped = `{"calls": [${object}]}`;
    expect(
      (await ways.text(wrapped, ask(`{"tool": "x", "args":  ${JSON.stringify(finding)} }`))).toolCalls,
    ).toEqual([]);
    expect((await ways.text(wrapped)).toolCalls).toHaveLength(1);
  });

  it("Calls in the text of a model on a native API are those of tools that only read", () => {
    const names = [...readingTools, ...graphTools].map(({ name }) => name);
    expect([...callableInText].toSorted()).toEqual([...names, "report_finding"].toSorted());
  });

  it.each([
    ["opening marks", "<function=a>"],
    ["keys", "<parameter=a>"],
    ["closing marks", "</parameter>"],
    ["bare names", "a <arg_key>"],
    ["names", "a("],
    ["brackets", "["],
    ["fences", "```"],
    ["spaces", " "],
  ])("Calls in the text of a model are looked for no longer than it is worth in many %s", async (_, unit) => {
    for (const begin of ["", "<function=diff_file>", "[diff_file(", "<tool_call>"])
      expect(await wholeCallsIn(begin + unit.repeat(500_000 / unit.length), ask())).toEqual([]);
  });
});
