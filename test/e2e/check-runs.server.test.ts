import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeTurn } from "../support/fake-openai.ts";
import { headOf } from "../support/github-double/model.ts";
import type { Files, NewPull } from "../support/github-double/people.ts";
import { patient, until } from "./conformance-fixture.ts";
import { type RepositoryOfCase, type SharedApp, startSharedApp } from "./shared-app.ts";

const finish: FakeTurn = {
  tool_calls: [{ name: "finish_review", arguments: { summary: "Changes a number." } }],
};
const code = "export const price = 1;\n";
const changed = { "src/price.js": "export const price = 2;\n" };
const config = (yaml: string): Files => ({ "src/price.js": code, ".github/hunkwise.yml": yaml });

/** Slow tests cover the other reasons and events of a kind; test/server/webhooks and test/server/jobs test each decision. */
const long = process.env.HUNKWISE_LONG === "1";

/** Reviews that wait until a test releases them, by the title of the pull request. */
const held = new Map<string, PromiseWithResolvers<void>>();
let shared: SharedApp;

beforeAll(async () => {
  shared = await startSharedApp({
    script: async (body) => {
      const text = JSON.stringify(body.messages);
      for (const [title, { promise }] of held) if (text.includes(title)) await promise;
      return finish;
    },
  });
});
afterAll(async () => {
  const { github, model } = shared.app;
  await shared[Symbol.asyncDispose]();
  expect(github.violations).toEqual([]);
  expect(model?.complaints).toEqual([]);
});

/** Number of the model's requests about the pull request with this title. */
const modelRequests = (title: string) =>
  shared.app.reviewRequests.filter(({ body }) => JSON.stringify(body.messages).includes(title)).length;

describe.concurrent("a pull request that must not be reviewed", patient, () => {
  let repository: RepositoryOfCase;
  beforeAll(() => {
    shared.app.github.state.account("renovate[bot]", "Bot");
    repository = shared.addRepository(
      config(
        [
          "review:",
          "  base_branches: [main]",
          "  ignore_authors: ['renovate[bot]']",
          "  ignore_labels: [no-review]",
          "  ignore_titles: [wip]",
        ].join("\n"),
      ),
    );
  });

  const cases: [what: string, over: Partial<NewPull>, reason: string][] = [
    ["a draft from a fork", { draft: true, fork: "forker", author: "forker" }, "it is a draft"],
    ["one of an author who is left out", { author: "renovate[bot]" }, "pull requests of renovate[bot]"],
    ["a draft", { draft: true }, "it is a draft"],
    ["one with a label that says so", { labels: ["no-review"] }, "it has the label no-review"],
    ["one whose title says so", { title: "WIP: change it" }, 'its title contains "wip"'],
  ];
  it.each(long ? cases : cases.slice(0, 2))(
    "A pull request that is %s has a skipped check that says why",
    async (what, over, reason) => {
      const title = over.title ?? `Skip ${what}`;
      const pull = repository.open(changed, { title, ...over });
      expect(await pull.deliver("opened")).toBe(202);
      await pull.concluded();

      expect(pull.check()).toMatchObject({ conclusion: "skipped", headSha: headOf(pull.pull) });
      expect(pull.check()?.output.summary?.replaceAll("\\", "")).toContain(reason);
      expect(modelRequests(title)).toBe(0);
    },
  );
});

describe.concurrent("a pull request in which nothing is reviewable", patient, () => {
  const change: Files = {
    "docs/a.md": "# A\n",
    "package-lock.json": '{ "lockfileVersion": 3, "packages": {} }\n',
    "logo.png": Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
      "base64",
    ),
    "a.snap": "// Jest Snapshot v1\n\nexports[`a 1`] = `1`;\n",
    "logs/.gitkeep": "",
  };
  const there = [{ files: { "src/more.js": "1;\n" } }];
  const kinds = ["ignored by configuration", "lock file", "image", "snapshot", "empty file"];
  const cases: [what: string, commits: NewPull["commits"], why: string[]][] = [
    ["of nothing but files that need no review, each for its reason", [{ files: change }], kinds],
    ["that takes back what it did", [...there, { files: { "src/more.js": null } }], ["no hunk"]],
  ];
  it.each(long ? cases : cases.slice(0, 1))(
    "A change %s is green without a model, and says why",
    async (what, commits, why) => {
      const repository = shared.addRepository(config("paths: { ignore: ['docs/**'] }\n"));
      const title = `Filter ${what}`;
      const pull = repository.open({}, { title, commits });
      await pull.deliver("opened");
      await pull.concluded();

      expect(pull.check()).toMatchObject({ conclusion: "success", output: { title: "Nothing to review" } });
      const texts = `${pull.check()?.output.summary}\n${pull.summary()}`;
      expect(why.filter((reason) => !texts.includes(reason))).toEqual([]);
      expect(modelRequests(title)).toBe(0);
    },
  );
});

