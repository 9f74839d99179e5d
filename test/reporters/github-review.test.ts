import { describe, expect, it } from "vitest";
import { AppError } from "../../src/errors.ts";
import type { Finding } from "../../src/finding.ts";
import type { PullRequestApi } from "../../src/github/pull-request-api.ts";
import { openCheckRun } from "../../src/reporters/check-run.ts";
import { type PublishOptions, publishReview } from "../../src/reporters/github-review.ts";
import { formatMarker, parseMarker } from "../../src/reporters/markers.ts";
import type { Placement } from "../../src/review/review-result.ts";
import { ambiguous, head, MemoryGitHub, refusal } from "./memory-github.ts";
import { sampleFinding, sampleResult } from "./sample-result.ts";

const placed = (over: Partial<Finding>, placement: Placement = { kind: "inline" }) => ({
  finding: sampleFinding({ id: `${over.path}:${over.line}`, ...over }),
  placement,
});
const many = (count: number, over: Partial<Finding> = {}) =>
  Array.from({ length: count }, (_, index) => placed({ path: "src/a.ts", line: index + 1, ...over }));
const onFile = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    placed({ path: `src/f${index}.ts`, line: 1 }, { kind: "file", reason: "its lines are not in the diff" }),
  );

async function publish(github: MemoryGitHub, findings = many(2), over: Partial<PublishOptions> = {}) {
  const trigger = over.trigger ?? "event";
  const sleep = async () => {};
  const check = await openCheckRun(github, head, trigger, sleep);
  return publishReview({
    result: sampleResult({ findings }),
    api: github,
    trigger,
    repositoryUrl: "https://github.com/octo/shop",
    version: "0.1.0",
    maxComments: 40,
    checkPolicy: { threshold: "high", fail: false },
    check,
    sleep,
    ...over,
  });
}

const summary = (github: MemoryGitHub) => github.comments[0]?.body ?? "";
const conclusion = (github: MemoryGitHub) => github.checks[0]?.history.at(-1)?.conclusion;
const inlineIds = (github: MemoryGitHub) =>
  github.reviews.flatMap(({ comments }) => comments.map(({ path, line }) => `${path}:${line}`));

describe("publishing", () => {
  it("posts one review with its comments, one summary, and concludes the check", async () => {
    const github = new MemoryGitHub();
    const findings = [
      ...many(2),
      ...onFile(1),
      placed({ path: "gone.ts", line: 3 }, { kind: "summary", reason: "the file is binary" }),
    ];
    expect(await publish(github, findings)).toEqual({
      kind: "published",
      posted: 3,
      listed: 1,
      standing: 0,
      notices: [],
    });
    expect(github.reviews).toHaveLength(1);
    expect(github.reviews[0]?.comments).toMatchObject([
      { path: "src/a.ts", side: "RIGHT", line: 1, startLine: null },
      { path: "src/a.ts", side: "RIGHT", line: 2, startLine: null },
    ]);
    expect(parseMarker(github.reviews[0]?.body ?? "")).toEqual({ kind: "review", head, trigger: "event" });
    expect(github.fileComments.map(({ path }) => path)).toEqual(["src/f0.ts"]);
    expect(github.comments).toHaveLength(1);
    expect(summary(github)).toContain("Not on its line: the file is binary.");
    expect(github.checks[0]?.history.map(({ status, conclusion }) => conclusion ?? status)).toEqual([
      "in_progress",
      "neutral",
    ]);
  });

  it("posts no review when there is nothing to say on a line", async () => {
    const github = new MemoryGitHub();
    await publish(github, []);
    expect(github.reviews).toEqual([]);
    expect(summary(github)).toContain("Hunkwise found no problems");
    expect(conclusion(github)).toBe("success");
  });

  it("puts the most severe first, and what is more than the cap into the summary", async () => {
    const github = new MemoryGitHub();
    const findings = [
      ...many(3, { severity: "low" }),
      placed({ path: "src/z.ts", line: 9, severity: "critical" }),
    ];
    expect(await publish(github, findings, { maxComments: 2 })).toMatchObject({ posted: 2, listed: 2 });
    expect(inlineIds(github)).toEqual(["src/z.ts:9", "src/a.ts:1"]);
    expect(summary(github)).toContain("a review has at most 2 comments on lines");
  });

  it("posts at most five comments on files", async () => {
    const github = new MemoryGitHub();
    expect(await publish(github, onFile(7))).toMatchObject({ posted: 5, listed: 2 });
    expect(github.fileComments).toHaveLength(5);
    expect(summary(github)).toContain("src/f6.ts");
  });

  it("posts nothing on lines or files when the cap is none", async () => {
    const github = new MemoryGitHub();
    expect(await publish(github, [...many(1), ...onFile(1)], { maxComments: 0 })).toMatchObject({
      posted: 0,
      listed: 2,
    });
    expect(github.count("createReview") + github.count("createFileComment")).toBe(0);
  });

  it("edits its summary in place, and only when it says something new", async () => {
    const github = new MemoryGitHub();
    github.comments.push({ id: 1, body: "an ordinary comment of ours" });
    await publish(github, []);
    await publish(github, []);
    expect(github.count("updateComment")).toBe(0);
    await publish(github, many(1), { trigger: "comment:5" });
    expect(github.count("createComment")).toBe(1);
    expect(github.count("updateComment")).toBe(1);
    expect(github.comments).toHaveLength(2);
    expect(github.comments[0]?.body).toBe("an ordinary comment of ours");
  });

  it("writes a new summary when somebody deletes the old one meanwhile", async () => {
    const github = new MemoryGitHub();
    await publish(github, []);
    github.meanwhile = (call) => {
      if (call === "updateComment") github.comments.length = 0;
    };
    await publish(github, many(1), { trigger: "comment:5" });
    expect(github.comments).toHaveLength(1);
  });
});

