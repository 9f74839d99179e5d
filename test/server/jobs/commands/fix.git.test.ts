import { afterAll, beforeEach, expect, it } from "vitest";
import { parseMarker } from "../../../../src/core/ledger/marker.ts";
import { refusal } from "../../../pull/publish/memory-github.ts";
import { type ScriptedTurn, scriptedModel } from "../../../support/scripted.ts";
import { Commanded, CommandedRepository } from "./command-fixture.ts";
import { edit, finish, look, reviewed, write } from "./fix-turns.ts";

const repo = new CommandedRepository();
afterAll(() => repo[Symbol.asyncDispose]());

let on: Commanded;
beforeEach(() => {
  on = new Commanded(repo);
});

function modelThat(...turns: ScriptedTurn[]) {
  const model = scriptedModel(turns);
  on.model = model;
  return model;
}

const fixIt = async (all = false) => {
  const thread = await on.finding("f1");
  const outcome = await on.command({ name: "fix", all }, { thread });
  return { thread, outcome };
};

it("A fix is made, checked, pushed to its branch, and answered in the thread", async () => {
  modelThat(edit(), finish("Charge the rate once"), look("fixed"), reviewed);
  const { thread } = await fixIt();
  const [push] = on.pushes;
  expect(push).toMatchObject({ owner: "octo", name: "shop", branch: "change", from: repo.head });
  expect(repo.git("diff", "--stat=80", repo.head, push?.to ?? "")).toContain("src/cart.js | 2 +-");
  expect(repo.git("show", `${push?.to}:src/cart.js`)).toBe("export const rate = 1.5;");
  expect(repo.git("log", "-1", "--format=%s|%an|%P", push?.to ?? "")).toBe(
    `Charge the rate once|hunkwise[bot]|${repo.head}`,
  );
  const [told = "", settled = ""] = on.ours(thread);
  expect(told).toContain(`Pushed ${push?.to}.`);
  expect(told).toContain("The rate is right now.");
  expect(told).toContain("A second look confirms the repair");
  expect(parseMarker(told)).toEqual({ kind: "answer", comment: 9_001 });
  expect(settled).toContain(`Fixed in ${push?.to.slice(0, 12)}`);
  expect(on.github.thread(thread).resolvedBy?.kind).toBe("us");
});

it("A fix is pushed once and paid for once, wherever the process ends", async () => {
  const model = modelThat(edit(), finish("Charge the rate once"), look("fixed"), reviewed);
  const thread = await on.finding("f1");
  on.isOurs = false;
  await expect(on.command({ name: "fix", all: false }, { thread })).rejects.toMatchObject({
    code: "lease_lost",
  });
  expect(on.pushes).toEqual([]);
  on.isOurs = true;
  await on.command({ name: "fix", all: false }, { thread });
  await on.command({ name: "fix", all: false }, { thread });
  expect([on.pushes.length, on.ours(thread).length, model.requests.length]).toEqual([1, 2, 4]);
});

it("A fix pushes nothing if the branch has moved on meanwhile", async () => {
  modelThat(edit(), finish("Charge the rate once"), look("fixed"));
  on.pushEnd = { kind: "moved" };
  const { thread } = await fixIt();
  expect(on.ours(thread)[0]).toContain("changed while I worked, so **nothing was pushed**");
});

it.each([
  ["a fork whose owner lets nobody push", { isFork: true, maintainersMayPush: false }, true],
  ["an App that may not write", {}, false],
  ["the default branch of the repository", { branch: "main", isDefault: true }, true],
])("A fix is shown as suggestions for %s", async (_, source, mayWrite) => {
  modelThat(edit(), finish("Charge the rate once"), look("fixed"));
  on.mayWriteContents = mayWrite;
  Object.assign(on.github.state, { source: { ...on.github.state.source, ...source } });
  const { thread } = await fixIt();
  expect(on.pushes).toEqual([]);
  const suggested = on.github.reviews.at(-1);
  expect(suggested?.comments).toMatchObject([{ path: "src/cart.js", line: 1, startLine: null }]);
  expect(suggested?.comments[0]?.body).toContain("```suggestion\nexport const rate = 1.5;\n```");
  expect(on.ours(thread)[0]).toContain("as suggestions on the lines that it changes");
});

it("A fix is not pushed for a person who may not write any more", async () => {
  const thread = await on.finding("f1");
  const turns = [edit(), finish("Charge the rate once"), look("fixed")];
  on.model = scriptedModel((_request, n) => {
    if (n === 2) on.github.permissions.set("grace", "read");
    return turns[n] ?? new Error("It was asked for more");
  });
  await on.command({ name: "fix", all: false }, { thread });
  expect(on.pushes).toEqual([]);
  expect(on.ours(thread)[0]).toContain("the person who asked no longer has write access");
});

it("A fix is shown as a patch if suggestions cannot express it", async () => {
  modelThat(edit(), write("test/cart.test.js", "test();\n"), finish("Charge it"), look("fixed"));
  on.mayWriteContents = false;
  const { thread } = await fixIt();
  const [told = ""] = on.ours(thread);
  expect(told).toContain("as a patch for `git apply`");
  expect(told).toContain("+export const rate = 1.5;");
  expect(told).toContain("+test();");
});

