import type { Finding } from "../../src/finding.ts";
import type { SourceLines } from "../../src/reporters/code-frame.ts";
import type { ReviewResult } from "../../src/review/review-result.ts";

export function sampleFinding(over: Partial<Finding> = {}): Finding {
  return {
    id: "f1",
    path: "src/cart.ts",
    side: "RIGHT",
    line: 6,
    start_line: null,
    quote: "    if (item.price = 0) continue;",
    severity: "high",
    category: "correctness",
    title: "The condition assigns instead of comparing",
    body: "`item.price = 0` sets every price to zero and is always false, so free items are added and paid items become free.",
    suggestion: "    if (item.price === 0) continue;",
    confidence: 0.95,
    evidence: [],
    source: "model",
    verification: "unverified",
    verification_note: null,
    places: [],
    ...over,
  };
}

export function sampleResult(over: Partial<ReviewResult> = {}): ReviewResult {
  return {
    head_sha: "b".repeat(40),
    base_sha: "a".repeat(40),
    merge_base_sha: "a".repeat(40),
    mode: "model",
    model: "test-model",
    summary: "Adds a total to the cart.",
    findings: [{ finding: sampleFinding(), placement: { kind: "inline" } }],
    coverage: { hunks_total: 3, hunks_served: 3, unserved: [], files_total: 2, files_skipped: [] },
    usage: {
      requests: 4,
      prompt_tokens: 12_345,
      cached_tokens: 6_000,
      completion_tokens: 678,
      cost_usd: 0.0312,
    },
    stop_reason: "finished",
    duration_ms: 8_230,
    warnings: [],
    effort: "low",
    dropped: [],
    predicted: null,
    ...over,
  };
}

/** All hunks were read, and files were skipped for these reasons. */
export function skipping(...reasons: string[]): Partial<ReviewResult> {
  const files_skipped = reasons.map((reason, at) => ({ path: `src/skipped-${at}.ts`, reason }));
  return { findings: [], coverage: { ...sampleResult().coverage, files_skipped } };
}

/** A change of which nothing is to be reviewed. */
export function nothingReviewable(...reasons: string[]): Partial<ReviewResult> {
  const { coverage, ...rest } = skipping(...reasons);
  return { ...rest, coverage: { ...sampleResult().coverage, ...coverage, hunks_total: 0, hunks_served: 0 } };
}

const head = `export interface Item { price: number }

export function total(items: Item[]) {
  let sum = 0;
  for (const item of items) {
    if (item.price = 0) continue;
    sum += item.price;
  }
  return sum;
}`.split("\n");

const mergeBase = ["one", "two", "three", "four", "five", "six"];

export const sampleSource: SourceLines = (path, side) => {
  if (path !== "src/cart.ts") return null;
  return side === "RIGHT" ? head : mergeBase;
};
