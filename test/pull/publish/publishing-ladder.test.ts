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

describe("A review that GitHub refuses", () => {
  it("A review that is refused for one comment of twenty is posted once with the others", async () => {
    const github = new MemoryGitHub();
    github.refuses = ({ line }) => line === 13;
    expect(await publish(github, many(20))).toMatchObject({ posted: 19, listed: 1 });
    expect(github.reviews).toHaveLength(1);
    expect(inlineIds(github)).toHaveLength(19);
    expect(summary(github)).toContain("src/a.ts:13");
    expect(summary(github)).toContain("GitHub refused its line");
    expect(github.count("acceptsReview")).toBeLessThanOrEqual(11);
  });

  it("A review that is refused for all comments is in the summary, after a bounded number of questions", async () => {
    const github = new MemoryGitHub();
    github.refuses = () => true;
    expect(await publish(github, many(40))).toMatchObject({ posted: 0, listed: 40 });
    expect(github.count("acceptsReview")).toBeLessThanOrEqual(30);
    expect(github.reviews).toEqual([]);
  });

  it("A review that is refused for a passing reason is posted whole", async () => {
    const github = new MemoryGitHub();
    github.faults.push({ call: "createReview", nth: 1, error: refusal("github_invalid") });
    expect(await publish(github, many(4))).toMatchObject({ posted: 4, listed: 0 });
    expect(github.reviews).toHaveLength(1);
  });

  it("A review that is refused for no comment of it is in the summary", async () => {
    const github = new MemoryGitHub();
    github.faults.push({ call: "createReview", error: refusal("github_invalid") });
    expect(await publish(github, many(4))).toMatchObject({ posted: 0, listed: 4 });
    expect(github.count("createReview")).toBe(2);
  });

  it("A review is annotated if GitHub closes the channel during the questions", async () => {
    const github = new MemoryGitHub();
    github.refuses = ({ line }) => line === 2;
    github.faults.push({ call: "acceptsReview", error: refusal("github_forbidden") });
    expect(await publish(github, many(3))).toMatchObject({ posted: 0, annotated: 3 });
  });
});

