import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import { type Severity, severities } from "../../../src/core/finding.ts";
import {
  type CheckPolicy,
  cancelledConclusion,
  failedConclusion,
  passedConclusion,
  reviewConclusion,
  withheldConclusion,
} from "../../../src/pull/publish/conclusions.ts";
import type { Account } from "../../../src/repo/diff/filter.ts";
import { StopReason } from "../../../src/tasks/shapes/review-result.ts";
import {
  lookedAtAgain,
  nothingReviewable,
  sampleDropped,
  sampleFinding,
  sampleProof,
  sampleResult,
  skipping,
} from "../../report/sample-result.ts";

const policy = { threshold: "high", fail: false } as const;
const red = { ...policy, fail: true };
const withSeverity = (severity: Severity) =>
  sampleResult({ findings: [{ finding: sampleFinding({ severity }), placement: { kind: "inline" } }] });

describe("The conclusion of a review", () => {
  const clean = sampleResult({ findings: [] });

  it.each([
    ["success", "clean and complete", clean, policy],
    ["success", "a finding below the threshold", withSeverity("medium"), policy],
    ["neutral", "a finding at the threshold", withSeverity("high"), policy],
    ["neutral", "a finding above the threshold", withSeverity("critical"), policy],
    [
      "failure",
      "the same, where the repository wants it red",
      withSeverity("critical"),
      { ...policy, fail: true },
    ],
    ["success", "a finding, and no threshold", withSeverity("critical"), { threshold: "never", fail: true }],
    ["neutral", "a partial review", { ...clean, stop_reason: "turn_limit" }, policy],
    [
      "neutral",
      "a file that was too large, where findings are red and limits are not to be",
      sampleResult(skipping("overlong lines")),
      { ...red, limit: "neutral" },
    ],
    [
      "failure",
      "a partial review, if only limits are to be red",
      { ...clean, stop_reason: "token_limit" },
      { ...policy, limit: "failure" },
    ],
    ["neutral", "a model that failed, where findings are red", { ...clean, stop_reason: "model_error" }, red],
    ["neutral", "a file that was too large to be read", sampleResult(skipping("overlong lines")), policy],
    ["neutral", "text that git treats as binary", sampleResult(skipping("text with NUL bytes")), policy],
    ["neutral", "a submodule that moved", sampleResult(skipping("submodule at another commit")), policy],
    [
      "neutral",
      "a submodule that moved, even where findings are red",
      sampleResult(skipping("submodule at another commit")),
      red,
    ],
    [
      "neutral",
      "a link that nobody read, offline, even where findings are red",
      sampleResult({
        ...skipping("symbolic link to another place"),
        ...{ mode: "offline", model: null, stop_reason: "no_model" },
      }),
      red,
    ],
    [
      "failure",
      "a submodule that moved beside a file that was too large, where findings are red",
      sampleResult(skipping("submodule at another commit", "overlong lines")),
      red,
    ],
    [
      "failure",
      "a binary that runs, where findings are red",
      sampleResult(skipping("binary that runs")),
      red,
    ],
    ["success", "a file that the base calls generated", sampleResult(skipping("generated")), policy],
    ["neutral", "offline", { ...clean, mode: "offline", model: null, stop_reason: "no_model" }, policy],
    ["neutral", "a model that failed", { ...clean, stop_reason: "model_error" }, policy],
  ] as const)("The conclusion is %s for %s", (conclusion, _name, result, how) => {
    expect(reviewConclusion(result, how)).toMatchObject({ status: "completed", conclusion });
  });

  it("The conclusion is red for what a limit left unread if findings are red", () => {
    for (const unread of [
      { ...clean, stop_reason: "turn_limit" } as const,
      sampleResult(skipping("overlong lines")),
    ])
      expect(reviewConclusion(unread, red)).toMatchObject({ conclusion: "failure" });
  });

  it("The conclusion has the figures", () => {
    const update = reviewConclusion(withSeverity("high"), policy);
    expect(update.title).toBe("found 1 high");
    expect(update.summary).toContain('1 finding at or above the threshold "high".');
    expect(update.summary).toContain("Coverage: 3 of 3 hunks in 2 files.");
    expect(update.summary).toContain("4 requests");
  });

  it("The conclusion names skipped files and unread places in folds", () => {
    const { coverage } = sampleResult();
    const files_skipped = [
      { path: "yarn.lock", reason: "lock file", account: "parsed" as const },
      { path: "src/big.ts", reason: "too large (20345 changed lines)", account: "unread" as const },
    ];
    const unserved = [{ path: "src/a.ts", hunks: 2 }];
    const { summary } = reviewConclusion(
      { ...clean, coverage: { ...coverage, hunks_total: 5, files_total: 4, unserved, files_skipped } },
      policy,
    );
    expect(summary).toContain(
      "Coverage: 3 of 5 hunks in 2 files; 2 files skipped: lock file (1), too large (1).",
    );
    expect(summary).toContain(
      "<details><summary>Files skipped, and why</summary>\n\n- `yarn.lock`: lock file\n- `src/big.ts`: too large (20345 changed lines)\n\n</details>",
    );
    expect(summary).toContain("<details><summary>What was not read</summary>\n\n- `src/a.ts`: 2 hunks\n");
  });

  it("The conclusion says what a second look came to, what was left out, and the prediction", () => {
    const { summary } = reviewConclusion(sampleResult(lookedAtAgain()), policy);
    expect(summary).toContain(
      "Effort: medium; 4 findings were checked again: 1 confirmed, 1 refuted, 2 not settled.",
    );
    expect(summary).toContain("Predicted: 15,000 tokens, $0.0400; actual: 13,023 tokens, $0.0312.");
    expect(summary).toMatch(
      /<details><summary>Left out after a second look<\/summary>\n\n- `src\/price\.ts:3` Prices may be missing\. Refuted: .*\n- .*\n\n<\/details>/,
    );
  });

  it("The conclusion names as many skipped files as fit, counts the rest, and has their reasons", () => {
    const files_skipped = Array.from({ length: 5_000 }, (_, index) => ({
      path: `gen/${index}.ts`,
      reason: index < 4_000 ? "generated" : "vendored",
      account: "left_out" as const,
    }));
    const coverage = { ...sampleResult().coverage, files_total: 5_002, files_skipped };
    const { summary } = reviewConclusion({ ...clean, coverage }, policy);
    expect(summary).toContain("5,000 files skipped: generated (4,000), vendored (1,000).");
    expect(summary).toMatch(/- and 4\d\d\d more\n/);
    expect(Buffer.byteLength(summary)).toBeLessThan(5_000);
  });

  it("The conclusion names no hunks if there are none", () => {
    expect(reviewConclusion(sampleResult(nothingReviewable("image")), policy).summary).toContain(
      "Coverage: no hunks to review; 1 file skipped: image (1).",
    );
  });

  it("The conclusion says that nothing was found only if all was read", () => {
    expect(reviewConclusion(clean, policy).title).toBe("No problems found");
    expect(reviewConclusion({ ...clean, stop_reason: "time_limit" }, policy).title).toBe(
      "Incomplete review: nothing found in the part that was read",
    );
    const offline = reviewConclusion(
      { ...clean, mode: "offline", model: null, stop_reason: "no_model" },
      policy,
    );
    expect(offline.title).toBe("Analyzers only: nothing found in the part that was read");
    expect(offline.summary).toContain("Coverage: analyzers only (3 hunks in 2 files).");
  });

  it("The conclusion does not praise what nobody had to read", () => {
    expect(reviewConclusion(sampleResult(nothingReviewable("image")), policy)).toMatchObject({
      conclusion: "success",
      title: "Nothing to review",
    });
    expect(reviewConclusion(sampleResult(nothingReviewable("too large")), policy)).toMatchObject({
      conclusion: "neutral",
      title: "Incomplete review: nothing found in the part that was read",
    });
  });

  it("The conclusion keeps the summary's text apart from its figures", () => {
    const update = reviewConclusion(clean, policy, { text: "<details>all of it</details>" });
    expect(update.text).toBe("<details>all of it</details>");
    expect(update.summary).not.toContain("all of it");
    expect(reviewConclusion(clean, policy)).not.toHaveProperty("text");
  });

  it("The conclusion is not green while an earlier comment at the threshold is open", () => {
    const open = (severity: "high" | "medium") =>
      reviewConclusion(clean, policy, { open: [{ severity, source: "model" }] });

    expect(open("high")).toMatchObject({
      conclusion: "neutral",
      title: "Nothing new, 1 open from earlier reviews",
      summary: expect.stringContaining("Open from earlier reviews: 1 high."),
    });
    expect(open("medium")).toMatchObject({
      conclusion: "success",
      title: "Nothing new, 1 open from earlier reviews",
    });
  });

  it("The conclusion without a review is never red", () => {
    expect(
      [
        failedConclusion(new AppError("model_failed", "x")),
        cancelledConclusion("x"),
        withheldConclusion("a draft", [], policy, "skipped"),
        passedConclusion("x"),
      ].map(({ conclusion }) => conclusion),
    ).toEqual(["neutral", "cancelled", "skipped", "success"]);
    expect(withheldConclusion("label `@octocat` of @octocat", [], policy, "skipped").summary).toBe(
      "label `@octocat` of @\u200boctocat",
    );
  });

  it.each([
    ["too_large", "failure"],
    ["git_timeout", "failure"],
    ["child_died", "failure"],
    ["model_failed", "neutral"],
    ["git_failed", "neutral"],
    ["github_failed", "neutral"],
  ] as const)(
    "limit-reached: A failure that a change can cause counts as a limit: %s",
    (code, conclusion) => {
      const failed = (of: CheckPolicy) => failedConclusion(new AppError(code, "x"), { open: [], policy: of });
      expect(failed(red).conclusion).toBe(conclusion);
      expect(failed(policy).conclusion).toBe("neutral");
      expect(failed({ ...red, limit: "neutral" }).conclusion).toBe("neutral");
    },
  );

  it("The conclusion ignores open reports of other tools that no model judged", () => {
    const open = [{ severity: "critical" as const, source: "tool:lint/forged" }];
    expect(reviewConclusion(clean, { ...policy, fail: true }, { open })).toMatchObject({
      conclusion: "success",
    });
  });

  it("The conclusion counts its findings and open ones of earlier reviews together", () => {
    const update = reviewConclusion(withSeverity("medium"), policy, {
      open: [{ severity: "critical", source: null }],
    });
    expect(update).toMatchObject({
      conclusion: "neutral",
      title: "found 1 medium, 1 open from earlier reviews",
      summary: expect.stringContaining('1 finding at or above the threshold "high".'),
    });
  });

  it("The conclusion names what was fixed and dismissed, and is green without anything else", () => {
    const update = reviewConclusion(clean, policy, { fixed: 2, dismissed: 1 });
    expect(update).toMatchObject({
      conclusion: "success",
      title: "No problems found, 2 fixed, 1 dismissed",
      summary: expect.stringContaining("Findings settled in this pull request: 2 fixed, 1 dismissed."),
    });
  });

  it("The conclusion does not count findings that people have dismissed", () => {
    expect(reviewConclusion(withSeverity("high"), policy, { found: [], dismissed: 1 })).toMatchObject({
      conclusion: "success",
      title: "No problems found, 1 dismissed",
    });
  });

  it("The conclusion of an incomplete review is never green, whatever was settled", () => {
    expect(reviewConclusion({ ...clean, stop_reason: "time_limit" }, policy, { fixed: 9 }).conclusion).toBe(
      "neutral",
    );
  });

  it("The conclusion tells findings in code that was read before from refuted ones", () => {
    const dropped = [sampleDropped(), sampleDropped({ id: "d2", verdict: "read_before", reason: "" })];
    const { summary } = reviewConclusion({ ...clean, dropped }, policy);
    expect(summary).toContain("1 finding was checked again: 1 refuted.");
    expect(summary).toMatch(
      /<summary>Left out because the code was read earlier<\/summary>\n\n- `src\/price\.ts:3` Prices may be missing\. Read earlier, and not critical\n/,
    );
  });
});