describe("a pull request that moved on", () => {
  it("gets nothing for its old head", async () => {
    const github = new MemoryGitHub();
    github.state.headSha = "c".repeat(40);
    expect(await publish(github)).toEqual({
      kind: "stale_head",
      reason: `the head moved on to ${"c".repeat(40)}`,
    });
    expect([github.reviews, github.comments]).toEqual([[], []]);
    expect(conclusion(github)).toBe("cancelled");
  });

  it("gets nothing when it is closed", async () => {
    const github = new MemoryGitHub();
    github.state.state = "closed";
    expect(await publish(github)).toMatchObject({ kind: "closed" });
    expect([github.reviews, github.comments]).toEqual([[], []]);
    expect(conclusion(github)).toBe("cancelled");
  });

  it("is noticed when the move made GitHub refuse the review", async () => {
    const github = new MemoryGitHub();
    github.refuses = () => true;
    github.meanwhile = (call) => {
      if (call === "createReview") github.state.headSha = "c".repeat(40);
    };
    expect(await publish(github)).toMatchObject({ kind: "stale_head" });
    expect(github.comments).toEqual([]);
    expect(conclusion(github)).toBe("cancelled");
  });
});

describe("publishing again", () => {
  it("changes nothing when all stands", async () => {
    const github = new MemoryGitHub();
    const findings = [...many(2), ...onFile(1)];
    const first = await publish(github, findings);
    const before = structuredClone({ ...github.comments, ...github.reviews, ...github.fileComments });
    expect(await publish(github, findings)).toEqual(first);
    expect({ ...github.comments, ...github.reviews, ...github.fileComments }).toEqual(before);
    expect(github.count("createReview")).toBe(1);
    expect(github.checks).toHaveLength(1);
  });

  const calls: (keyof PullRequestApi)[] = [
    "pull",
    "ownReviews",
    "ownReviewComments",
    "createReview",
    "createFileComment",
    "ownComments",
    "createComment",
    "updateCheckRun",
    "createCheckRun",
    "findCheckRun",
  ];
  it.each(calls.flatMap((call) => (["before", "after"] as const).map((when) => [when, call] as const)))(
    "after a crash %s %s ends in the same state",
    async (when, call) => {
      const findings = [
        ...many(2),
        ...onFile(2),
        placed({ path: "s.ts", line: 1 }, { kind: "summary", reason: "why" }),
      ];
      const whole = new MemoryGitHub();
      await publish(whole, findings);

      const github = new MemoryGitHub();
      // A failure that nothing in the reporter deals with, as if the process had died there.
      github.faults.push({ call, nth: 1, when, error: new AppError("aborted", "killed") });
      await publish(github, findings).catch(() => undefined);
      await publish(github, findings);
      expect(inlineIds(github)).toEqual(inlineIds(whole));
      expect(github.reviews).toHaveLength(1);
      expect(github.fileComments.map(({ body }) => body)).toEqual(whole.fileComments.map(({ body }) => body));
      expect(github.comments.map(({ body }) => body)).toEqual(whole.comments.map(({ body }) => body));
      expect(github.checks).toHaveLength(1);
      expect(github.checks[0]?.history.at(-1)).toEqual(whole.checks[0]?.history.at(-1));
    },
  );

  it("for another trigger does not say the same thing twice", async () => {
    const github = new MemoryGitHub();
    await publish(github, many(2));
    expect(await publish(github, many(3), { trigger: "comment:5" })).toMatchObject({
      posted: 1,
      standing: 2,
    });
    expect(inlineIds(github)).toEqual(["src/a.ts:1", "src/a.ts:2", "src/a.ts:3"]);
    expect(summary(github)).toContain("Already reported, and still there");
  });

  it("lists what a review that stands did not have", async () => {
    const github = new MemoryGitHub();
    await publish(github, many(1));
    expect(await publish(github, many(2))).toMatchObject({ posted: 1, listed: 1 });
    expect(github.reviews).toHaveLength(1);
    expect(summary(github)).toContain("was posted without it");
  });

  it("takes no marker for its own that only stands in the middle of a text", async () => {
    const github = new MemoryGitHub();
    const marker = formatMarker({ kind: "review", head, trigger: "event" });
    github.reviews.push({ id: 1, body: `${marker}\n\nsaid a model`, comments: [] });
    expect(await publish(github, many(1))).toMatchObject({ posted: 1 });
  });

  it("names a finding once, though it comes twice", async () => {
    const github = new MemoryGitHub();
    const twice = [
      placed({ id: "same", path: "a.ts", line: 1 }),
      placed({ id: "same", path: "a.ts", line: 9 }),
    ];
    expect(await publish(github, twice)).toMatchObject({ posted: 1, listed: 1 });
  });
});

