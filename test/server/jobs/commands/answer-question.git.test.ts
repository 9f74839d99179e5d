import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AppError } from "../../../../src/core/errors.ts";
import { parseMarker } from "../../../../src/core/ledger/marker.ts";
import { maxAttempts, type Task } from "../../../../src/server/queue/job.ts";
import { ambiguous } from "../../../pull/publish/memory-github.ts";
import { type ScriptedTurn, scriptedModel } from "../../../support/scripted.ts";
import { Commanded, CommandedRepository } from "./command-fixture.ts";

let repo: CommandedRepository;
let on: Commanded;
beforeAll(() => {
  repo = new CommandedRepository();
});
beforeEach(() => {
  on = new Commanded(repo);
});
afterAll(() => repo[Symbol.asyncDispose]());

const ask = { name: "ask", question: "Why two?" } as const;
const reply = (text: string): ScriptedTurn => ({
  toolCalls: [{ name: "reply", arguments: { text } }],
  usage: { promptTokens: 900, completionTokens: 100 },
});

function modelThat(...turns: (ScriptedTurn | Error)[]) {
  const model = scriptedModel(turns);
  on.model = model;
  return { model, shown: () => JSON.stringify(model.requests) };
}

it("A question in the conversation is answered there once, by the model, with a link to it", async () => {
  on.inOwnProcess = true;
  const { model, shown } = modelThat(reply("The rate doubled: src/cart.js:1."));
  expect(await on.command(ask)).toMatchObject({ kind: "done" });
  // Delivered again, it costs nothing.
  on.recorded.length = 0;
  await on.command(ask);

  const [answer = ""] = on.said();
  expect(answer).toContain("The rate doubled: src/cart.js:1.");
  expect(answer).toContain("pull/7#issuecomment-9001");
  expect(answer).toContain(`from the code at ${repo.head.slice(0, 12)}`);
  expect(parseMarker(answer)).toEqual({ kind: "answer", comment: 9_001 });
  expect(shown()).toContain("Why two?");
  expect([on.said().length, model.requests.length, on.spent]).toEqual([1, 1, 1_000]);
  expect(on.checks()).toEqual([]);
});

it("A question in a thread is answered there, by a model that knows the finding and what was said before", async () => {
  const { shown } = modelThat(reply("It stands."));
  const thread = await on.finding("f1");
  on.github.personReplies(thread, "ada", "Nobody passes zero.");
  const asking = on.github.thread(thread).replies.at(-1)?.id ?? 0;
  on.github.personReplies(thread, "ada", "WRITTEN-LATER");
  await on.command(ask, { thread, commentId: asking + 1 });

  expect(on.ours(thread)[0]).toContain("It stands.");
  expect(shown()).toContain("Finding f1");
  expect(shown()).toContain("Nobody passes zero.");
  expect(shown()).not.toContain("WRITTEN-LATER");
  expect(shown()).not.toContain("hunkwise:finding");
});

it("A question without a model gets an answer that says so", async () => {
  await on.command(ask);
  expect(on.said()[0]).toContain("no model is configured here");
  expect(on.checkouts).toBe(0);
});

it("A question is paid for once, although the answer could not be posted at first", async () => {
  const { model } = modelThat(reply("Because."));
  on.github.faults.push({ call: "createComment", nth: 1, error: new AppError("aborted", "killed") });
  await expect(on.command(ask)).rejects.toMatchObject({ code: "aborted" });
  await on.command(ask);

  expect(on.said()).toEqual([expect.stringContaining("Because.")]);
  expect(model.requests).toHaveLength(1);
});

it("A question is tried again while the model fails, and then answered with the kind of fault", async () => {
  const outage = new AppError("model_failed", "HTTP 500 of models.internal", { retryable: true });
  modelThat(outage, outage);
  await expect(on.command(ask)).rejects.toMatchObject({ code: "model_failed", retryable: true });
  expect(on.said()).toEqual([]);

  const task: Task = {
    ...{ kind: "command", command: ask, headSha: null, pull: 7, thread: null },
    repository: { installation: 1, id: 7, owner: "octo", name: "shop" },
    ...{ commentId: 9_001, requestedBy: "grace", writtenAt: "2026-01-01T00:01:00Z" },
  };
  await on.attempt(task, maxAttempts);
  expect(on.said()[0]).toContain("its provider could not be reached");
  expect(on.said()[0]).not.toContain("internal");
});

it("A question is not begun when the day's budget is used up, and says so", async () => {
  const { model } = modelThat(reply("Because."));
  on.files.set(".github/hunkwise.yml", "budget: { day: { tokens: 5000 } }\n");
  on.spent = 4_999;
  await on.command(ask);
  expect(on.said()[0]).toContain("today's budget for this pull request is used up");
  expect(model.requests).toEqual([]);
});