describe("A finding of a blocking rule", () => {
  const lenient = { threshold: "never", fail: false, blocking: new Set(["no-raw-sql"]) } as const;
  const ofRule = (rule: string, over = {}) =>
    sampleResult({
      findings: [
        { finding: sampleFinding({ severity: "low", rule, ...over }), placement: { kind: "inline" } },
      ],
      rules: {
        applied: [
          {
            ...{ name: "no-raw-sql", severity: "low", blocking: true, findings: 1 },
            ...{ files: 3, unchecked: 1, reason: "lock file" },
          },
        ],
        without_files: 2,
      },
    });

  it("A blocking finding turns the check red whatever the threshold is, and is named", () => {
    const { conclusion, summary } = reviewConclusion(ofRule("no-raw-sql"), lenient);

    expect(conclusion).toBe("failure");
    expect(summary).toContain("**1 finding of blocking rules: `no-raw-sql`.**");
    expect(summary).toContain("Rules of this repository: 1 applied to this change, 2 had no file in it.");
    expect(summary).toContain("- `no-raw-sql` (blocking): 1 finding; not checked in 1 of 3 files: lock file");
  });

  it("A blocking finding of an earlier review turns the check red while it is open", () => {
    const earlier = { severity: "low", source: "model", rule: "no-raw-sql" } as const;
    const clean = sampleResult({ findings: [] });

    expect(reviewConclusion(clean, lenient, { open: [earlier] }).conclusion).toBe("failure");
    expect(withheldConclusion("draft", [earlier], lenient, "skipped").conclusion).toBe("failure");
    expect(failedConclusion(new Error("x"), { open: [earlier], policy: lenient }).conclusion).toBe("failure");
  });

  it("A check waits if only the author keeps the change from being read, unless a finding holds it", () => {
    const waits = withheldConclusion("it is a draft", [], lenient, "waits");
    expect([waits.conclusion, waits.title]).toEqual(["skipped", "Waits to be reviewed"]);
    const earlier = { severity: "low", source: "model", rule: "no-raw-sql" } as const;
    expect(withheldConclusion("draft", [earlier], lenient, "waits").conclusion).toBe("failure");
  });

  it("A finding turns nothing red if its rule does not block now, or no model judged it", () => {
    expect(reviewConclusion(ofRule("other-rule"), lenient).conclusion).toBe("success");
    expect(reviewConclusion(ofRule("no-raw-sql"), { ...lenient, blocking: new Set() }).conclusion).toBe(
      "success",
    );
    const unjudged = ofRule("no-raw-sql", { verification: "not_judged", source: "ast-grep/py-eval" });
    expect(reviewConclusion(unjudged, lenient).conclusion).not.toBe("failure");
  });
});