it("A fix never edits what runs by itself: the prompt says so, and such an edit is refused", async () => {
  const model = modelThat(
    write(".github/workflows/ci.yml", "on: push\n"),
    edit(),
    finish("Charge the rate once"),
    look("fixed"),
    reviewed,
  );
  const { thread } = await fixIt();
  expect(JSON.stringify(model.requests[1])).toContain("cannot be changed by a fix: ");
  expect(repo.git("ls-tree", "-r", "--name-only", on.pushes[0]?.to ?? "")).not.toContain("workflows");
  expect(on.ours(thread)[0]).toContain("Pushed");
});

it("A fix is sent back if a second look finds the fault still there, and pushed when it is gone", async () => {
  modelThat(
    ...[edit("src/cart.js", "rate = 2", "rate = 1.9"), finish("Charge the rate once"), look("present")],
    ...[edit("src/cart.js", "rate = 1.9"), finish("Charge the rate once"), look("fixed"), reviewed],
  );
  const { thread } = await fixIt();
  expect(repo.git("show", `${on.pushes[0]?.to}:src/cart.js`)).toBe("export const rate = 1.5;");
  expect(on.ours(thread)[0]).toContain("A second look confirms the repair");
});

it("A fix is not pushed if a second look finds the fault still there twice, and says why", async () => {
  modelThat(
    ...[edit(), finish("Charge the rate once"), look("present")],
    ...[edit("src/cart.js", "rate = 1.5", "rate = 1.4"), finish("Charge it"), look("present")],
  );
  const { thread } = await fixIt();
  expect(on.pushes).toEqual([]);
  const [told = ""] = on.ours(thread);
  expect(told).toContain(
    "**did not push it**: a second look still finds the fault, even after a second attempt.",
  );
  expect(told).toContain("A second look **still finds the fault**:_ src/cart.js:1 says 1.5.");
  expect(told).toContain(
    "No command was run to test the repair: the configuration of the base branch names no commands.",
  );
});

it("A fix says that no command was run if there is no sandbox", async () => {
  on.files.set(".github/hunkwise.yml", "commands: { test: npm test }\n");
  const model = modelThat(edit(), finish("Charge the rate once"), look("fixed"), reviewed);
  const { thread } = await fixIt();
  expect(on.ours(thread)[0]).toContain("No command was run to test the repair: this machine has no sandbox");
  expect(model.requests[0]?.tools.map(({ name }) => name)).not.toContain("run_command");
});

it("A fix names the findings that the model leaves to people", async () => {
  modelThat(finish("", false));
  const { thread } = await fixIt();
  expect(on.pushes).toEqual([]);
  expect(on.ours(thread)[0]).toContain("Nothing was changed.");
  expect(on.ours(thread)[0]).toContain("not fixed; a person must fix it. Nobody knows the rate.");
});

it("A fix of all repairs each open finding, the worst first, and none that was dismissed", async () => {
  modelThat(edit(), finish("Charge the rate once", true, false), look("fixed"), reviewed);
  const low = await on.finding("f-low", "low");
  const high = await on.finding("f-high", "high");
  const gone = await on.finding("f-gone", "critical");
  on.github.personDownvotes(gone, "grace");
  await on.command({ name: "fix", all: true });
  const [told = ""] = on.said().filter((text) => text.includes("Pushed"));
  expect(told.indexOf("f-high")).toBeLessThan(told.indexOf("f-low"));
  expect(told).not.toContain("f-gone");
  expect([high, low, gone].map((thread) => on.ours(thread).length)).toEqual([1, 0, 0]);
});

it("A fix in the conversation asks for its finding, or says that there is none", async () => {
  await on.command({ name: "fix", all: false });
  expect(on.said()[0]).toContain("Which finding?");
  await on.command({ name: "fix", all: true }, { commentId: 9_002 });
  expect(on.said()[1]).toContain("no model is configured");
  modelThat();
  await on.command({ name: "fix", all: true }, { commentId: 9_003 });
  expect(on.said()[2]).toContain("There are no open findings.");
});

it("A fix says that GitHub did not show the thread, instead of blaming the configuration", async () => {
  const thread = await on.finding("f1");
  on.model = modelThat(edit(), finish("Charge the rate once"));
  on.github.faults.push({ call: "ownThreads", error: refusal("github_forbidden") });
  await on.command({ name: "fix", all: false }, { thread });
  expect(on.ours(thread)[0]).toContain("GitHub does not show the threads of these findings to the App");
});

it("A fix is for people who can write", async () => {
  modelThat(edit(), finish("Charge it"), look("fixed"));
  const thread = await on.finding("f1");
  expect(await on.command({ name: "fix", all: false }, { thread, by: "ada" })).toMatchObject({
    kind: "skipped",
  });
  expect([on.pushes.length, on.checkouts]).toEqual([0, 0]);
});
