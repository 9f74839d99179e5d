import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type AppUnderTest, startApp } from "../support/app-under-test.ts";
import type { FaultKind } from "../support/github-double/faults.ts";
import { finding, finish, numbers, patient, turn } from "./conformance-fixture.ts";
import { type EndState, type PullOfCase, type SharedApp, startSharedApp } from "./shared-app.ts";

/*
 * The same review with a GitHub that fails in every way at every kind of write. The result is always: one review, each finding once, one
 * summary, a concluded check run, and no turn of the model paid twice.
 */

const base = { "src/numbers.js": numbers(60) };
const head = { "src/numbers.js": numbers(60, { 10: "const n10 = 0;", 40: "const n40 = 0;" }) };
const findings = turn(
  finding({ line: 10, quote: "const n10 = 0;" }),
  finding({ line: 40, quote: "const n40 = 0;" }),
  // Outside every hunk: a comment on the file.
  finding({ line: 55, quote: "const n55 = 55;" }),
  finish,
);
const titles = ["Line 10 is wrong", "Line 40 is wrong", "Line 55 is wrong"];
const [line10, line40, file] = ["src/numbers.js RIGHT 10", "src/numbers.js RIGHT 40", "src/numbers.js"];
/** A file comment adds a separate review. */
const asItShallBe: EndState = {
  reviews: 2,
  comments: [line10, line40, file],
  summaries: 1,
  checks: ["neutral"],
};

const routes = {
  "the review": "POST /pulls/1/reviews",
  "the comment on a file": "POST /pulls/1/comments",
  "the summary": "POST /issues/1/comments",
  "opening the check run": "POST /check-runs",
  "concluding the check run": "PATCH /check-runs/\\d+",
} as const;
type Step = keyof typeof routes;

/**
 * Transient faults are tested at every call of a review in fault-at-k.slow.test.ts, and at every write in test/report; here, at one kind of
 * write at a time, only in `npm run test:slow`. `npm test` tests permanent faults and the death of a process.
 */
const long = process.env.HUNKWISE_LONG === "1";

// They wait more than they work.
vi.setConfig({ maxConcurrency: 8 });

let shared: SharedApp;
beforeAll(async () => {
  shared = await startSharedApp({ script: () => findings });
});
afterAll(async () => {
  const { github, model } = shared.app;
  await shared[Symbol.asyncDispose]();
  expect(github.violations).toEqual([]);
  expect(model?.complaints).toEqual([]);
});

/** A pull request that was reviewed with the planned faults, when no job is left. */
async function reviewed(plan: (pull: PullOfCase) => void, title: string): Promise<PullOfCase> {
  const pull = shared.addRepository(base).open(head, { title });
  plan(pull);
  await pull.deliver("opened");
  await pull.of.idle();
  const asked = shared.app.reviewRequests.filter(({ body }) => JSON.stringify(body.messages).includes(title));
  expect(asked).toHaveLength(1);
  return pull;
}

/** Number of comments for each finding. */
const timesPosted = ({ pull }: PullOfCase) =>
  titles.map((title) => pull.reviewComments.filter(({ body }) => body.includes(title)).length);

function expectWhole(pull: PullOfCase): void {
  expect(pull.end()).toEqual(asItShallBe);
  expect(timesPosted(pull)).toEqual([1, 1, 1]);
  expect(pull.check()?.output.title).toMatch(/found/);
}

const answer = (status: number): FaultKind => ({ answer: { status, body: { message: "Server Error" } } });
const kinds: [name: string, kind: () => FaultKind, steps: readonly Step[]][] = [
  ["is done, and the connection breaks", () => "reset-after", Object.keys(routes) as Step[]],
  ["is done, and the answer is a 502 page", () => "bad-gateway-after", ["the review", "the summary"]],
  ["is done, and half an answer arrives", () => "truncated", ["the review"]],
  ["meets a broken connection", () => "reset-before", ["the review", "concluding the check run"]],
  ["meets a 500", () => answer(500), Object.keys(routes) as Step[]],
  ["meets a 502 page", () => "bad-gateway", Object.keys(routes) as Step[]],
  ["meets a 429", () => ({ secondaryLimit: 429, retryAfterSeconds: 1 }), ["the review", "the summary"]],
  [
    "meets a secondary limit with retry-after",
    () => ({ secondaryLimit: 403, retryAfterSeconds: 2 }),
    ["the review", "opening the check run"],
  ],
  [
    "meets the primary limit",
    () => ({ primaryLimitUntil: new Date(Date.now() + 4_000) }),
    ["the review", "the comment on a file"],
  ],
  ["meets a stale token", () => answer(401), ["the review"]],
];
const cases = kinds.flatMap(([what, kind, steps]) => steps.map((step) => ({ what, kind, step })));

describe.concurrent("a review beside faults", patient, () => {
  const start = (script: Parameters<typeof startApp>[0]["script"]) =>
    startApp({ base, head, ...(script ? { script } : {}) });
  const ours = ({ pull, app }: AppUnderTest) => ({
    reviews: pull.reviews.filter(({ body }) => body.includes("hunkwise:review")).length,
    comments: pull.reviewComments.map(({ body }) => titles.findIndex((title) => body.includes(title))),
    summaries: pull.comments.filter(({ via }) => via === app).length,
  });

  // In `npm test`, kill.test.ts kills a server at twenty moments.
  it.runIf(long)(
    "After a kill right behind GitHub's answer the next server posts the rest, and asks no model",
    async () => {
      await using app = await start(() => findings);
      await app.send("opened");
      await app.github.until(() => app.pull.reviews.length === 1, 500_000);
      await app.killAndRestart();
      await app.concluded();

      expect(ours(app)).toEqual({ reviews: 1, comments: [0, 1, 2], summaries: 1 });
      expect(app.repository.checkRuns).toMatchObject([{ conclusion: "neutral" }]);
      expect(app.reviewRequests).toHaveLength(1);
    },
  );

  it("A review whose process dies is tried again, in a new one", async () => {
    await using app = await start(async (_body, n) => {
      if (n === 0) killReviewProcesses(app);
      return findings;
    });
    await app.send("opened");
    await app.github.until(
      () => app.repository.checkRuns[0]?.output.title?.includes("found") ?? false,
      120_000,
    );

    expect(ours(app)).toEqual({ reviews: 1, comments: [0, 1, 2], summaries: 1 });
    expect(app.repository.checkRuns).toMatchObject([{ conclusion: "neutral" }]);
  });
});

