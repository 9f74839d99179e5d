import { afterAll, beforeEach, expect, it } from "vitest";
import { codeHash } from "../../../../src/core/ledger/entry.ts";
import { ProveInput } from "../../../../src/tasks/prove/prove-input.ts";
import { scriptedModel } from "../../../support/scripted.ts";
import { Commanded, CommandedRepository } from "./command-fixture.ts";

const repo = new CommandedRepository();
afterAll(() => repo[Symbol.asyncDispose]());

let on: Commanded;
let model: ReturnType<typeof scriptedModel>;
beforeEach(() => {
  on = new Commanded(repo);
  on.files.set(".github/hunkwise.yml", "prove: { enabled: true }\n");
  const reason = "a rate needs a shop that runs";
  model = scriptedModel([{ toolCalls: [{ name: "finish_proof", arguments: { outcome: "none", reason } }] }]);
  on.model = model;
});

const prove = (thread: number | null, over: { by?: string; commentId?: number } = {}) =>
  on.command({ name: "prove" }, { thread, ...over });

const inputOf = () => {
  const start = on.recorded.find((entry) => entry.kind === "run");
  return start?.kind === "run" ? { ...start, input: ProveInput.parse(start.input) } : undefined;
};

it("/prove answers once in the thread, and pays once, however often it runs", async () => {
  const thread = await on.finding("f1");
  for (let n = 0; n < 3; n++) await prove(thread);
  expect(on.ours(thread)).toEqual([
    expect.stringContaining("Not shown by a test: a rate needs a shop that runs."),
  ]);
  expect(on.ours(thread)[0]).toContain(`The test is by \`scripted\`, and ran on the code at`);
  expect(model.requests).toHaveLength(1);
  expect(on.checkouts).toBe(1);
  expect(on.recorded.map((entry) => entry.kind)).toEqual(expect.arrayContaining(["run", "result"]));
});

it("/prove is answered from the record alone if a worker lost the job before its answer", async () => {
  const thread = await on.finding("f1");
  on.isOurs = false;
  await expect(prove(thread)).rejects.toMatchObject({ code: "lease_lost" });
  expect(on.ours(thread)).toEqual([]);
  on.isOurs = true;
  await prove(thread);
  expect([on.ours(thread).length, model.requests.length, on.checkouts]).toEqual([1, 1, 1]);
});

it("/prove is about the finding of the thread alone, with what its comment says", async () => {
  await on.finding("f1");
  await prove(await on.finding("f2", "high"));
  expect(inputOf()).toMatchObject({ what: "prove", shas: { head: repo.head } });
  expect(inputOf()?.input.targets).toMatchObject([
    { id: "f2", severity: "high", path: "src/cart.js", line: 1, suggestion: null },
  ]);
  expect(inputOf()?.input.targets[0]?.text).toContain("It is wrong.");
});

it("/prove takes the suggestion of our comment only if the lines that it replaces are still the same", async () => {
  const suggestion = "```suggestion\nexport const rate = 1;\n```\n\n";
  const of = async (code: string, text = suggestion) => {
    on = new Commanded(repo);
    on.files.set(".github/hunkwise.yml", "prove: { enabled: true }\n");
    on.model = model;
    const more = { code: codeHash(code), suggestion: text };
    await prove(await on.finding("f1", "high", "src/cart.js", "model", more));
    return inputOf()?.input.targets[0]?.suggestion;
  };
  expect(await of("export const rate = 2;")).toBe("export const rate = 1;");
  expect(await of("export const rate = 3;")).toBeNull();
  // A block inside of a block is text: people are offered nothing to commit.
  const quoted = `\`\`\`\`md\n${suggestion.trim()}\n\`\`\`\`\n\n`;
  expect(await of("export const rate = 2;", quoted)).toBeNull();
});

it.each<[string, () => void | Promise<void>, string]>([
  ["proofs are off", () => void on.files.clear(), "set `prove: { enabled: true }` in `.github/hunkwise.yml`"],
  ["there is no model", () => void Object.assign(on, { model: null }), "because no model is configured here"],
  [
    "no test can run",
    () => void Object.assign(on, { testPlace: { why: "this machine has no sandbox" } }),
    "I cannot prove this: this machine has no sandbox.",
  ],
  [
    "the file is private",
    () =>
      void on.files.set(".github/hunkwise.yml", "prove: { enabled: true }\npaths: { private: [src/**] }\n"),
    "the configuration keeps this file and its comments private",
  ],
  [
    "the budget of the day is spent",
    () => void Object.assign(on, { spent: 2_000_000 }),
    "I cannot prove this: today's budget for its installation is used up.",
  ],
])("/prove says so and asks no model if %s", async (_, given, said) => {
  await given();
  const thread = await on.finding("f1");
  await prove(thread);
  expect(on.ours(thread)).toEqual([expect.stringContaining(said)]);
  expect(model.requests).toEqual([]);
});

it("/prove needs a finding: it says which to name in the conversation, and what a thread of others lacks", async () => {
  await prove(null);
  expect(on.said().at(-1)).toContain("Which finding? Write `/prove` in the thread of a finding.");
  const certain = await on.finding("f1", "high", "src/cart.js", "secrets/aws-secret-access-key-key");
  await prove(certain, { commentId: 9_002 });
  expect(on.ours(certain)).toEqual([expect.stringContaining("needs no test")]);
  expect(model.requests).toEqual([]);
});

it("/prove costs nothing and gets no answer from people without write access", async () => {
  const thread = await on.finding("f1");
  for (const by of ["ada", "eve", "shop[bot]"]) await prove(thread, { by });
  expect([on.ours(thread), model.requests, on.checkouts]).toEqual([[], [], 0]);
});

it("/prove stops answering in a thread after ten answers", async () => {
  const thread = await on.finding("f1");
  on.testPlace = { why: "it is full" };
  for (let n = 0; n < 12; n++) await prove(thread, { commentId: 9_100 + n });
  expect(on.ours(thread)).toHaveLength(10);
});