describe("A test of a finding", () => {
  const proofs = [
    sampleProof(),
    sampleProof({ kind: "reproduced" }),
    sampleProof({ kind: "ran_right" }),
    { kind: "not_shown" as const, reason: "it passes" },
  ];
  const having = (severity: Severity, proof?: (typeof proofs)[number]) =>
    sampleResult({
      findings: [
        { finding: sampleFinding({ severity, ...(proof && { proof }) }), placement: { kind: "inline" } },
      ],
    });

  it.each(proofs)("A test changes neither the conclusion nor the title, whatever it says: $kind", (proof) => {
    for (const severity of severities)
      for (const one of [policy, red, { threshold: "never", fail: true } as const]) {
        const [with_, without] = [having(severity, proof), having(severity)].map((result) =>
          reviewConclusion(result, one),
        );
        expect([with_?.conclusion, with_?.title]).toEqual([without?.conclusion, without?.title]);
      }
  });

  it("A test is counted in the text if it shows the finding", () => {
    const [first, , passing, missed] = proofs;
    expect(reviewConclusion(having("high", first), policy).summary).toContain(
      "\n\n1 of 1 finding is shown by a test.\n\n",
    );
    for (const proof of [passing, missed])
      expect(reviewConclusion(having("high", proof), policy).summary).toBe(
        reviewConclusion(having("high"), policy).summary,
      );
  });
});

