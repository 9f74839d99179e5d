import { describe, expect, it } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import { ambiguous, MemoryGitHub, refusal } from "./memory-github.ts";
import { inlineIds, many, onFile, placed, publish, summary } from "./publish-to-memory.ts";

const permission = 'Give Hunkwise the permission "Pull requests: Read and write"';
const last = (github: MemoryGitHub) => github.checks[0]?.history.at(-1);
const annotations = (github: MemoryGitHub) =>
  github.checks.flatMap(({ history }) => history.flatMap((update) => update.annotations ?? []));
const places = (github: MemoryGitHub) => annotations(github).map(({ path, endLine }) => `${path}:${endLine}`);
const withoutReviews = () => {
  const github = new MemoryGitHub();
  github.faults.push({ call: "createReview", error: refusal("github_forbidden", permission) });
  return github;
};

describe("a review that GitHub refuses", () => {
  it("for one comment of twenty is posted with the other nineteen, once", async () => {
    const github = new MemoryGitHub();
    github.refuses = ({ line }) => line === 13;
    expect(await publish(github, many(20))).toMatchObject({ posted: 19, listed: 1 });
    expect(github.reviews).toHaveLength(1);
    expect(inlineIds(github)).toHaveLength(19);
    expect(summary(github)).toContain("src/a.ts:13");
    expect(summary(github)).toContain("GitHub refused its line");
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

  it("is annotated when GitHub closes the channel while it is asked which comment was wrong", async () => {
    const github = new MemoryGitHub();
    github.refuses = ({ line }) => line === 2;
    github.faults.push({ call: "acceptsReview", error: refusal("github_forbidden") });
    expect(await publish(github, many(3))).toMatchObject({ posted: 0, annotated: 3 });
  });
});

describe("a channel that is closed to us", () => {
  const permission = "Give Hunkwise the permission pull_requests=write";

  it("hands the comments on lines to the check run, and the summary names the permission", async () => {
    const github = withoutReviews();
    const outcome = await publish(github, [
      ...many(3),
      placed({ id: "gone", path: "src/a.ts", line: 9, side: "LEFT", title: "It was needed" }),
    ]);
    expect(outcome).toMatchObject({ kind: "published", posted: 0, annotated: 3, listed: 1 });
    expect(places(github)).toEqual(["src/a.ts:1", "src/a.ts:2", "src/a.ts:3"]);
    expect(summary(github)).toContain(
      "⚠️ No comments on lines: GitHub answered with github\\_forbidden. Give",
    );
    expect(summary(github)).toContain('"Pull requests: Read and write"');
    expect(summary(github)).toContain("**3 findings are annotations of the [check run](https://github.com/");
    expect(summary(github)).toMatch(/🔴 High: It was needed[\s\S]*an annotation cannot be on a removed line/);
    expect(last(github)).toMatchObject({ status: "completed", conclusion: "neutral" });
    expect(last(github)?.annotations).toBeUndefined();
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

  it("hands the comments on lines to the summary when there is no check run either", async () => {
    const github = withoutReviews();
    github.faults.push({ call: "createCheckRun", error: refusal("github_forbidden") });
    expect(await publish(github, many(3))).toMatchObject({ posted: 0, annotated: 0, listed: 3 });
    for (const line of [1, 2, 3]) expect(summary(github)).toContain(`src/a.ts:${line}`);
    expect(summary(github)).toContain("neither comments on lines nor annotations are possible here");
    expect(summary(github)).toContain("No check run");
  });

  it("hands the summary to the check run", async () => {
    const github = withoutReviews();
    github.faults.push({ call: "createComment", error: refusal("github_forbidden", permission) });
    const outcome = await publish(github, many(3));
    expect(outcome).toMatchObject({ kind: "published", posted: 0, annotated: 3, listed: 0 });
    const text = last(github)?.text ?? "";
    for (const line of [1, 2, 3]) expect(text).toContain(`src/a.ts#L${line}`);
    expect(text).toContain("No summary comment");
    expect(text).toContain("</details>");
  });

  it("for checks is told in the summary", async () => {
    const github = new MemoryGitHub();
    github.faults.push({
      call: "createCheckRun",
      error: refusal("github_forbidden", "Give Hunkwise the permission checks=write"),
    });
    const outcome = await publish(github, many(1));
    expect(outcome).toMatchObject({ notices: [expect.stringContaining("checks=write")] });
    expect(summary(github)).toContain("No check run");
  });

  it("for checks at the very end is told in the summary too", async () => {
    const github = new MemoryGitHub();
    github.faults.push({ call: "updateCheckRun", error: refusal("github_forbidden") });
    expect(await publish(github, many(1))).toMatchObject({
      notices: [expect.stringContaining("No check run")],
    });
    expect(github.comments).toHaveLength(1);
    expect(summary(github)).toContain("⚠️ No check run");
  });

  it("for summary and checks is a failure that does not forget what was posted", async () => {
    const github = new MemoryGitHub();
    for (const call of ["createComment", "updateCheckRun"] as const)
      github.faults.push({ call, error: refusal("github_forbidden") });
    await expect(publish(github, many(2))).rejects.toMatchObject({
      message: expect.stringMatching(
        /^The summary and the check run could not be posted; only 2 findings could be posted\. No s/,
      ),
    });
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

describe("annotations", () => {
  it("are sent fifty at a time", async () => {
    const github = withoutReviews();
    expect(await publish(github, many(100), { maxComments: 100 })).toMatchObject({
      annotated: 100,
      listed: 0,
    });
    expect(github.checks[0]?.history.map((update) => update.annotations?.length)).toEqual([
      undefined,
      50,
      50,
      undefined,
    ]);
    expect(new Set(places(github)).size).toBe(100);
  });

  it.each([
    ["was carried out", "after"],
    ["was not carried out", "before"],
  ] as const)("whose answer is lost stand once, when the request %s", async (_name, when) => {
    const github = withoutReviews();
    github.faults.push({ call: "updateCheckRun", nth: 2, when, error: ambiguous() });
    await publish(github, many(70), { maxComments: 100 });
    expect(places(github)).toHaveLength(70);
    expect(new Set(places(github)).size).toBe(70);
    expect(summary(github)).toContain("70 findings are annotations");
  });

  it("stand once after a crash between two requests", async () => {
    const github = withoutReviews();
    const killed = new AppError("aborted", "killed");
    github.faults.push({ call: "updateCheckRun", nth: 2, error: killed });
    await expect(publish(github, many(70), { maxComments: 100 })).rejects.toBe(killed);
    expect(places(github)).toHaveLength(50);
    expect(await publish(github, many(70), { maxComments: 100 })).toMatchObject({ annotated: 70 });
    expect(new Set(places(github)).size).toBe(70);
    expect(places(github)).toHaveLength(70);
  });

  it("of an interrupted attempt stay the only place of their findings, though the channel opened meanwhile", async () => {
    const github = withoutReviews();
    github.faults.push({ call: "createComment", nth: 1, error: new AppError("aborted", "killed") });
    await expect(publish(github, many(2))).rejects.toThrow("killed");
    github.faults.length = 0;
    expect(await publish(github, many(3))).toMatchObject({ annotated: 2, posted: 1 });
    expect(inlineIds(github)).toEqual(["src/a.ts:3"]);
  });

  it("of another review of the same head are not made again", async () => {
    const github = withoutReviews();
    await publish(github, many(2));
    expect(await publish(github, many(3), { trigger: "comment:5" })).toMatchObject({
      annotated: 1,
      postedBefore: 2,
    });
    expect(places(github)).toHaveLength(3);
    expect(summary(github)).toContain("Reported earlier, and still present");
  });

  it("that GitHub refuses are told in the summary, and the others stand", async () => {
    const github = withoutReviews();
    github.faults.push({ call: "updateCheckRun", nth: 1, error: refusal("github_invalid") });
    expect(await publish(github, many(60), { maxComments: 100 })).toMatchObject({
      annotated: 10,
      listed: 50,
    });
    expect(summary(github)).toContain("GitHub refused its annotation");
  });

  it("of a check that is closed halfway are told in the summary with the rest", async () => {
    const github = withoutReviews();
    github.faults.push({ call: "updateCheckRun", nth: 2, error: refusal("github_forbidden") });
    expect(await publish(github, many(60), { maxComments: 100 })).toMatchObject({
      annotated: 50,
      listed: 10,
    });
    expect(summary(github)).toContain("⚠️ No annotations");
  });

  it("are not asked for where there is no need of them", async () => {
    const github = new MemoryGitHub();
    await publish(github, many(2));
    expect(github.count("ownAnnotations")).toBe(0);
  });
});

describe("the cap on comments", () => {
  it("is the reason that is told, also after an interruption", async () => {
    const github = new MemoryGitHub();
    github.faults.push({ call: "createComment", nth: 1, error: new AppError("aborted", "killed") });
    await expect(publish(github, many(3), { maxComments: 2 })).rejects.toThrow("killed");
    await publish(github, many(3), { maxComments: 2 });
    expect(summary(github)).toContain("a review has at most 2 comments on lines");
  });
});

describe("a pending review that an interrupted question left behind", () => {
  it("is taken away before it can be in the way of a comment on a file", async () => {
    const github = new MemoryGitHub();
    github.pending = true;
    expect(await publish(github, onFile(2))).toMatchObject({ posted: 2, listed: 0 });
  });

  it("costs no question when it was in the way of the review", async () => {
    const github = new MemoryGitHub();
    github.pending = true;
    expect(await publish(github, many(2))).toMatchObject({ posted: 2, listed: 0 });
    expect(github.count("acceptsReview")).toBe(0);
  });
});
