import { afterAll, beforeEach, expect, it } from "vitest";
import { AppError } from "../../../../src/core/errors.ts";
import { scriptedModel } from "../../../support/scripted.ts";
import { Commanded, CommandedRepository } from "./command-fixture.ts";
import { edit, finish, look, reviewed } from "./fix-turns.ts";

const repo = new CommandedRepository();
afterAll(() => repo[Symbol.asyncDispose]());

let on: Commanded;
beforeEach(() => {
  on = new Commanded(repo);
});

const turns = [edit(), finish("Charge the rate once"), look("fixed"), reviewed];

it("A fix is reported as pushed if somebody pushed on top of it before the answer", async () => {
  const model = scriptedModel(turns);
  on.model = model;
  const thread = await on.finding("f1");
  const { reply } = on.github;
  on.github.reply = () => Promise.reject(new AppError("github_failed", "It is away"));
  await expect(on.command({ name: "fix", all: false }, { thread })).rejects.toThrow("It is away");
  Object.assign(on.github, { reply });
  const [{ to = "" } = {}] = on.pushes;
  on.github.state.headSha = repo.git("commit-tree", `${to}^{tree}`, "-p", to, "-m", "Another one");
  // By then a review of that push may have settled it.
  on.github.personResolves(thread, "grace");
  on.pushEnd = { kind: "moved" };
  await on.command({ name: "fix", all: false }, { thread });
  expect(on.ours(thread)[0]).toContain(`Pushed ${to}.`);
  expect([on.pushes.length, model.requests.length]).toEqual([1, 4]);
});

it("A fix is not reported as pushed if the branch went another way since", async () => {
  on.model = scriptedModel(turns);
  const thread = await on.finding("f1");
  on.isOurs = false;
  await expect(on.command({ name: "fix", all: false }, { thread })).rejects.toThrow();
  on.isOurs = true;
  on.github.state.headSha = repo.git("commit-tree", `${repo.head}^{tree}`, "-p", repo.head, "-m", "Mine");
  on.pushEnd = { kind: "moved" };
  await on.command({ name: "fix", all: false }, { thread });
  expect(on.ours(thread)[0]).toContain("changed while I worked, and it **does not contain the repair**");
});

it.each([
  ["its findings are settled", (thread: number) => on.github.personResolves(thread, "grace"), "were settled"],
  ["the pull request is closed", () => Object.assign(on.github.state, { state: "closed" }), "was closed"],
])("A fix is not pushed if %s while it is made", async (_, meanwhile, word) => {
  const thread = await on.finding("f1");
  on.model = scriptedModel((_request, n) => {
    if (n === 2) meanwhile(thread);
    return turns[n] ?? new Error("It was asked for more");
  });
  await on.command({ name: "fix", all: false }, { thread });
  expect(on.pushes).toEqual([]);
  expect(on.ours(thread)[0]).toContain(`${word} while I worked`);
});