it("A success needs complete evidence, and neutral parts alone never turn a check red", () => {
  const skip = fc.constantFrom<Account[]>("left_out", "parsed", "neutral", "unread");
  const none = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(2));
  const facts = fc.record({
    ...{ total: fc.nat(3), unserved: none, unplaced: none, masked: none, unanalyzed: none, notJudged: none },
    mode: fc.constantFrom("model" as const, "model" as const, "offline" as const),
    stop: fc.oneof(
      { weight: 3, arbitrary: fc.constant("finished" as const) },
      fc.constantFrom(...StopReason.options),
    ),
    ...{ skips: fc.array(skip, { maxLength: 3 }), bases: fc.constantFrom(1, 1, 1, 2) },
  });
  const long = process.env.HUNKWISE_LONG === "1";
  fc.assert(
    fc.property(facts, ({ total, unserved, mode, stop, skips, bases, ...counts }) => {
      const served = mode === "offline" ? 0 : Math.max(0, total - unserved);
      const list = (count: number) => Array.from({ length: count }, (_, at) => `src/${at}.ts`);
      const result = sampleResult({
        ...{ mode, stop_reason: stop, merge_bases: bases, unanalyzed: list(counts.unanalyzed) },
        findings: list(counts.notJudged).map((path) => ({
          finding: sampleFinding({ path, verification: "not_judged", source: "ast-grep/py-eval" }),
          placement: { kind: "inline" },
        })),
        masked: list(counts.masked).map((path) => ({ path, line: 1 })),
        unplaced: { texts: list(counts.unplaced), total: counts.unplaced, hashes: [] },
        coverage: {
          ...{ hunks_total: total, hunks_served: served, unserved: [], files_total: total + skips.length },
          files_skipped: skips.map((account, at) => ({ path: `skipped/${at}`, reason: "why", account })),
        },
      });
      const { conclusion } = reviewConclusion(result, { threshold: "low", fail: true, limit: "failure" });
      const isOpen =
        Object.values(counts).some((count) => count > 0) ||
        bases > 1 ||
        stop !== "finished" ||
        served < total;
      const unread = skips.filter((account) => account === "neutral" || account === "unread");
      expect(conclusion === "success").toBe(!isOpen && unread.length === 0);
      if (!isOpen && !unread.includes("unread")) expect(conclusion).not.toBe("failure");
    }),
    { numRuns: long ? 20_000 : 1_000 },
  );
});