describe("an answer that never came", () => {
  const creations = ["createReview", "createFileComment", "createComment", "createCheckRun"] as const;

  it.each(creations)("of %s, which was carried out, is no reason to do it again", async (call) => {
    const github = new MemoryGitHub();
    github.faults.push({ call, nth: 1, when: "after", error: ambiguous() });
    await publish(github, [...many(1), ...onFile(1)]);
    expect(github.count(call)).toBe(1);
    expect(
      [github.reviews, github.fileComments, github.comments, github.checks].map((all) => all.length),
    ).toEqual([1, 1, 1, 1]);
  });

  it.each(creations)("of %s, which was not carried out, is followed by another try", async (call) => {
    const github = new MemoryGitHub();
    github.faults.push({ call, nth: 1, error: ambiguous() });
    await publish(github, [...many(1), ...onFile(1)]);
    expect(github.count(call)).toBe(2);
    expect(
      [github.reviews, github.fileComments, github.comments, github.checks].map((all) => all.length),
    ).toEqual([1, 1, 1, 1]);
  });

  it.each(creations)("of %s, again and again, leaves it to the job to come back", async (call) => {
    const github = new MemoryGitHub();
    github.faults.push({ call, error: ambiguous() });
    await expect(publish(github, [...many(1), ...onFile(1)])).rejects.toMatchObject({
      code: "github_failed",
      retryable: true,
    });
    expect(github.count(call)).toBe(3);
  });

  it("is not taken for a refusal: a rate limit parks the job and nothing is lost to it", async () => {
    const github = new MemoryGitHub();
    const limit = new AppError("github_rate_limited", "later", { retryable: true, retryAfterMs: 9_000 });
    github.faults.push({ call: "createReview", nth: 1, error: limit });
    await expect(publish(github)).rejects.toBe(limit);
    expect(github.comments).toEqual([]);
    expect(await publish(github)).toMatchObject({ posted: 2, listed: 0 });
  });
});

