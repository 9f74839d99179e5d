import { describe, expect, it } from "vitest";
import type { Finding } from "../../src/core/finding.ts";
import { renderTerminal, type TerminalOptions } from "../../src/report/terminal.ts";
import { columns } from "../../src/report/terminal-style.ts";
import type { ReviewResult } from "../../src/tasks/shapes/review-result.ts";
import {
  lookedAtAgain,
  nothingReviewable,
  sampleDropped,
  sampleFinding,
  samplePlace,
  sampleProof,
  sampleResult,
  sampleSource,
  skipping,
} from "./sample-result.ts";

const options: TerminalOptions = {
  range: { base: "main", head: "topic", commits: "2 commits" },
  source: sampleSource,
  color: false,
  width: 80,
};
const render = (over: Partial<ReviewResult>, more: Partial<TerminalOptions> = {}) =>
  renderTerminal(sampleResult(over), { ...options, ...more });

const offline: Partial<ReviewResult> = {
  mode: "offline",
  model: null,
  summary: "",
  stop_reason: "no_model",
  coverage: { hunks_total: 3, hunks_served: 0, unserved: [], files_total: 2, files_skipped: [] },
  usage: { requests: 0, prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0, cost_usd: null },
};

describe("The terminal report", () => {
  it("The terminal report shows a finding with its code, its reason and its suggestion", () => {
    expect(render({})).toBe(`main...topic
aaaaaaa..bbbbbbb · 2 commits · 2 files · 3 hunks · test-model

Adds a total to the cart.

src/cart.ts

  HIGH  The condition assigns instead of comparing
  src/cart.ts:6 · correctness · 95 % sure

    3 │ export function total(items: Item[]) {
    4 │   let sum = 0;
    5 │   for (const item of items) {
  > 6 │     if (item.price = 0) continue;
    7 │     sum += item.price;
    8 │   }
    9 │   return sum;

  \`item.price = 0\` sets every price to zero and is always false, so free items
  are added and paid items become free.

  Suggestion
    -     if (item.price = 0) continue;
    +     if (item.price === 0) continue;

Findings  1 high
Coverage  3 of 3 hunks read by the model
Effort    low
Usage     4 requests, 12,345 prompt tokens (6,000 of them cached), 678
          completion tokens, $0.0312
Time      8.2 s
`);
  });

  it("The terminal report says what a second look came to, and where else a finding is", () => {
    const text = render(lookedAtAgain());
    expect(text).toContain(`
  - the same at src/order.ts:12
  - the same at src/old.ts:7-9 (removed)
  - Fails when: the price is 1
`);
    expect(text).toContain(`
  src/cart.ts:7 · correctness · 95 % sure · uncertain
  Uncertain: a second look could neither confirm nor refute this. the caller is
  not in the repository

`);
    expect(text).toContain(`
Effort    medium; 4 findings were checked again: 1 confirmed, 1 refuted, 2 not
          settled
Left out  2 findings; --format markdown and json list them with reasons
`);
    expect(text).toContain("\nPredicted 15,000 tokens, $0.0400; actual: 13,023 tokens, $0.0312\n");
    expect(text).not.toMatch(/CODE OF A PLACE|Prices may be missing/);
  });

  it("The terminal report counts other places beyond ten", () => {
    const places = Array.from({ length: 13 }, (_, at) => samplePlace({ line: at + 1 }));
    const text = render({
      findings: [{ finding: sampleFinding({ places }), placement: { kind: "inline" } }],
    });
    expect(text).toContain("  - the same at src/order.ts:10\n  - and at 3 more places\n");
  });

  it("The terminal report repeats no note on a secret", () => {
    const finding = sampleFinding({
      source: "secrets/aws-secret-access-key",
      verification_note: "the key is AKIA1",
    });
    expect(render({ findings: [{ finding, placement: { kind: "inline" } }] })).not.toContain("AKIA1");
  });

  it("The terminal report is one line if all findings were refuted", () => {
    expect(render({ findings: [], dropped: [sampleDropped()] })).toMatch(
      /^main\.\.\.topic: no problems found · 3 hunks read · 1 finding left out after a check · .*\n$/,
    );
  });

  it("The terminal report is one line for a complete review without findings", () => {
    expect(render({ findings: [] })).toBe(
      "main...topic: no problems found · 3 hunks read · test-model, 13,023 tokens, $0.0312, 8.2 s\n",
    );
  });

  it("The terminal report says what was hidden from the model, also without findings", () => {
    const two = [
      { path: "src/a.ts", line: 3 },
      { path: "src/b.ts", line: 9 },
    ];
    const text = render({ findings: [], masked: two }).replaceAll(/\s+/g, " ");
    expect(text).toContain(
      "Masked 2 values on changed lines look like secrets and were hidden from the model: src/a.ts:3, src/b.ts:9",
    );
    expect(render({ findings: [], masked: two.slice(1) }).replaceAll(/\s+/g, " ")).toContain(
      "Masked 1 value on a changed line looks like a secret and was hidden from the model: src/b.ts:9",
    );
  });

  it("The terminal report is not one line if there is a warning", () => {
    expect(render({ findings: [], warnings: ["the configuration is broken"] })).toContain(
      "Warning   the configuration is broken\n",
    );
  });

  it("The terminal report says first that a review is partial, and what was not read", () => {
    const text = render({
      findings: [],
      stop_reason: "token_limit",
      coverage: {
        hunks_total: 3,
        hunks_served: 1,
        unserved: [{ path: "src/a.ts", hunks: 2 }],
        files_total: 2,
        files_skipped: [],
      },
    });
    expect(text.split("\n").slice(0, 2)).toEqual([
      "Partial: the token limit was reached; 1 of 3 hunks were read.",
      "  not read: src/a.ts (2 hunks)",
    ]);
    expect(text).not.toContain("no problems found");
  });

  it("The terminal report names each kind of unread files once", () => {
    const text = render(skipping("overlong lines", "text with NUL bytes", "text with NUL bytes"));
    expect(text.replaceAll("\n", " ")).toContain(
      "Partial: 3 files were not read (overlong lines, text with NUL bytes); 3 of 3 hunks were read.",
    );
  });

  it("The terminal report says first that files were not read, and which", () => {
    const text = render(skipping("overlong lines", "lock file"));
    expect(text.split("\n").slice(0, 3)).toEqual([
      "Partial: 1 file was not read (overlong lines); 3 of 3 hunks were read.",
      "  not read: src/skipped-0.ts (overlong lines)",
      "",
    ]);
    expect(text).not.toContain("no problems found");
  });

  it("The terminal report praises nothing if there was nothing to read", () => {
    expect(render(nothingReviewable("image"))).toMatch(
      /^main\.\.\.topic: nothing to review · 1 file skipped · /,
    );
  });

  it("The terminal report says first that no model took part", () => {
    const text = render({ ...offline, findings: [] });
    expect(text.split("\n")[0]).toMatch(/^Offline: .*no model read this change; .*checked it\.$/);
    expect(text).not.toContain("no problems found");
  });

  it.each([
    ["nothing is to be reviewed", nothingReviewable()],
    ["a limit ended it", { stop_reason: "time_limit" as const }],
    ["everything was looked at", { findings: [] }],
  ])("The terminal report says offline on the first line if %s", (_, over) => {
    expect(render({ ...offline, ...over }).split("\n")[0]).toMatch(/\boffline\b/i);
  });

  it("The terminal report says offline on the first line if the model answered nothing", () => {
    const { coverage, usage } = offline as ReviewResult;
    const failed = { stop_reason: "model_error" as const, coverage, usage };
    expect(render(failed).split("\n")[0]).toBe(
      "Offline: no model read this change because the model could not be reached or",
    );
    expect(render({ ...nothingReviewable(), usage }).split("\n")[0]).not.toMatch(/offline/);
  });

  it("The terminal report names skipped files with their reasons, and counts the rest of many", () => {
    const files_skipped = Array.from({ length: 20 }, (_, index) => ({
      path: `gen/${index}.js`,
      ...{ reason: "generated", account: "left_out" as const },
    }));
    const text = render({ coverage: { ...sampleResult().coverage, files_skipped } });
    expect(text).toContain("Skipped   gen/0.js: generated\n");
    expect(text).toContain("Skipped   8 more files; --format json lists all\n");
  });

  it("The terminal report puts the file with the worst finding first", () => {
    const text = render({
      findings: [
        { finding: sampleFinding({ path: "a.ts", severity: "low" }), placement: { kind: "inline" } },
        { finding: sampleFinding({ path: "z.ts", severity: "critical" }), placement: { kind: "inline" } },
      ],
    });
    expect(text.indexOf("\nz.ts\n")).toBeLessThan(text.indexOf("\na.ts\n"));
    expect(text).toContain("Findings  1 critical, 1 low");
  });

  it("The terminal report says why a finding is not on its line", () => {
    const text = render({
      findings: [
        { finding: sampleFinding(), placement: { kind: "file", reason: "the line is outside the diff" } },
      ],
    });
    expect(text).toContain("  not on its line: the line is outside the diff\n");
  });

  it("The terminal report uses colors only if it is told to", () => {
    expect(render({})).not.toContain("\u001b");
    expect(render({}, { color: true })).toContain("\u001b[");
  });

  const longLines: Partial<ReviewResult> = {
    findings: [
      {
        finding: sampleFinding({
          path: "other.ts",
          quote: "y".repeat(300),
          suggestion: `${"z".repeat(300)}END`,
          body: `Write:\n\n\`\`\`\n${"x".repeat(300)}END\n\`\`\``,
        }),
        placement: { kind: "inline" },
      },
    ],
  };

  it("The terminal report cuts no code without a terminal, and wraps prose all the same", () => {
    const lines = render({ ...longLines, summary: "word ".repeat(60) }).split("\n");
    expect(lines).toContain(`  > 6 │ ${"y".repeat(300)}`);
    expect(lines).toContain(`    - ${"y".repeat(300)}`);
    expect(lines).toContain(`    + ${"z".repeat(300)}END`);
    expect(lines).toContain(`      ${"x".repeat(300)}END`);
    expect(lines.filter((line) => line.includes("word")).every((line) => line.length <= 80)).toBe(true);
  });

  it("The terminal report cuts code at the edge of a terminal, and never a suggestion", () => {
    const lines = render(longLines, { width: 60, codeWidth: 60 }).split("\n");
    expect(lines).toContain(`  > 6 │ ${"y".repeat(51)}…`);
    expect(lines).toContain(`    + ${"z".repeat(300)}END`);
    expect(lines).toContain(`      ${"x".repeat(300)}END`);
    const wide = render(longLines, { width: 200, codeWidth: 200 }).split("\n");
    expect(wide).toContain(`  > 6 │ ${"y".repeat(191)}…`);
  });

  it("The terminal report gives prose the width of a pipe, and a readable one on a wide terminal", () => {
    const widest = (options: { width: number; codeWidth?: number }) =>
      Math.max(
        ...render({ summary: "word ".repeat(200) }, options)
          .split("\n")
          .map(({ length }) => length),
      );
    expect(widest({ width: 200 })).toBeGreaterThan(190);
    expect(widest({ width: 200, codeWidth: 200 })).toBeLessThanOrEqual(100);
  });

  it("The terminal report leaves no empty lines for the code of a secret", () => {
    const finding = sampleFinding({ source: "secrets/aws-secret-access-key", quote: "", suggestion: null });
    const text = render({ findings: [{ finding, placement: { kind: "inline" } }] });
    expect(text).toContain(
      "  src/cart.ts:6 · correctness · secrets/aws-secret-access-key\n\n  `item.price = 0` sets",
    );
    expect(text).not.toMatch(/\n\n\n/);
  });

  it("The terminal report keeps prose within the width, whatever the texts are", () => {
    const text = render(
      {
        summary: "漢字 ".repeat(60),
        findings: [
          {
            finding: sampleFinding({
              title: "a long title ".repeat(20),
              body: "word ".repeat(80),
              quote: `\t${"y".repeat(300)}`,
              path: "other.ts",
              suggestion: null,
              evidence: [{ path: "e.ts", start_line: 1, end_line: 2, note: "note ".repeat(40) }],
              verification: "uncertain",
              verification_note: "open ".repeat(60),
              places: [samplePlace()],
            }),
            placement: { kind: "inline" },
          },
        ],
      },
      { width: 60, codeWidth: 60 },
    );
    const wide = text.split("\n").filter((line) => columns(line) > 60);
    expect(wide).toEqual([]);
  });

  it("The terminal report has no control characters of the repository", () => {
    const hostile = "\u001b]0;owned\u0007\u009b31m\u202e\u200b\r";
    const finding = sampleFinding({
      path: `src/${hostile}.ts`,
      quote: hostile,
      title: hostile,
      body: hostile,
      suggestion: hostile,
      source: hostile,
      evidence: [{ path: hostile, start_line: 1, end_line: 1, note: hostile }],
      verification: "uncertain",
      verification_note: hostile,
      places: [samplePlace({ path: hostile })],
    });
    const text = render(
      {
        summary: hostile,
        model: hostile,
        findings: [{ finding, placement: { kind: "summary", reason: hostile } }],
        coverage: {
          hunks_total: 2,
          hunks_served: 1,
          unserved: [{ path: hostile, hunks: 1 }],
          files_total: 2,
          files_skipped: [{ path: hostile, reason: hostile, account: "unread" }],
        },
        warnings: [hostile],
      },
      { range: { base: hostile, head: hostile, commits: "1 commit" } },
    );
    expect(text).not.toMatch(/[[\p{Cc}\p{Cf}]--[\n]]/v);
    expect(text).toContain("\\u{1B}]0;owned");
  });
});