/** Kills the server's review processes, as the kernel does when memory runs out. */
function killReviewProcesses({ server }: AppUnderTest): void {
  const children = execFileSync("ps", ["-o", "pid=,args=", "--ppid", String(server.process.pid)], {
    encoding: "utf8",
  });
  const reviewing = children.split("\n").filter((line) => line.includes("review-process"));
  if (reviewing.length === 0) throw new Error(`no review process among:\n${children}`);
  for (const line of reviewing) process.kill(Number.parseInt(line, 10), "SIGKILL");
}

describe.runIf(long).concurrent("a review beside a fault at a step", patient, () => {
  it.each(cases)("A review is published once, and whole, when $step $what", async ({ what, kind, step }) => {
    const pull = await reviewed((one) => one.of.fault(routes[step], kind()), `${step} ${what}`);

    expect(pull.struck()).toHaveLength(1);
    expectWhole(pull);
  });

  it("A review survives that git cannot fetch at first", async () => {
    const pull = await reviewed((one) => {
      one.of.breakGit("bad-gateway");
    }, "No git at first");

    expect(shared.app.github.faults.struck.join()).toContain(`${pull.of.repository.name}.git/`);
    expectWhole(pull);
  });

  it("A review survives that GitHub refuses it once for a valid comment", async () => {
    const pull = await reviewed((one) => one.of.fault(routes["the review"], answer(422)), "A 422 by mistake");

    expectWhole(pull);
  });

  it("A review survives a 502 to the first request of each kind that reads existing comments", async () => {
    const questions = ["/pulls/1", "/pulls/1/reviews", "/pulls/1/comments", "/issues/1/comments"];
    const pull = await reviewed((one) => {
      for (const path of [...questions, "/contents/.*", "/commits/.*"])
        one.of.fault(`GET ${path}`, "bad-gateway");
    }, "Every question twice");

    expect(pull.struck()).toHaveLength(6);
    expectWhole(pull);
  });

  it.each(["reset-after", "bad-gateway"] as const)(
    "A review survives that editing the summary after a push meets %s",
    async (kind) => {
      const pull = await reviewed(() => {}, `An edit that meets ${kind}`);
      const before = pull.summary();
      shared.app.people.push(pull.pull, { "src/more.js": "export const more = 1;\n" });
      pull.of.fault("PATCH /issues/comments/\\d+", kind);
      await pull.deliver("synchronize");
      await pull.concluded();

      expect(pull.struck()).toHaveLength(1);
      expect(pull.end()).toEqual({ ...asItShallBe, checks: ["neutral", "neutral"] });
      expect(pull.summary()).not.toBe(before);
    },
  );
});

describe.concurrent("findings that GitHub refuses", patient, () => {
  const places = (pull: PullOfCase) => [
    ...pull.pull.reviewComments.map(({ body }) => body),
    ...pull.of.repository.checkRuns.flatMap(({ annotations }) =>
      annotations.map((one) => JSON.stringify(one)),
    ),
    pull.summary(),
  ];
  const isSomewhere = (pull: PullOfCase) =>
    titles.map((title) => places(pull).some((text) => text.includes(title)));

  it("No finding is lost when one comment is refused for good: the others are on their lines", async () => {
    // The review, the test of all its comments, and the test of the second half.
    const pull = await reviewed((one) => {
      for (const nth of [1, 2, 4]) one.of.fault(routes["the review"], answer(422), nth);
    }, "One comment refused");

    expect(pull.end().comments).toEqual([line10, file]);
    expect(isSomewhere(pull)).toEqual([true, true, true]);
    expect(pull.pull.reviews.map(({ state }) => state)).not.toContain("PENDING");
  });

  it("No finding is lost when all comments are refused for good", async () => {
    const pull = await reviewed((one) => {
      one.of.fault(routes["the review"], answer(422), "all");
      one.of.fault(routes["the comment on a file"], answer(422), "all");
    }, "All comments refused");

    expect(pull.end()).toEqual({ reviews: 0, comments: [], summaries: 1, checks: ["neutral"] });
    expect(isSomewhere(pull)).toEqual([true, true, true]);
  });
});

describe.runIf(long).concurrent("a review that GitHub refuses for minutes", { timeout: 1_000_000 }, () => {
  it("A review is published once after a secondary limit that does not say how long", async () => {
    const kind: FaultKind = { secondaryLimit: 403 };
    const pull = await reviewed((one) => one.of.fault(routes["the review"], kind), "A wordless limit");

    expectWhole(pull);
  });

  it("A review is published once although GitHub takes none for so long that the attempt ends", async () => {
    const pull = await reviewed((one) => {
      for (const nth of [1, 2, 3]) one.of.fault(routes["the review"], "bad-gateway", nth);
    }, "Three times 502");

    expectWhole(pull);
  });
});
