import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { endCheck, openIssue, otherApp, setStatus } from "../support/github-double/around.ts";
import type { Permissions } from "../support/github-double/model.ts";
import { fullName, headOf } from "../support/github-double/model.ts";
import { finding, finish, numbers, patient, turn, until } from "./conformance-fixture.ts";
import { type PullOfCase, type SharedApp, startSharedApp } from "./shared-app.ts";

/*
 * A permission that is not granted closes a channel. The next channel takes over and names the permission; if none is left, the log does.
 * Nothing is retried forever. A review works without the texts that it may not read and the budget that it may not spend.
 */

/** The second of two cases that differ only in GitHub's answer; test/server/jobs and test/pull/github test each of them. */
const long = process.env.HUNKWISE_LONG === "1";

const base = { "src/numbers.js": numbers(60) };
const head = { "src/numbers.js": numbers(60, { 10: "const n10 = 0;", 40: "const n40 = 0;" }) };
const titles = ["Line 10 is wrong", "Line 40 is wrong", "Line 55 is wrong"];
const findings = turn(
  finding({ line: 10, quote: "const n10 = 0;" }),
  finding({ line: 40, quote: "const n40 = 0;" }),
  finding({ line: 55, quote: "const n55 = 55;" }),
  finish,
);

/** Its model uses up a whole day's budget at once. */
const costly = "Change all that costs";
/** Reviews that wait until a test releases them, by the title of the pull request. */
const held = new Map<string, Promise<void>>();
let shared: SharedApp;
beforeAll(async () => {
  shared = await startSharedApp({
    script: async (body) => {
      const text = JSON.stringify(body.messages);
      for (const [title, gone] of held) if (text.includes(title)) await gone;
      const usage = { prompt_tokens: 299_000, completion_tokens: 1_000 };
      return text.includes(costly) ? { ...findings, usage } : findings;
    },
  });
});
afterAll(async () => {
  const { github, model } = shared.app;
  await shared[Symbol.asyncDispose]();
  // GitHub refuses the whole token if one of its permissions is not granted; the App then requests only the granted ones.
  const misunderstood = github.violations.filter(
    ({ operation }) => operation !== "apps/create-installation-access-token",
  );
  expect(misunderstood).toEqual([]);
  expect(model?.complaints).toEqual([]);
});

function opened(title: string, permissions: Permissions, draft = false): PullOfCase {
  return shared.addRepository(base, { metadata: "read", ...permissions }).open(head, { title, draft });
}

const asked = (title: string) =>
  shared.app.reviewRequests.filter(({ body }) => JSON.stringify(body.messages).includes(title)).length;

/** The server's log lines about the pull request's repository; they arrive here with a short delay. */
const logged = ({ of }: PullOfCase) =>
  shared.app.server
    .log()
    .split("\n")
    .filter((line) => line.includes(fullName(of.repository)))
    .join("\n");

const readable: Permissions = { contents: "read", pull_requests: "read" };

describe.concurrent("an installation without the permission", patient, () => {
  it("Without access to pull requests everything is in the check run, which names the permission", async () => {
    const title = "No comments";
    const pull = opened(title, { ...readable, checks: "write" });
    await pull.deliver("opened");
    await pull.concluded();
    await pull.of.idle();

    expect(pull.end()).toEqual({ reviews: 0, comments: [], summaries: 0, checks: ["neutral"] });
    const { output, annotations } = pull.check() ?? {};
    const text = JSON.stringify([output, annotations]);
    expect(titles.filter((one) => !text.includes(one))).toEqual([]);
    expect(text).toContain("Pull requests: Read and write");
    expect(asked(title)).toBe(1);
  });

  it("Without check runs the summary names the permission, and no head is reviewed twice", async () => {
    const title = "No check runs";
    const pull = opened(title, { contents: "read", pull_requests: "write" });
    await pull.deliver("opened");
    await shared.app.github.until(() => pull.end().summaries === 1, 500_000);
    await pull.deliver("reopened");
    await pull.of.idle();

    expect(pull.end()).toEqual({
      reviews: 2,
      comments: ["src/numbers.js RIGHT 10", "src/numbers.js RIGHT 40", "src/numbers.js"],
      summaries: 1,
      checks: [],
    });
    expect(pull.summary()).toContain("Checks: Read and write");
    expect(asked(title)).toBe(1);
  });

  it("Without reading the code the check run says so, without a model", async () => {
    const title = "Unread";
    const pull = opened(title, { pull_requests: "write", checks: "write" });
    await pull.deliver("opened");
    await pull.concluded();
    await pull.of.idle();

    expect(pull.check()).toMatchObject({ conclusion: "neutral", output: { title: "The review failed" } });
    expect(pull.check()?.output.summary).toContain("Contents: Read");
    expect(asked(title)).toBe(0);
  });

  const closed: [string, Permissions][] = [
    ["for anything but code", { contents: "read" }],
    ["for anything", {}],
  ];
  it.each(long ? closed : closed.slice(0, 1))(
    "Without a permission %s the log names it, and no more requests follow",
    async (what, permissions) => {
      const title = `Nothing ${what}`;
      const pull = opened(title, permissions);
      await pull.deliver("opened");
      await pull.of.idle();

      await until(() => logged(pull).includes("Job failed"));
      expect(logged(pull)).toMatch(/Pull requests: Read/);
      expect(logged(pull)).not.toContain("tried again");
      expect(asked(title)).toBe(0);
    },
  );
});

