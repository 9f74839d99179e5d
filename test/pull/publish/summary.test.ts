import { describe, expect, it } from "vitest";
import { parseMarker } from "../../../src/core/ledger/marker.ts";
import { emptyState } from "../../../src/core/ledger/state.ts";
import { renderSummary, renderSummaryComment, type SummaryInput } from "../../../src/pull/publish/summary.ts";
import type { ReviewResult } from "../../../src/tasks/shapes/review-result.ts";
import {
  lookedAtAgain,
  noAccount,
  nothingReviewable,
  sampleDropped,
  sampleEntry,
  sampleFinding,
  sampleProof,
  sampleResult,
  skipping,
} from "../../report/sample-result.ts";

const base = {
  repositoryUrl: "https://github.com/octo/shop",
  headSha: "b".repeat(40),
  mergeBaseSha: "a".repeat(40),
  trigger: "event",
};

function summary(result: Partial<ReviewResult> = {}, over: Partial<SummaryInput> = {}): string {
  const places = { posted: [], annotated: [], listed: [], postedBefore: [], silent: [] };
  const nothing = { ...places, ...noAccount, notices: [], checkUrl: undefined };
  return renderSummary(
    { result: sampleResult({ findings: [], ...result }), version: "0.1.0", ...nothing, ...over },
    base,
  );
}

describe("The summary of a clean and complete review", () => {
  it("The summary is a single quiet line, with the figures in a fold", () => {
    expect(summary()).toBe(
      `<details><summary>✅ Hunkwise found no problems: 3 hunks in 2 files read</summary>

- reviewed \`aaaaaaaaaaaa..bbbbbbbbbbbb\` with model \`test-model\`
- coverage: 3 of 3 hunks in 2 files
- effort: low
- usage: 4 requests, 12,345 prompt tokens (6,000 of them cached), 678 completion tokens, $0.0312
- took 8.2 s, ended with \`finished\`
- Hunkwise 0.1.0

</details>`,
    );
  });

  it("The summary counts skipped files, and names them in the fold", () => {
    const coverage = {
      ...sampleResult().coverage,
      files_skipped: [{ path: "package-lock.json", reason: "lock file", account: "parsed" as const }],
    };
    expect(summary({ coverage })).toContain("3 hunks in 1 file read, 1 file skipped</summary>");
    expect(summary({ coverage })).toContain("Files skipped, and why:\n\n- `package-lock.json`: lock file");
  });

  it("The summary praises nothing if there was nothing to read", () => {
    const coverage = {
      hunks_total: 0,
      hunks_served: 0,
      unserved: [],
      files_total: 1,
      files_skipped: [{ path: "a.png", reason: "image", account: "parsed" as const }],
    };
    expect(summary({ coverage })).toMatch(/^<details><summary>Hunkwise: this change has no hunks to review/);
  });

  it("The summary praises nothing if there is a warning", () => {
    expect(summary({ ...nothingReviewable("image"), warnings: ["the configuration is broken"] })).toMatch(
      /^### Hunkwise: nothing to review\n/,
    );
  });

  it("The summary is not quiet about a warning or a missing permission", () => {
    expect(summary({ warnings: ["the configuration is broken in line 3"] })).toContain(
      "- the configuration is broken in line 3",
    );
    expect(summary({}, { notices: ["No check run: checks=write is missing"] })).toContain("⚠️ No check run");
  });
});

describe("The summary of a partial review", () => {
  const unread = {
    hunks_total: 121,
    hunks_served: 118,
    unserved: [{ path: "src/big.ts", hunks: 3 }],
    files_total: 9,
    files_skipped: [],
  };
  const partial: Partial<ReviewResult>[] = [
    { stop_reason: "turn_limit", coverage: unread },
    { stop_reason: "finished", coverage: unread },
    { stop_reason: "model_error" },
    { stop_reason: "no_tool_calls" },
    { stop_reason: "aborted" },
    { mode: "offline", model: null, stop_reason: "no_model", coverage: { ...unread, hunks_served: 0 } },
    { mode: "offline", model: null, stop_reason: "aborted" },
  ];

  it.each(partial)("The summary never reads as if nothing were found: %j", (result) => {
    expect(summary(result)).not.toMatch(/no (problems|issues)|✅/i);
  });

  it("The summary says how much was read, why it ended and what was left", () => {
    const text = summary({ stop_reason: "turn_limit", coverage: unread });
    expect(text).toContain("### Hunkwise: incomplete review");
    expect(text).toContain("**Partial: the limit of model turns was reached; 118 of 121 hunks were read.**");
    expect(text).toContain("**Not read**\n\n- `src/big.ts`: 3 hunks");
  });

  it("The summary names the files that were not read", () => {
    const text = summary(skipping("overlong lines", "lock file"));
    expect(text).toContain("### Hunkwise: incomplete review");
    expect(text).toContain("**Partial: 1 file was not read (overlong lines); 3 of 3 hunks were read.**");
    expect(text).toContain("**Not read**\n\n- `src/skipped-0.ts`: overlong lines\n\n");
    expect(text).not.toMatch(/no (problems|issues)|✅/i);
  });

  it("The summary says offline that only the analyzers looked", () => {
    const text = summary({ mode: "offline", model: null, stop_reason: "no_model" });
    expect(text).toContain("### Hunkwise: analyzers only, nothing found");
    expect(text).toContain("- coverage: analyzers only (3 hunks in 2 files)");
  });
});