describe.concurrent("a pull request without a reason to skip it any more", patient, () => {
  it("A draft is reviewed once when it is ready, and a push to a draft gets a separate skipped check", async () => {
    const title = "Read me only once";
    const pull = shared.addRepository({ "src/price.js": code }).open(changed, { title, draft: true });
    await pull.deliver("opened");
    await pull.concluded("skipped");
    shared.app.people.push(pull.pull, { "src/price.js": "export const price = 3;\n" });
    await pull.deliver("synchronize");
    await pull.concluded("skipped");
    expect(pull.end().checks).toEqual(["skipped", "skipped"]);

    pull.pull.draft = false;
    await pull.deliver("ready_for_review");
    await pull.concluded("success");
    expect(pull.end().checks).toEqual(["skipped", "success"]);

    // A label or a title then starts no review.
    pull.pull.title = "Read me only once, renamed";
    await pull.deliver("unlabeled", { label: "bug" });
    await pull.deliver("edited", { changes: { title: { from: title } } });
    await pull.deliver("edited", { changes: { body: { from: "" } } });
    await pull.of.idle();

    expect(modelRequests(title)).toBe(1);
    expect(pull.end()).toEqual({ reviews: 0, comments: [], summaries: 1, checks: ["skipped", "success"] });
  });
});

describe.concurrent("a pull request that was reviewed for another branch", patient, () => {
  it("A pull request does not count as read for its new base branch", async () => {
    const title = "Hide one commit below another";
    const repository = shared.addRepository({ "src/price.js": code, "src/tax.js": code });
    const { git } = repository.repository;
    const commits = [changed, { "src/tax.js": "export const price = 3;\n" }].map((files) => ({ files }));
    const pull = repository.open({}, { title, commits });
    git.git("branch", "stacked", `${headOf(pull.pull)}~1`);
    shared.app.people.retarget(pull.pull, "stacked");
    await pull.deliver("opened");
    await pull.concluded("success");
    expect(pull.summary()).toContain("1 hunk in 1 file");

    const changes = { base: { ref: { from: "stacked" }, sha: { from: pull.pull.baseSha } } };
    shared.app.people.retarget(pull.pull, "main");
    await pull.deliver("edited", { changes });
    await pull.concluded("success");
    await pull.of.idle();
    expect(pull.summary()).toContain("2 hunks in 2 files");

    // Retargeting there and back triggers one review per branch.
    shared.app.people.retarget(pull.pull, "stacked");
    await pull.deliver("edited", { changes });
    await pull.of.idle();
    expect(modelRequests(title)).toBe(2);
    expect(pull.end()).toMatchObject({ summaries: 1, checks: ["success", "success"] });
  });
});

describe.concurrent("a pull request that changes while it is reviewed", patient, () => {
  /** Resolves during the review, to a function that lets the model answer. */
  async function beingReviewed(title: string) {
    const gate = Promise.withResolvers<void>();
    held.set(title, gate);
    const pull = shared.addRepository({ "src/price.js": code }).open(changed, { title });
    await pull.deliver("opened");
    await until(() => modelRequests(title) === 1);
    return { pull, goOn: gate.resolve };
  }

  it("A pull request that is closed has its check run canceled, and is reviewed when it is reopened", async () => {
    const { pull, goOn } = await beingReviewed("Close it while it is read");
    shared.app.people.close(pull.pull);
    await pull.deliver("closed");
    goOn();
    await pull.concluded("cancelled");
    expect(pull.end().summaries).toBe(0);

    shared.app.people.reopen(pull.pull);
    await pull.deliver("reopened");
    await pull.concluded("success");
    expect(pull.end()).toMatchObject({ summaries: 1, checks: ["success"] });
  });
});

describe.concurrent("events", patient, () => {
  it("Events that come twice and out of order lead to one review of the newest head", async () => {
    const pull = shared.addRepository({ "src/price.js": code }).open(changed, { title: "Out of order" });
    const { github } = shared.app;
    const opened = await pull.payload("opened");
    shared.app.people.push(pull.pull, { "src/price.js": "export const price = 5;\n" });
    const id = "22222222-2222-4222-8222-222222222222";
    await pull.deliver("synchronize", {}, id);
    await pull.of.deliver("pull_request", opened);
    await pull.deliver("synchronize", {}, id);
    await pull.concluded("success");
    await pull.of.idle();

    expect(modelRequests("Out of order")).toBe(1);
    expect(pull.end()).toEqual({ reviews: 0, comments: [], summaries: 1, checks: ["success"] });
    expect(github.state.deliveries.filter(({ guid }) => guid === id)).toHaveLength(2);
  });

  it("A configuration that cannot be read is named in the check run, without a model", async () => {
    const title = "Broken configuration";
    const pull = shared.addRepository(config("paths:\n  private: [secrets\n")).open(changed, { title });
    await pull.deliver("opened");
    await pull.concluded("neutral");

    expect(pull.check()?.output.title).toMatch(/^Not reviewed\. Analyzers only: /);
    expect(pull.check()?.output.summary).toMatch(/hunkwise\.yml/);
    expect(modelRequests(title)).toBe(0);
  });
});

describe.concurrent("a merge queue", patient, () => {
  it("A merge queue has the check of its commit at once, without a model", async () => {
    const repository = shared.addRepository({ "src/price.js": code });
    const pull = repository.open(changed, { title: "Queued for the merge" });
    const { status, sha } = await pull.queueForMerge();
    expect(status).toBe(202);
    await shared.app.github.until(() =>
      repository.repository.checkRuns.some((run) => run.status === "completed"),
    );

    expect(repository.repository.checkRuns).toMatchObject([
      { headSha: sha, name: "Hunkwise", conclusion: "success" },
    ]);
    expect(modelRequests("Queued for the merge")).toBe(0);
  });
});