describe("a review that GitHub refuses", () => {
  it("for one comment of twenty is posted with the other nineteen, once", async () => {
    const github = new MemoryGitHub();
    github.refuses = ({ line }) => line === 13;
    expect(await publish(github, many(20))).toMatchObject({ posted: 19, listed: 1 });
    expect(github.reviews).toHaveLength(1);
    expect(inlineIds(github)).toHaveLength(19);
    expect(summary(github)).toContain("src/a.ts:13");
    expect(summary(github)).toContain("GitHub refused its place");
    expect(github.count("acceptsReview")).toBeLessThanOrEqual(11);
  });

  it("for all of them is told in the summary alone, with a bounded number of questions", async () => {
    const github = new MemoryGitHub();
    github.refuses = () => true;
    expect(await publish(github, many(40))).toMatchObject({ posted: 0, listed: 40 });
    expect(github.count("acceptsReview")).toBeLessThanOrEqual(30);
    expect(github.reviews).toEqual([]);
  });

  it("for a reason that is gone is posted whole", async () => {
    const github = new MemoryGitHub();
    github.faults.push({ call: "createReview", nth: 1, error: refusal("github_invalid") });
    expect(await publish(github, many(4))).toMatchObject({ posted: 4, listed: 0 });
    expect(github.reviews).toHaveLength(1);
  });

  it("for a reason that none of its comments has is told in the summary", async () => {
    const github = new MemoryGitHub();
    github.faults.push({ call: "createReview", error: refusal("github_invalid") });
    expect(await publish(github, many(4))).toMatchObject({ posted: 0, listed: 4 });
    expect(github.count("createReview")).toBe(2);
  });

  it("is told in the summary when GitHub cannot be asked which comment was wrong", async () => {
    const github = new MemoryGitHub();
    github.refuses = ({ line }) => line === 2;
    github.faults.push({ call: "acceptsReview", error: refusal("github_forbidden") });
    expect(await publish(github, many(3))).toMatchObject({ posted: 0, listed: 3 });
  });
});

describe("a channel that is closed to us", () => {
  const permission = "Give the GitHub App the permission pull_requests=write";

  it("hands the comments on lines to the summary, which names the permission", async () => {
    const github = new MemoryGitHub();
    github.faults.push({ call: "createReview", error: refusal("github_forbidden", permission) });
    const outcome = await publish(github, many(3));
    expect(outcome).toMatchObject({ kind: "published", posted: 0, listed: 3 });
    expect(summary(github)).toContain("No comments on lines: GitHub answered with github\\_forbidden");
    expect(summary(github)).toContain("pull\\_requests=write");
    for (const line of [1, 2, 3]) expect(summary(github)).toContain(`src/a.ts:${line}`);
  });

  it("hands comments on files to the summary, one by one or all at once", async () => {
    const one = new MemoryGitHub();
    one.refuses = ({ path }) => path === "src/f1.ts";
    expect(await publish(one, onFile(3))).toMatchObject({ posted: 2, listed: 1 });
    const all = new MemoryGitHub();
    all.faults.push({ call: "createFileComment", nth: 2, error: refusal("github_forbidden") });
    expect(await publish(all, onFile(3))).toMatchObject({ posted: 1, listed: 2 });
    expect(all.count("createFileComment")).toBe(2);
  });

  it("hands the summary to the check run", async () => {
    const github = new MemoryGitHub();
    for (const call of ["createReview", "createComment"] as const)
      github.faults.push({ call, error: refusal("github_forbidden", permission) });
    const outcome = await publish(github, many(3));
    expect(outcome).toMatchObject({ kind: "published", posted: 0, listed: 3 });
    const text = github.checks[0]?.history.at(-1)?.summary ?? "";
    for (const line of [1, 2, 3]) expect(text).toContain(`src/a.ts:${line}`);
    expect(text).toContain("No summary comment");
  });

  it("for checks is told in the summary", async () => {
    const github = new MemoryGitHub();
    github.faults.push({
      call: "createCheckRun",
      error: refusal("github_forbidden", "Give the GitHub App the permission checks=write"),
    });
    const outcome = await publish(github, many(1));
    expect(outcome).toMatchObject({ notices: [expect.stringContaining("checks=write")] });
    expect(summary(github)).toContain("No check run");
  });

  it("and every other one too, is a failure that says so", async () => {
    const github = new MemoryGitHub();
    for (const call of ["createReview", "createComment", "createCheckRun"] as const)
      github.faults.push({ call, error: refusal("github_forbidden") });
    await expect(publish(github, many(1))).rejects.toMatchObject({
      code: "github_forbidden",
      message: expect.stringContaining("Nothing could be posted"),
    });
  });
});
