import { describe, expect, it } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import { formatMarker, parseMarker } from "../../../src/core/ledger/marker.ts";
import type { PullRequestApi } from "../../../src/pull/github/pull-request-api.ts";
import { sampleResult, sampleUpdate } from "../../report/sample-result.ts";
import { ambiguous, head, MemoryGitHub, refusal } from "./memory-github.ts";
import { conclusion, inlineIds, many, onFile, placed, publish, summary } from "./publish-to-memory.ts";

const blocking = { threshold: "high", fail: false, blocking: new Set(["no-raw-sql"]) } as const;

describe("Publishing a review", () => {
  it("A publication posts one review with its comments, one summary, and concludes the check", async () => {
    const github = new MemoryGitHub();
    const findings = [
      ...many(2),
      ...onFile(1),
      placed({ path: "gone.ts", line: 3 }, { kind: "summary", reason: "the file is binary" }),
    ];
    expect(await publish(github, findings)).toEqual({
      kind: "published",
      posted: 3,
      annotated: 0,
      listed: 1,
      postedBefore: 0,
      dismissed: 0,
      fixed: 0,
      notices: [],
      findings: {
        ...{ posted: findings.slice(0, 3).map(({ finding }) => finding), annotated: [], postedBefore: [] },
        listed: [{ finding: findings[3]?.finding, reason: "the file is binary" }],
        ...{ entries: [], fixed: [], settled: [] },
      },
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

  it("A publication posts no review if there is nothing to say on a line", async () => {
    const github = new MemoryGitHub();
    await publish(github, []);
    expect(github.reviews).toEqual([]);
    expect(summary(github)).toContain("Hunkwise found no problems");
    expect(conclusion(github)).toBe("success");
  });

  it("A publication puts the most severe first, and the rest beyond the cap into the summary", async () => {
    const github = new MemoryGitHub();
    const findings = [
      ...many(3, { severity: "low" }),
      placed({ path: "src/z.ts", line: 9, severity: "critical" }),
    ];
    expect(await publish(github, findings, { maxComments: 2 })).toMatchObject({ posted: 2, listed: 2 });
    expect(inlineIds(github)).toEqual(["src/z.ts:9", "src/a.ts:1"]);
    expect(summary(github)).toContain("a review has at most 2 comments");
  });

  it("A publication puts the most confident of equally severe findings on lines", async () => {
    const github = new MemoryGitHub();
    const sure = placed({ path: "src/z.ts", line: 9, severity: "medium", confidence: 0.9 });
    const findings = [...many(3, { severity: "medium", confidence: 0.5 }), sure];
    await publish(github, findings, { maxComments: 2 });
    expect(inlineIds(github)).toEqual(["src/z.ts:9", "src/a.ts:1"]);
  });

  it("A publication puts certain findings before all that a model calls critical", async () => {
    const github = new MemoryGitHub();
    const mark = { path: "src/z.ts", line: 9, severity: "high", source: "merge-markers/conflict" } as const;
    const findings = [...many(300, { severity: "critical", body: "It is. ".repeat(400) }), placed(mark)];
    await publish(github, findings, { maxComments: 1 });
    expect(inlineIds(github)).toEqual(["src/z.ts:9"]);

    const listed = new MemoryGitHub();
    await publish(listed, findings, { maxComments: 0 });
    expect(summary(listed)).toContain("src/z.ts");
  });

  it("A publication posts at most five comments on files", async () => {
    const github = new MemoryGitHub();
    expect(await publish(github, onFile(7))).toMatchObject({ posted: 5, listed: 2 });
    expect(github.fileComments).toHaveLength(5);
    expect(summary(github)).toContain("src/f6.ts");
  });

  it("Comments on lines and files share the cap", async () => {
    const github = new MemoryGitHub();
    const findings = [...many(2), ...onFile(3)];
    expect(await publish(github, findings, { maxComments: 3 })).toMatchObject({ posted: 3, listed: 2 });
  });

  it.each([
    [40, 6],
    [41, 10],
  ])(
    "Without a cap of the maintainers, a change of %i hunks gets at most %i comments",
    async (hunks, most) => {
      const sample = sampleResult();
      const result = sampleResult({
        findings: many(20),
        coverage: { ...sample.coverage, hunks_total: hunks, hunks_served: hunks },
      });
      expect(await publish(new MemoryGitHub(), [], { maxComments: null, result })).toMatchObject({
        posted: most,
      });
    },
  );

  it("A publication posts nothing on lines or files if the cap is zero", async () => {
    const github = new MemoryGitHub();
    const blocked = placed({ path: "src/z.ts", line: 9, rule: "no-raw-sql" });
    const findings = [...many(1), ...onFile(1), blocked];
    expect(await publish(github, findings, { maxComments: 0, checkPolicy: blocking })).toMatchObject({
      posted: 0,
      listed: 3,
    });
    expect(github.count("createReview") + github.count("createFileComment")).toBe(0);
  });

  it("A publication gives twenty blocking findings a thread beyond the cap, and the others a number", async () => {
    const github = new MemoryGitHub();
    const rule = { rule: "no-raw-sql", severity: "low" as const };
    const others = many(3, { severity: "high" });
    const blocked = Array.from({ length: 30 }, (_, at) =>
      placed({ path: `src/z${at}.ts`, line: 1, ...rule }),
    );
    const options = {
      maxComments: 2,
      checkPolicy: blocking,
      result: sampleResult({ findings: [...others, ...blocked], ledger: sampleUpdate() }),
    };
    expect(await publish(github, [], options)).toMatchObject({ posted: 22, listed: 11 });
    expect(inlineIds(github).filter((id) => id.startsWith("src/z"))).toHaveLength(20);
    expect(conclusion(github)).toBe("failure");
    expect(summary(github)).toContain("at most 2 comments and 20 more for blocking rules._");
    const numbers = [...summary(github).matchAll(/`\/resolve (\d+)`/g)].map(([, number]) => Number(number));
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 11 }, (_, at) => at + 1));
  });

  it("A publication edits its summary in place, and only if it changed", async () => {
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

  it("A publication writes a new summary if somebody deletes the old one meanwhile", async () => {
    const github = new MemoryGitHub();
    await publish(github, []);
    github.meanwhile = (call) => {
      if (call === "updateComment") github.comments.length = 0;
    };
    await publish(github, many(1), { trigger: "comment:5" });
    expect(github.comments).toHaveLength(1);
  });

  it("A publication writes no second summary if GitHub hides the first only from edits", async () => {
    const github = new MemoryGitHub();
    await publish(github, []);
    github.faults.push({ call: "updateComment", error: refusal("github_not_found") });
    await publish(github, many(1), { trigger: "comment:5" });
    expect(github.comments).toHaveLength(1);
    expect(github.checks[1]?.history.at(-1)?.text).toContain("src/a.ts#L1");
  });
});

describe("A pull request that moved on", () => {
  it("An old head gets nothing", async () => {
    const github = new MemoryGitHub();
    github.state.headSha = "c".repeat(40);
    expect(await publish(github)).toEqual({
      kind: "stale_head",
      reason: `the head is now ${"c".repeat(40)}`,
    });
    expect([github.reviews, github.comments]).toEqual([[], []]);
    expect(conclusion(github)).toBe("cancelled");
  });

  it("A pull request into another branch than was reviewed gets nothing", async () => {
    const github = new MemoryGitHub();
    github.state.baseRef = "release";
    expect(await publish(github)).toEqual({ kind: "other_base", reason: "its base branch is now release" });
    expect([github.reviews, github.comments]).toEqual([[], []]);
    expect(conclusion(github)).toBe("cancelled");
  });

  it("A closed pull request gets nothing", async () => {
    const github = new MemoryGitHub();
    github.state.state = "closed";
    expect(await publish(github)).toMatchObject({ kind: "closed" });
    expect([github.reviews, github.comments]).toEqual([[], []]);
    expect(conclusion(github)).toBe("cancelled");
  });

  it("A moved head is noticed if it made GitHub refuse the review", async () => {
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

describe("Publishing again", () => {
  it("A second publication changes nothing if all exists", async () => {
    const github = new MemoryGitHub();
    const findings = [...many(2), ...onFile(1)];
    const first = await publish(github, findings);
    const before = structuredClone({ ...github.comments, ...github.reviews, ...github.fileComments });
    const { findings: _, ...same } = first as Extract<typeof first, { kind: "published" }>;
    expect(await publish(github, findings)).toMatchObject(same);
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
    "checkRuns",
  ];
  it.each(calls.flatMap((call) => (["before", "after"] as const).map((when) => [when, call] as const)))(
    "A publication after a crash %s %s ends in the same state",
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

  it("A publication for another trigger does not repeat anything", async () => {
    const github = new MemoryGitHub();
    await publish(github, many(2));
    expect(await publish(github, many(3), { trigger: "comment:5" })).toMatchObject({
      posted: 1,
      postedBefore: 2,
    });
    expect(inlineIds(github)).toEqual(["src/a.ts:1", "src/a.ts:2", "src/a.ts:3"]);
    expect(summary(github)).toContain("Reported earlier, and still present");
  });

  it("A publication lists what an existing review did not have", async () => {
    const github = new MemoryGitHub();
    await publish(github, many(1));
    expect(await publish(github, many(2))).toMatchObject({ posted: 1, listed: 1 });
    expect(github.reviews).toHaveLength(1);
    expect(summary(github)).toContain("was already posted");
  });

  it("A publication ignores a marker in the middle of a text", async () => {
    const github = new MemoryGitHub();
    const marker = formatMarker({ kind: "review", head, trigger: "event" });
    github.reviews.push({ id: 1, body: `${marker}\n\nsaid a model`, comments: [] });
    expect(await publish(github, many(1))).toMatchObject({ posted: 1 });
  });

  it("A publication names a finding once, although it comes twice", async () => {
    const github = new MemoryGitHub();
    const twice = [
      placed({ id: "same", path: "a.ts", line: 1 }),
      placed({ id: "same", path: "a.ts", line: 9 }),
    ];
    expect(await publish(github, twice)).toMatchObject({ posted: 1, listed: 1 });
  });
});

describe("An answer that got lost", () => {
  const creations = ["createReview", "createFileComment", "createComment", "createCheckRun"] as const;

  it.each(creations)(
    "A lost answer of %s, which was carried out, is not followed by another try",
    async (call) => {
      const github = new MemoryGitHub();
      github.faults.push({ call, nth: 1, when: "after", error: ambiguous() });
      await publish(github, [...many(1), ...onFile(1)]);
      expect(github.count(call)).toBe(1);
      expect(
        [github.reviews, github.fileComments, github.comments, github.checks].map((all) => all.length),
      ).toEqual([1, 1, 1, 1]);
    },
  );

  it.each(creations)(
    "A lost answer of %s, which was not carried out, is followed by another try",
    async (call) => {
      const github = new MemoryGitHub();
      github.faults.push({ call, nth: 1, error: ambiguous() });
      await publish(github, [...many(1), ...onFile(1)]);
      expect(github.count(call)).toBe(2);
      expect(
        [github.reviews, github.fileComments, github.comments, github.checks].map((all) => all.length),
      ).toEqual([1, 1, 1, 1]);
    },
  );

  it.each(creations)(
    "Lost answers of %s, again and again, leave it to the job to come back",
    async (call) => {
      const github = new MemoryGitHub();
      github.faults.push({ call, error: ambiguous() });
      await expect(publish(github, [...many(1), ...onFile(1)])).rejects.toMatchObject({
        code: "github_failed",
        retryable: true,
      });
      expect(github.count(call)).toBe(3);
    },
  );

  it("A rate limit is no refusal: it parks the job, and nothing is lost", async () => {
    const github = new MemoryGitHub();
    const limit = new AppError("github_rate_limited", "later", { retryable: true, retryAfterMs: 9_000 });
    github.faults.push({ call: "createReview", nth: 1, error: limit });
    await expect(publish(github)).rejects.toBe(limit);
    expect(github.comments).toEqual([]);
    expect(await publish(github)).toMatchObject({ posted: 2, listed: 0 });
  });
});

describe("A later review that does not repeat a finding", () => {
  const later = { trigger: "comment:7" };

  it("The review is neither green nor quiet while the finding's thread is open", async () => {
    const github = new MemoryGitHub();
    await publish(github, many(1, { severity: "high" }));
    await publish(github, [], later);

    expect(github.checks[1]?.history.at(-1)).toMatchObject({
      conclusion: "neutral",
      title: "Nothing new, 1 open from earlier reviews",
    });
    expect(summary(github)).toContain("### Hunkwise: nothing new");
    expect(summary(github)).toMatch(
      /still open\*\*\n\n- 🔴 High: \[The condition [^\]]*\]\(https:[^)]*#discussion_r\d+\) in `src\/a.ts:1`/,
    );
  });

  it("The review is quiet and green once somebody has resolved the thread", async () => {
    const github = new MemoryGitHub();
    await publish(github, many(1, { severity: "high" }));
    for (const { id } of github.reviews[0]?.comments ?? []) github.personResolves(id, "ann");
    await publish(github, [], later);

    expect(github.checks[1]?.history.at(-1)).toMatchObject({ conclusion: "success" });
    expect(summary(github)).toContain("Hunkwise found no problems");
  });

  it.each([
    ["a line", many(1, { severity: "high" }), refusal("github_forbidden")],
    ["a file", onFile(1), refusal("github_forbidden")],
    ["a line", many(1, { severity: "high" }), ambiguous()],
  ])(
    "The review counts a comment on %s as open if GitHub does not tell, and says so",
    async (_, first, error) => {
      const github = new MemoryGitHub();
      await publish(github, first);
      github.faults.push({ call: "ownThreads", error });
      expect(await publish(github, many(1, { path: "src/new.ts" }), later)).toMatchObject({ posted: 1 });

      expect(github.checks[1]?.history.at(-1)?.summary).toContain("Open from earlier reviews: 1 high");
      expect(summary(github)).toContain("The state of our earlier comments could not be read");
    },
  );
});
