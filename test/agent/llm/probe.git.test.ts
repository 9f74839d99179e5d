import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ToolsRefused } from "../../../src/agent/llm/model.ts";
import {
  abilityOf,
  modelKey,
  openKnownModels,
  probeModel,
  protocolFor,
} from "../../../src/agent/llm/probe.ts";
import { AppError } from "../../../src/core/errors.ts";
import { TempFolder } from "../../support/git-repo.ts";
import { type ScriptedTurn, scriptedModel } from "../../support/scripted.ts";

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
    "makes one call",
    { toolCalls: [add(2, 3)] },
    { callsTools: true, callsInParallel: false, keepsSchema: true },
  ],
  ["breaks the schema", { toolCalls: [add("two", 3)] }, { callsTools: true, keepsSchema: false }],
  ["calls oddly", { toolCalls: [{ ...add("2", "-3.5"), name: "x.add_numbers:0" }] }, { keepsSchema: true }],
  ["writes broken JSON", { toolCalls: [{ name: "add_numbers", arguments: "{" }] }, { keepsSchema: false }],
  [
    "answers in prose",
    { content: "add_numbers(2, 3)" },
    { callsTools: false, callsInParallel: false, keepsSchema: false },
  ],
])("The probe sees that a model %s", async (_, turn, expected) => {
  const probe = await probeModel(scriptedModel([turn, { content: "no" }]), never, { now: clock() });

  expect(probe).toMatchObject({ error: null, milliseconds: 700, models: null, ...expected });
});

it("The probe names the models that the endpoint lists, and does without a list that fails.", async () => {
  const model = scriptedModel(() => ({ toolCalls: [add(2, 3)] }), { name: "two" });
  const failing = async () => {
    throw new AppError("model_failed", "no list today");
  };
  const probed = (listModels: () => Promise<string[]>) => probeModel({ ...model, listModels }, never);
  expect(await probed(async () => ["one", "two"])).toMatchObject({ models: ["one", "two"] });
  expect(await probed(failing)).toMatchObject({ models: null });
});

it("The probe asks for calls as JSON in text where there are none as tools", async () => {
  const refused = new ToolsRefused("model_refused", "takes no tools");
  const asked = async (...script: (ScriptedTurn | Error)[]) =>
    (await probeModel(scriptedModel(script), never)).writesJson;

  expect(await asked({ content: "5" }, inText)).toBe(true);
  expect(await asked(refused, inText)).toBe(true);
  expect(await asked({ content: "5" }, { content: "5" })).toBe(false);
  expect(await asked({ toolCalls: [add(2, 3)] })).toBeNull();
});

it("The probe asks the endpoint for the context window once the model has answered", async () => {
  const model = scriptedModel([{ toolCalls: [add(2, 3)] }]);
  const findContextTokens = async () => model.requests.length * 32_768;
  expect(await probeModel({ ...model, findContextTokens }, never)).toMatchObject({ contextTokens: 32_768 });
});

it.each<[string, ScriptedTurn[]]>([
  ["native", [{ toolCalls: [add(2, 3)] }]],
  ["text", [{ content: "5" }, inText]],
  ["text", [{ toolCalls: [add("two", 3)] }, inText]],
  ["native", [{ content: "5" }, { content: "5" }]],
])("The protocol is %s for a model that answers %j", async (protocol, turns) => {
  expect(protocolFor(abilityOf(await probeModel(scriptedModel(turns), never)))).toBe(protocol);
});

it("The probe hands back why a model does not answer", async () => {
  const error = new AppError("model_unauthorized", "refused the key");

  expect(await probeModel(scriptedModel([error]), never)).toMatchObject({ error, callsTools: false });
});

it("The probe ends when it is aborted", async () => {
  await expect(probeModel(scriptedModel([]), AbortSignal.abort())).rejects.toMatchObject({ code: "aborted" });
});

it("A scripted model fails loudly when its script is over", async () => {
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

const root = new TempFolder("known-models");
afterAll(() => root.dispose());
let count = 0;
const fresh = () => join(root.path, String(count++));
const ability = {
  ...{ callsTools: true, writesJson: true, contextTokens: 32_768 },
  ...{ avoids: [], saysLength: false },
};
const DAY = 24 * 60 * 60 * 1_000;

describe("openKnownModels", () => {
  it("The stored ability of a model is there for the next process", async () => {
    const folder = fresh();
    const key = modelKey("http://user-of.internal:8000/v1", "secret-model");
    await openKnownModels(folder).remember(key, ability);
    const file = join(folder, "models.json");

    expect(await openKnownModels(folder).recall(key)).toEqual(ability);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).not.toMatch(/internal|secret/);
    expect(readdirSync(folder)).toEqual(["models.json"]);
  });

  it("The stored ability of a model holds what its endpoint refuses", async () => {
    const known = openKnownModels(fresh());
    await known.remember("k", { ...ability, avoids: ["user_after_tool"] });
    expect(await known.recall("k")).toEqual({ ...ability, avoids: ["user_after_tool"] });
  });

  it("The stored ability of a model belongs to one model at one address", async () => {
    const known = openKnownModels(fresh());
    await known.remember(modelKey("a", "m"), ability);
    expect(await known.recall(modelKey("b", "m"))).toBeNull();
    expect(await known.recall(modelKey("a", "n"))).toBeNull();
  });

  it("The stored ability of a model is found out again after 30 days", async () => {
    let now = 1_000 * DAY;
    const known = openKnownModels(fresh(), () => now);
    await known.remember("k", ability);
    now += 30 * DAY;
    expect(await known.recall("k")).toEqual(ability);
    now += 1;
    expect(await known.recall("k")).toBeNull();
  });

  it("The stored ability of a model does not grow without end, and the oldest goes first", async () => {
    let now = 0;
    const folder = fresh();
    const known = openKnownModels(folder, () => ++now);
    mkdirSync(folder);
    const rows = Array.from({ length: 300 }, (_, at) => [`k${at}`, { ability, probed_at: at - 400 }]);
    writeFileSync(join(folder, "models.json"), JSON.stringify(Object.fromEntries(rows)));
    await known.remember("new", ability);
    expect(Object.keys(JSON.parse(readFileSync(join(folder, "models.json"), "utf8")))).toHaveLength(200);
    expect(await known.recall("new")).toEqual(ability);
    expect(await known.recall("k0")).toBeNull();
    expect(await known.recall("k299")).not.toBeNull();
  });

  it("The stored ability of a model is nothing where the file is damaged, and is written anew", async () => {
    const folder = fresh();
    mkdirSync(folder);
    for (const text of ["{", "[]", '{"k": {"probed_at": "today"}}']) {
      writeFileSync(join(folder, "models.json"), text);
      expect(await openKnownModels(folder).recall("k")).toBeNull();
    }
    await openKnownModels(folder).remember("k", ability);
    expect(await openKnownModels(folder).recall("k")).toEqual(ability);
  });

  it("The stored ability of a model is not kept, without a word", async () => {
    const file = join(root.path, "a-file");
    writeFileSync(file, "");
    for (const folder of [null, join(file, "below")]) {
      const known = openKnownModels(folder);
      await known.remember("k", ability);
      expect(await known.recall("k")).toBeNull();
    }
  });
});
