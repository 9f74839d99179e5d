import { expect, it } from "vitest";
import { AppError } from "../../src/errors.ts";
import { ToolsRefused } from "../../src/llm/faults.ts";
import { abilityOf, probeModel, protocolFor } from "../../src/llm/probe.ts";
import { type ScriptedTurn, scriptedModel } from "../../src/llm/scripted.ts";

const never = new AbortController().signal;
const add = (a: unknown, b: unknown) => ({ name: "add_numbers", arguments: { a, b } });
const inText = { content: JSON.stringify({ calls: [add(2, 3), add(20, 30)] }) };
const clock = () => {
  let time = 0;
  return () => (time += 700);
};

it.each<[string, ScriptedTurn, object]>([
  [
    "calls tools in parallel",
    { toolCalls: [add(2, 3), add(20, 30)] },
    { callsTools: true, callsInParallel: true, keepsSchema: true },
  ],
  [
    "calls one at a time",
    { toolCalls: [add(2, 3)] },
    { callsTools: true, callsInParallel: false, keepsSchema: true },
  ],
  ["breaks the schema", { toolCalls: [add("2", 3)] }, { callsTools: true, keepsSchema: false }],
  ["writes broken JSON", { toolCalls: [{ name: "add_numbers", arguments: "{" }] }, { keepsSchema: false }],
  [
    "answers in prose",
    { content: "add_numbers(2, 3)" },
    { callsTools: false, callsInParallel: false, keepsSchema: false },
  ],
])("the probe sees that a model %s", async (_, turn, expected) => {
  const probe = await probeModel(scriptedModel([turn, { content: "no" }]), never, clock());

  expect(probe).toMatchObject({ error: null, milliseconds: 700, models: null, listed: null, ...expected });
});

it("the probe tells whether the endpoint lists the model, and does without a list that fails", async () => {
  const model = scriptedModel(() => ({ toolCalls: [add(2, 3)] }), { name: "two" });
  const failing = async () => {
    throw new AppError("model_failed", "no list today");
  };

  expect(await probeModel({ ...model, listModels: async () => ["one", "two"] }, never)).toMatchObject({
    listed: true,
  });
  expect(await probeModel({ ...model, listModels: async () => ["one"] }, never)).toMatchObject({
    listed: false,
  });
  expect(await probeModel({ ...model, listModels: failing }, never)).toMatchObject({
    models: null,
    listed: null,
  });
});

it("the probe asks for calls as JSON in text where there are none as tools", async () => {
  const refused = new ToolsRefused("model_refused", "takes no tools");
  const asked = async (...script: (ScriptedTurn | Error)[]) =>
    (await probeModel(scriptedModel(script), never)).writesJson;

  expect(await asked({ content: "5" }, inText)).toBe(true);
  expect(await asked(refused, inText)).toBe(true);
  expect(await asked({ content: "5" }, { content: "5" })).toBe(false);
  expect(await asked({ toolCalls: [add(2, 3)] })).toBeNull();
});

it("the probe asks the endpoint for the context window once the model has answered", async () => {
  const model = scriptedModel([{ toolCalls: [add(2, 3)] }]);
  const findContextTokens = async () => model.requests.length * 32_768;
  expect(await probeModel({ ...model, findContextTokens }, never)).toMatchObject({ contextTokens: 32_768 });
});

it.each<[string, ScriptedTurn[]]>([
  ["native", [{ toolCalls: [add(2, 3)] }]],
  ["text", [{ content: "5" }, inText]],
  ["text", [{ toolCalls: [add("2", 3)] }, inText]],
  ["native", [{ content: "5" }, { content: "5" }]],
])("the protocol is %s for a model that answers %j", async (protocol, turns) => {
  expect(protocolFor(abilityOf(await probeModel(scriptedModel(turns), never)))).toBe(protocol);
});

it("the probe hands back why a model does not answer", async () => {
  const error = new AppError("model_unauthorized", "refused the key");

  expect(await probeModel(scriptedModel([error]), never)).toMatchObject({ error, callsTools: false });
});

it("the probe ends when it is aborted", async () => {
  await expect(probeModel(scriptedModel([]), AbortSignal.abort())).rejects.toMatchObject({ code: "aborted" });
});

it("a scripted model fails loudly when its script is over, and keeps what it was asked as it was then", async () => {
  const model = scriptedModel([{ content: "one" }, new AppError("model_failed", "scripted fault")]);
  const messages = [{ role: "user" as const, content: "a" }];
  const ask = () => model.respond({ messages, tools: [], maxOutputTokens: 10 }, never);

  const turn = await ask();
  messages.push({ role: "user", content: "b" });

  expect(turn).toMatchObject({ content: "one", toolCalls: [], finishReason: "stop" });
  await expect(ask()).rejects.toThrow("scripted fault");
  await expect(ask()).rejects.toThrow("The script ended before request 3");
  expect(model.requests.map((request) => request.messages.length)).toEqual([1, 2, 2]);
});