describe("The summary of a review with second looks", () => {
  const again = lookedAtAgain();

  it("The summary says what second looks came to, what was left out and why, and the prediction", () => {
    const text = summary(again);
    expect(text).toContain(
      "\n- effort: medium; 4 findings were checked again: 1 confirmed, 1 refuted, 2 not settled\n",
    );
    expect(text).toContain("\n- predicted: 15,000 tokens, $0.0400; actual: 13,023 tokens, $0.0312\n");
    expect(text).toContain(
      `Left out after a second look:

- \`src/price.ts:3\` Prices may be missing. Refuted: the type has no null
- \`src/price.ts:4\` Slow. Uncertain and not severe: it depends`,
    );
  });

  it("The summary marks in its index what is in doubt and what is at more places", () => {
    const text = summary(again, { posted: again.findings?.map(({ finding }) => finding) ?? [] });
    expect(text).toMatch(/^- 🔴 High: \[The condition .* in `src\/cart\.ts:6` and 2 more places$/m);
    expect(text).toMatch(/^- 🔴 High: \[The sum .* in `src\/cart\.ts:7` \(uncertain\)$/m);
  });

  it("The summary says what was hidden from the model, and of many where the first ones are", () => {
    const masked = Array.from({ length: 25 }, (_, at) => ({
      path: "src/a`b.ts",
      line: at + 1,
    }));
    expect(summary({ masked: masked.slice(0, 1) })).toContain(
      "\n- masked: 1 value on a changed line looks like a secret and was hidden from the model: ``src/a`b.ts:1``\n",
    );
    expect(summary({ masked })).toMatch(/\n- masked: 25 values .*:20`` and 5 more\n/);
  });

  it("The summary stays quiet if all findings were refuted", () => {
    const text = summary({ dropped: [sampleDropped()] });
    expect(text).toMatch(/^<details><summary>✅ Hunkwise found no problems: /);
    expect(text).toContain("- effort: low; 1 finding was checked again: 1 refuted\n");
  });

  it("The summary says that a second look failed", () => {
    const finding = sampleFinding({ verification_note: "The second look came to no end." });
    expect(summary({ findings: [{ finding, placement: { kind: "inline" } }] })).toContain(
      "- effort: low; 1 finding was not checked, because the second look failed\n",
    );
  });

  it("The summary has no effort and no prediction if no model was asked", () => {
    const text = summary({ mode: "offline", model: null, stop_reason: "no_model" });
    expect(text).not.toMatch(/effort|predicted/);
  });

  it("The summary leaves the price of a prediction out if it is not known", () => {
    const predicted = { requests: 1, prompt_tokens: 900, completion_tokens: 100, cost_usd: null };
    expect(summary({ predicted })).toContain("- predicted: 1,000 tokens; actual: 13,023 tokens, $0.0312\n");
  });

  it("The summary is harmless and bounded, whatever was left out", () => {
    const dropped = Array.from({ length: 500 }, (_, line) =>
      sampleDropped({
        line: line + 1,
        path: "p`\n".repeat(2_000),
        title: "@octocat <img>",
        reason: "![x](y)\n/approve",
      }),
    );
    const text = summary({ dropped });
    expect(text).not.toMatch(/@octocat|(?<!\\)<img|!\[x\]|^\/approve/m);
    expect(text).toMatch(/\n- and 4\d\d more\n/);
    expect(Buffer.byteLength(text)).toBeLessThan(5_000);
  });
});

describe("The summary of a review with findings", () => {
  const result = sampleResult();

  it("The summary says what the change does, and links each finding", () => {
    const text = summary(result, { posted: [sampleFinding()] });
    expect(text).toContain("### Hunkwise: 1 high");
    expect(text).toContain("Adds a total to the cart.");
    expect(text).toContain(
      `- 🔴 High: [The condition assigns instead of comparing](https://github.com/octo/shop/blob/${base.headSha}/src/cart.ts#L6) in \`src/cart.ts:6\``,
    );
  });

  it("The summary links titles whatever brackets they contain", () => {
    const title = "`a[0]` is read [before] it is set](https://evil.test)";
    expect(summary(result, { posted: [sampleFinding({ title })] })).toContain(
      "[`a[0]` is read \\[before\\] it is set\\](`https://evil.test`)](https://github.com/octo/shop/blob/",
    );
  });

  it("The summary has a short index of comments on lines, and counts the rest", () => {
    const posted = Array.from({ length: 40 }, (_, index) =>
      sampleFinding({ id: `f${index}`, line: index + 1 }),
    );
    const text = summary(result, { posted });
    expect(text.match(/^- 🔴 High: /gm)).toHaveLength(12);
    expect(text).toContain("\n- and 28 more, on their lines\n");
  });

  it("The summary names annotations and where they are", () => {
    const annotated = [sampleFinding({ title: "One" }), sampleFinding({ title: "Two" })];
    const checkUrl = "https://github.com/octo/shop/runs/7";
    expect(summary(result, { annotated, checkUrl })).toContain(
      `**2 findings are annotations of the [check run](${checkUrl}) (also visible under "Files changed")**\n\n- 🔴 High: [One](`,
    );
    expect(summary(result, { annotated: annotated.slice(1) })).toContain(
      "**1 finding is an annotation of the check run",
    );
  });

  it("The summary has coverage, cost and model in a fold with the amount that was read", () => {
    const files_skipped = [
      ...["a.lock", "b.lock"].map((path) => ({ path, reason: "lock file", account: "parsed" as const })),
      { path: "big.ts", reason: "generated", account: "left_out" as const },
    ];
    const coverage = { hunks_total: 121, hunks_served: 121, unserved: [], files_total: 11, files_skipped };
    const text = summary({ ...result, coverage });
    expect(text).toContain(
      "<details><summary>About this review: 121 of 121 hunks read, 3 files skipped</summary>",
    );
    expect(text).toContain(
      "- coverage: 121 of 121 hunks in 8 files; 3 files skipped: lock file (2), generated (1)\n",
    );
    expect(text).toContain("model `test-model`");
    expect(text).toContain("$0.0312");
    expect(text).toContain(
      "Files skipped, and why:\n\n- `a.lock`: lock file\n- `b.lock`: lock file\n- `big.ts`: generated",
    );
  });

  it("The summary gives findings without a place all the room that is left", () => {
    const listed = Array.from({ length: 9 }, (_, index) => ({
      finding: sampleFinding({ id: `f${index}`, title: `Number ${index}`, body: "word ".repeat(900) }),
      reason: "why",
    }));
    const text = summary(result, { listed });
    for (const { finding } of listed) expect(text).toContain(`**🔴 High: ${finding.title}**`);
    expect(text).not.toContain("Titles only");
  });

  it("The summary has findings without another place in full, with the reason", () => {
    const text = summary(result, {
      listed: [{ finding: sampleFinding({ body: "Because of **this**." }), reason: "the file is binary" }],
    });
    expect(text).toContain("Because of **this**.");
    expect(text).toContain("_Not on its line: the file is binary._");
    expect(text).toContain("Replace line 6 with:");
  });

  it("The summary names findings that were posted before", () => {
    expect(
      summary(result, { postedBefore: [{ finding: sampleFinding({ title: "Old" }), entry: null }] }),
    ).toMatch(/\*\*Reported earlier, and still present\*\*\n\n- 🔴 High: \[Old\]/);
  });

  it("The summary fits, leaves nothing out in silence, and keeps its marker", () => {
    const huge = Array.from({ length: 900 }, (_, index) =>
      sampleFinding({
        id: `f${index}`,
        title: `${index} ${"title ".repeat(50)}`,
        body: "body @you #1 `x`\n".repeat(400),
        path: `${"deep/".repeat(50)}${index}.ts`,
      }),
    );
    const reviewed = { unit: "change" as const, hashes: Array<string>(2_000).fill("abcdefghijklmno") };
    const state = { ...emptyState, reviewed };
    const text = renderSummaryComment(
      {
        result: sampleResult({
          findings: huge.map((finding) => ({ finding, placement: { kind: "inline" } })),
          summary: "s @a\n".repeat(50_000),
          warnings: Array.from({ length: 900 }, (_, index) => `warning ${index} ${"w".repeat(2_000)}`),
          coverage: {
            hunks_total: 5_000,
            hunks_served: 1,
            unserved: Array.from({ length: 900 }, (_, index) => ({
              path: `${"p".repeat(200)}${index}`,
              hunks: 2,
            })),
            files_total: 1_800,
            files_skipped: Array.from({ length: 900 }, (_, index) => ({
              path: `${"q".repeat(200)}${index}`,
              reason: "too large",
              account: "unread",
            })),
          },
        }),
        version: "0.1.0",
        posted: huge,
        annotated: huge,
        checkUrl: undefined,
        listed: huge.map((finding) => ({ finding, reason: "why ".repeat(300) })),
        ...noAccount,
        open: huge.map(({ path, title }) => sampleEntry({ path, title })),
        fixed: huge.map(({ path, title, body }) => ({
          ...{ entry: sampleEntry({ path, title }), state: "fixed" as const, reason: body },
        })),
        dismissed: huge.map(({ path, title }) => sampleEntry({ path, title, state: "dismissed" })),
        silent: [],
        postedBefore: huge.map((finding) => ({ finding, entry: null })),
        notices: Array.from({ length: 20 }, () => "n".repeat(5_000)),
      },
      base,
      { trigger: "event", state },
    );
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(60_000);
    expect(parseMarker(text)).toEqual({ kind: "summary", head: base.headSha, trigger: "event", state });
    expect(text.match(/^- and \d+ more$/gm)?.length).toBe(9);
    expect(text).toMatch(/^- and \d+ more, on their lines$/m);
    expect(text).toContain("### Hunkwise: 900 high");
  });

  it("The summary notifies nobody by what a model wrote", () => {
    const text = summary({
      summary: "cc @octocat\n/approve\n![x](https://evil.test/x.png)",
      warnings: ["see @octocat"],
    });
    expect(text).not.toMatch(/@octocat|^\/approve|!\[x\]/m);
  });
});

describe("The summary of findings with tests", () => {
  const shown = sampleFinding({ proof: sampleProof() });
  const passing = sampleFinding({ id: "f2", title: "Second", proof: sampleProof({ kind: "ran_right" }) });
  const plain = sampleFinding({ id: "f3", title: "Third" });
  const of = (...all: (typeof plain)[]) => {
    const findings = all.map((finding) => ({ finding, placement: { kind: "inline" as const } }));
    return summary({ findings }, { posted: all });
  };

  it("The summary counts findings that a test shows, and names them", () => {
    const text = of(shown, passing, plain);
    expect(text).toContain("\n\n🧪 1 of 3 findings is shown by a test.\n\n");
    expect(text.match(/^- 🔴.*$/gm)?.map((line) => line.endsWith(" (shown by a test)"))).toEqual([
      true,
      false,
      false,
    ]);
    expect(of(shown, { ...shown, id: "f4" })).toContain("🧪 2 of 2 findings are shown by a test.");
  });

  it("The summary does not mention tests if none shows anything", () => {
    expect(of(passing, plain)).not.toMatch(/by a test/);
  });

  it("The summary has the mark of a finding without another place, and the test if there is room", () => {
    const findings = [{ finding: shown, placement: { kind: "summary" as const, reason: "why" } }];
    const text = summary({ findings }, { listed: [{ finding: shown, reason: "why" }] });
    expect(text).toContain("🧪 **Regression shown by a test.**");
    expect(text).toContain("<details><summary>The test</summary>");
  });

  it("The summary does not keep tests in its state, because a test is of one head", () => {
    const carried = { finding: shown, standing: "listed" as const, reason: "why" };
    const posted = renderSummaryComment(
      {
        ...{ result: sampleResult(), version: "0", posted: [], annotated: [], postedBefore: [], silent: [] },
        ...{ ...noAccount, notices: [], checkUrl: undefined, listed: [carried] },
      },
      base,
      { trigger: "event", state: { ...emptyState, carried: [carried] } },
    );
    const marker = parseMarker(posted);
    const { proof, ...finding } = shown;
    expect(marker).toMatchObject({ kind: "summary", state: { carried: [{ ...carried, finding }] } });
    expect(JSON.stringify(marker)).not.toContain("assert.equal");
  });
});