describe("The terminal report of a finding with a test", () => {
  const of = (over: Partial<Finding>, more: Partial<TerminalOptions> = {}) =>
    render({ findings: [{ finding: sampleFinding(over), placement: { kind: "inline" } }] }, more);

  it("The terminal report says what the test shows, and has the test with numbers", () => {
    const text = of({ proof: sampleProof() });
    expect(text).toContain(`95 % sure
  Regression shown by a test.
  - Before: total([{ price: 2 }]) returns 2
  - Now: total([{ price: 2 }]) returns 0 (AssertionError [ERR_ASSERTION]: 0 !==
    2)
`);
    expect(text).toContain(`
  Test  test/cart-total.proof.test.ts
    1 │ import assert from "node:assert/strict";
    2 │ import { total } from "../src/cart.ts";
    3 │
    4 │ assert.equal(total([{ price: 2 }]), 2);
    run with node --test test/cart-total.proof.test.ts
`);
    expect(text).toContain("\nTests     1 of 1 finding is shown by a test\n");
  });

  it("The terminal report says in one line that a test shows nothing, or passes", () => {
    expect(of({ proof: { kind: "not_shown", reason: "it passes" } })).toContain(
      "\n  - Not shown by a test: it passes.\n",
    );
    const passing = of({ proof: sampleProof({ kind: "ran_right", now: "0" }) });
    expect(passing).toContain("\n  - A test that was written for this finding passes: 0.\n");
    expect(passing).not.toMatch(/assert|Tests /);
  });

  it("The terminal report cuts a long test, says so, and keeps to the width", () => {
    const test = { path: "a.test.ts", text: "check();\n".repeat(100) };
    const text = of({ proof: sampleProof({ test, now: "word ".repeat(90) }) }, { width: 60 });
    expect(text).toContain("    40 │ check();\n    and 60 more lines; --format json has all\n");
    for (const line of text.split("\n").filter((one) => one.includes("word")))
      expect(columns(line)).toBeLessThanOrEqual(60);
  });

  it("The terminal report moves no cursor, and gives a log no command", () => {
    const hostile = "\u001b[2J\u202e\n::error file=a.ts::x\n##[add-mask]y";
    const proof = sampleProof({
      test: { path: hostile, text: hostile },
      ...{ command: hostile, before: hostile, now: `${"word ".repeat(14)} ::set-output name=a::b` },
    });
    const text = of({ proof, body: `x\n\n${hostile}\n\n\`\`\`\n::notice::z\n\`\`\`` }, { width: 40 });
    expect(text).not.toMatch(/^\s*::|##\[/m);
    for (const sign of ["\u001b", "\u202e"]) expect(text).not.toContain(sign);
    expect(text).toContain("\\::notice::z");
  });
});