describe("A channel that is closed to us", () => {
  const permission = "Give Hunkwise the permission pull_requests=write";

  it("Closed comments on lines move to the check run, and the summary names the permission", async () => {
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

  it("Closed comments on files move to the summary, one by one or all at once", async () => {
    const one = new MemoryGitHub();
    one.refuses = ({ path }) => path === "src/f1.ts";
    expect(await publish(one, onFile(3))).toMatchObject({ posted: 2, listed: 1 });
    const all = new MemoryGitHub();
    all.faults.push({ call: "createFileComment", nth: 2, error: refusal("github_forbidden") });
    expect(await publish(all, onFile(3))).toMatchObject({ posted: 1, listed: 2 });
    expect(all.count("createFileComment")).toBe(2);
  });

  it("Closed comments on lines move to the summary if there is no check run either", async () => {
    const github = withoutReviews();
    github.faults.push({ call: "createCheckRun", error: refusal("github_forbidden") });
    expect(await publish(github, many(3))).toMatchObject({ posted: 0, annotated: 0, listed: 3 });
    for (const line of [1, 2, 3]) expect(summary(github)).toContain(`src/a.ts:${line}`);
    expect(summary(github)).toContain("neither comments on lines nor annotations are possible here");
    expect(summary(github)).toContain("No check run");
  });

  it("A closed summary moves to the check run", async () => {
    const github = withoutReviews();
    github.faults.push({ call: "createComment", error: refusal("github_forbidden", permission) });
    const outcome = await publish(github, many(3));
    expect(outcome).toMatchObject({ kind: "published", posted: 0, annotated: 3, listed: 0 });
    const text = last(github)?.text ?? "";
    for (const line of [1, 2, 3]) expect(text).toContain(`src/a.ts#L${line}`);
    expect(text).toContain("No summary comment");
    expect(text).toContain("</details>");
  });

  it("Closed checks are named in the summary", async () => {
    const github = new MemoryGitHub();
    github.faults.push({
      call: "createCheckRun",
      error: refusal("github_forbidden", "Give Hunkwise the permission checks=write"),
    });
    const outcome = await publish(github, many(1));
    expect(outcome).toMatchObject({ notices: [expect.stringContaining("checks=write")] });
    expect(summary(github)).toContain("No check run");
  });

  it("Checks that close at the very end are named in the summary too", async () => {
    const github = new MemoryGitHub();
    github.faults.push({ call: "updateCheckRun", error: refusal("github_forbidden") });
    expect(await publish(github, many(1))).toMatchObject({
      notices: [expect.stringContaining("No check run")],
    });
    expect(github.comments).toHaveLength(1);
    expect(summary(github)).toContain("⚠️ No check run");
  });

  it("Closed summary and checks are a failure that says what was posted", async () => {
    const github = new MemoryGitHub();
    for (const call of ["createComment", "updateCheckRun"] as const)
      github.faults.push({ call, error: refusal("github_forbidden") });
    await expect(publish(github, many(2))).rejects.toMatchObject({
      message: expect.stringMatching(
        /^The summary and the check run could not be posted; only 2 findings could be posted\. No s/,
      ),
    });
  });

  it("Closed channels of all kinds are a failure that says so", async () => {
    const github = new MemoryGitHub();
    for (const call of ["createReview", "createComment", "createCheckRun"] as const)
      github.faults.push({ call, error: refusal("github_forbidden") });
    await expect(publish(github, many(1))).rejects.toMatchObject({
      code: "github_forbidden",
      message: expect.stringContaining("Nothing could be posted"),
    });
  });
});

describe("Annotations of findings", () => {
  it("Annotations are sent fifty at a time", async () => {
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
  ] as const)("Annotations whose answer is lost exist once if the request %s", async (_name, when) => {
    const github = withoutReviews();
    github.faults.push({ call: "updateCheckRun", nth: 2, when, error: ambiguous() });
    await publish(github, many(70), { maxComments: 100 });
    expect(places(github)).toHaveLength(70);
    expect(new Set(places(github)).size).toBe(70);
    expect(summary(github)).toContain("70 findings are annotations");
  });

  it("Annotations exist once after a crash between two requests", async () => {
    const github = withoutReviews();
    const killed = new AppError("aborted", "killed");
    github.faults.push({ call: "updateCheckRun", nth: 2, error: killed });
    await expect(publish(github, many(70), { maxComments: 100 })).rejects.toBe(killed);
    expect(places(github)).toHaveLength(50);
    expect(await publish(github, many(70), { maxComments: 100 })).toMatchObject({ annotated: 70 });
    expect(new Set(places(github)).size).toBe(70);
    expect(places(github)).toHaveLength(70);
  });

  it("Annotations of an interrupted attempt stay the only place of their findings", async () => {
    const github = withoutReviews();
    github.faults.push({ call: "createComment", nth: 1, error: new AppError("aborted", "killed") });
    await expect(publish(github, many(2))).rejects.toThrow("killed");
    github.faults.length = 0;
    expect(await publish(github, many(3))).toMatchObject({ annotated: 2, posted: 1 });
    expect(inlineIds(github)).toEqual(["src/a.ts:3"]);
  });

  it("Annotations of another review of the same head are not repeated", async () => {
    const github = withoutReviews();
    await publish(github, many(2));
    expect(await publish(github, many(3), { trigger: "comment:5" })).toMatchObject({
      annotated: 1,
      postedBefore: 2,
    });
    expect(places(github)).toHaveLength(3);
    expect(summary(github)).toContain("Reported earlier, and still present");
  });

  it("Annotations that GitHub refuses are in the summary, and the others exist", async () => {
    const github = withoutReviews();
    github.faults.push({ call: "updateCheckRun", nth: 1, error: refusal("github_invalid") });
    expect(await publish(github, many(60), { maxComments: 100 })).toMatchObject({
      annotated: 10,
      listed: 50,
    });
    expect(summary(github)).toContain("GitHub refused its annotation");
  });

  it("Annotations of a check that closes halfway are in the summary with the rest", async () => {
    const github = withoutReviews();
    github.faults.push({ call: "updateCheckRun", nth: 2, error: refusal("github_forbidden") });
    expect(await publish(github, many(60), { maxComments: 100 })).toMatchObject({
      annotated: 50,
      listed: 10,
    });
    expect(summary(github)).toContain("⚠️ No annotations");
  });

  it("Annotations are not read if there is no need of them", async () => {
    const github = new MemoryGitHub();
    await publish(github, many(2));
    expect(github.count("ownAnnotations")).toBe(0);
  });
});

describe("The cap on comments", () => {
  it("The cap is the reason that is given, also after an interruption", async () => {
    const github = new MemoryGitHub();
    github.faults.push({ call: "createComment", nth: 1, error: new AppError("aborted", "killed") });
    await expect(publish(github, many(3), { maxComments: 2 })).rejects.toThrow("killed");
    await publish(github, many(3), { maxComments: 2 });
    expect(summary(github)).toContain("a review has at most 2 comments");
  });
});

describe("A pending review of an interrupted question", () => {
  it("The pending review is deleted before it can block a comment on a file", async () => {
    const github = new MemoryGitHub();
    github.pending = true;
    expect(await publish(github, onFile(2))).toMatchObject({ posted: 2, listed: 0 });
  });

  it("The pending review costs no question if it blocked the review", async () => {
    const github = new MemoryGitHub();
    github.pending = true;
    expect(await publish(github, many(2))).toMatchObject({ posted: 2, listed: 0 });
    expect(github.count("acceptsReview")).toBe(0);
  });
});