describe.concurrent("an installation that is taken away", patient, () => {
  it.each(long ? ["uninstalled", "suspended"] : ["uninstalled"])(
    "An installation that is taken away (%s) while its pull request is read ends the review, once",
    async (how) => {
      const title = `Taken away, ${how}`;
      const gate = Promise.withResolvers<void>();
      held.set(title, gate.promise);
      const pull = opened(title, { ...readable, pull_requests: "write", checks: "write" });
      await pull.deliver("opened");
      await until(() => asked(title) === 1);
      const { installation } = pull.of;
      if (how === "uninstalled") shared.app.github.state.uninstall(installation);
      else installation.suspendedAt = new Date();
      gate.resolve();
      await pull.of.idle();

      await until(() => logged(pull).includes("Job failed"));
      expect(logged(pull)).not.toContain("tried again");
      expect(pull.end()).toMatchObject({ reviews: 0, comments: [], summaries: 0 });
    },
  );
});

describe.concurrent("the context of a change on GitHub", patient, () => {
  const texts = [
    "Totals are off by one",
    "ten was expected",
    "the deploy broke",
    "On purpose, see the manual",
  ];

  /** The texts that appeared in the latest review of the pull request. */
  function shown(title: string): string[] {
    const requests = shared.app.reviewRequests.map(({ body }) => JSON.stringify(body.messages));
    const latest = requests.findLast((text) => text.includes(title)) ?? "";
    return texts.filter((text) => latest.includes(text));
  }

  /** A pull request that references an issue and has failed checks. */
  function surrounded(title: string, permissions?: Permissions): PullOfCase {
    const { github } = shared.app;
    const of = shared.addRepository(base, permissions);
    const { number } = openIssue(github, of.repository, { title: "Totals are off by one" });
    const pull = of.open(head, { title, body: `Fixes #${number}.` });
    const sha = headOf(pull.pull);
    const annotations = [{ path: "src/numbers.js", startLine: 10, endLine: 10, message: "ten was expected" }];
    const failed = { app: otherApp(github), name: "unit", conclusion: "failure", annotations };
    endCheck(github, of.repository, sha, failed);
    setStatus(github, of.repository, sha, { context: "ci", state: "error", description: "the deploy broke" });
    return pull;
  }

  it("The model sees issues, checks, and what people answered to earlier findings", async () => {
    const title = "Well surrounded";
    const pull = surrounded(title);
    await pull.deliver("opened");
    await pull.concluded();
    expect(shown(title)).toEqual(texts.slice(0, 3));

    const comment = pull.pull.reviewComments.find(({ via }) => via === shared.app.app);
    if (!comment) throw new Error("nothing was found");
    shared.app.people.reply(comment, "octocat", "On purpose, see the manual");
    shared.app.people.push(pull.pull, { "src/more.js": numbers(5) });
    await pull.deliver("synchronize");
    await pull.concluded();
    expect(shown(title)).toEqual(["Totals are off by one", "On purpose, see the manual"]);
  });
});