it("A question about a private file reaches no model, and neither does its thread", async () => {
  const { model } = modelThat(reply("Because."));
  const text = "paths: { private: [src/cart.js] }\n";
  const thread = await on.finding("f1");
  on.files.set(".github/hunkwise.yml", text);
  await on.command(ask, { thread });
  on.files.clear();
  on.organization.set(".github/hunkwise.yml", text);
  await on.command(ask, { thread, commentId: 9_002 });

  on.organization.clear();
  // The folder's own file says so.
  const inFolder = await on.finding("f2", "medium", "lib/secret.js");
  await on.command(ask, { thread: inFolder, commentId: 9_003 });

  const all = [...on.ours(thread), ...on.ours(inFolder)];
  expect(all).toHaveLength(3);
  for (const told of all) expect(told).toContain("keeps this file and its comments private");
  expect(model.requests).toEqual([]);
});

it("A question under a refused configuration reaches no model", async () => {
  const { model } = modelThat(reply("Because."));
  on.files.set(".github/hunkwise.yml", "paths: {private: [");
  await on.command(ask);
  expect(on.said()[0]).toContain("I cannot answer this:");
  expect(model.requests).toEqual([]);

  Object.assign(on.github, { fileAt: () => Promise.reject(ambiguous()) });
  await expect(on.command(ask, { commentId: 9_002 })).rejects.toMatchObject({ retryable: true });
});

describe("a description", () => {
  const describeIt = { name: "describe" } as const;
  const switchOn = () => on.files.set(".github/hunkwise.yml", "conversation: { describe: true }\n");

  it("A description is not written unless the base branch asks for it, and the answer says how to switch it on", async () => {
    const { model } = modelThat(reply("It doubles the rate."));
    await on.command(describeIt);
    expect(on.said()[0]).toContain("set `conversation: { describe: true }` in `.github/hunkwise.yml`");
    expect([model.requests.length, on.checkouts]).toEqual([0, 0]);
  });

  it("A description is written once by the model from the whole diff, and cut to one screen", async () => {
    switchOn();
    on.inOwnProcess = true;
    const { model, shown } = modelThat(
      reply(`**What it does**: it doubles the rate.\n${"- more\n".repeat(99)}`),
    );
    await on.command(describeIt);
    // Delivered again, it costs nothing.
    on.recorded.length = 0;
    await on.command(describeIt);

    const [answer = ""] = on.said();
    expect(answer).toContain("**What it does**: it doubles the rate.");
    expect(answer).toMatch(/\n… \(cut to one screen\)\n\n<sub>Described by `scripted` from the code at/);
    expect(answer.split("\n").length).toBeLessThan(50);
    expect(parseMarker(answer)).toEqual({ kind: "answer", comment: 9_001 });
    expect(shown()).toContain("You describe a pull request");
    expect(shown()).toContain("+export const rate = 2;");
    expect(shown()).not.toMatch(/You answer one question|# The question/);
    expect([on.said().length, model.requests.length, on.spent]).toEqual([1, 1, 1_000]);
  });

  it("A description is about the whole change, also in a thread", async () => {
    switchOn();
    const { shown } = modelThat(reply("It doubles the rate."));
    const thread = await on.finding("f1");
    await on.command(describeIt, { thread });
    expect(on.ours(thread)[0]).toContain("It doubles the rate.");
    expect(shown()).not.toContain("Finding f1");
  });

  it("A description shows the model no private file", async () => {
    on.files.set(
      ".github/hunkwise.yml",
      "conversation: { describe: true }\npaths: { private: [src/cart.js] }\n",
    );
    const { shown } = modelThat(reply("I cannot see it."));
    await on.command(describeIt);
    expect(shown()).not.toMatch(/cart\.js|rate = 2/);
  });

  it("A description is paid for once, although it could not be posted at first, and is then a description too", async () => {
    switchOn();
    const { model } = modelThat(reply("It doubles the rate."));
    on.github.faults.push({ call: "createComment", nth: 1, error: new AppError("aborted", "killed") });
    await expect(on.command(describeIt)).rejects.toMatchObject({ code: "aborted" });
    await on.command(describeIt);
    expect(on.said()).toEqual([expect.stringContaining("Described by")]);
    expect(model.requests).toHaveLength(1);
  });

  it("A description is not begun when the day's budget is used up", async () => {
    const { model } = modelThat(reply("It doubles the rate."));
    on.files.set(
      ".github/hunkwise.yml",
      "conversation: { describe: true }\nbudget: { day: { tokens: 5000 } }\n",
    );
    on.spent = 4_999;
    await on.command(describeIt);
    expect(on.said()[0]).toContain("today's budget for this pull request is used up");
    expect(model.requests).toEqual([]);
  });

  it("A description is not written if the configuration is refused", async () => {
    const { model } = modelThat(reply("It doubles the rate."));
    on.files.set(".github/hunkwise.yml", "conversation: { describe: true\n");
    await on.command(describeIt);
    expect(on.said()[0]).toContain("I cannot answer this:");
    expect(model.requests).toEqual([]);
  });
});
