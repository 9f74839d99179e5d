import type { CodeLocation, Finding } from "../../src/core/finding.ts";
import type { PostedFinding } from "../../src/core/ledger/entry.ts";
import type { PullStatus } from "../../src/pull/publish/pull-status.ts";
import type { Account } from "../../src/repo/diff/filter.ts";
import type { SourceLines } from "../../src/report/code-frame.ts";
import type { RanProof } from "../../src/report/finding-words.ts";
import type { DroppedFinding, LedgerUpdate, ReviewResult } from "../../src/tasks/shapes/review-result.ts";
import { postedFinding } from "../pull/ledger/posted-finding.ts";

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
    reached: true,
    evidence: [],
    source: "model",
    verification: "unverified",
    verification_note: null,
    places: [],
    symbol: null,
    ...over,
  };
}

export function sampleResult(over: Partial<ReviewResult> = {}): ReviewResult {
  return {
    head_tree: null,
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
    masked: [],
    unplaced: { texts: [], total: 0, hashes: [] },
    predicted: null,
    ledger: null,
    config_changes: [],
    refused: null,
    unanalyzed: [],
    merge_bases: 1,
    ...over,
  };
}

/** A finding that an earlier review posted. */
export function sampleEntry(over: Partial<PostedFinding> = {}): PostedFinding {
  const comment = over.comment === undefined ? 41 : over.comment;
  return postedFinding({
    comment,
    id: "e1",
    path: "src/cart.ts",
    line: 6,
    original_line: 6,
    title: "It was said before",
    text: "",
    is_theirs: false,
    thread: `thread-${comment}`,
    url: `https://github.com/octo/shop/pull/7#discussion_r${comment}`,
    created_at: "2026-01-01T00:00:00Z",
    ...over,
  });
}

/** Nothing was said before. */
export const noAccount: PullStatus & { remembered: null } = {
  ...{ open: [], fixed: [], settled: [], dismissed: [], fixedCount: 0 },
  remembered: null,
};

/** What a review adds to a ledger when there is nothing to add. */
export function sampleUpdate(over: Partial<LedgerUpdate> = {}): LedgerUpdate {
  return {
    known_hunks: 0,
    reviewed: { unit: "change", hashes: [] },
    ...{ repeats: [], resolutions: [], carried: [], settled: [] },
    ...over,
  };
}

/** Another place of a finding. Its code stands in no report. */
export function samplePlace(over: Partial<CodeLocation> = {}): CodeLocation {
  return {
    path: "src/order.ts",
    side: "RIGHT",
    line: 12,
    start_line: null,
    quote: "CODE OF A PLACE",
    ...over,
  };
}

/** A review whose findings were checked again: one confirmed, one in doubt, one refuted, one not severe enough for its doubt. */
export function lookedAtAgain(): Partial<ReviewResult> {
  const confirmed = sampleFinding({
    verification: "confirmed",
    verification_note: "the price is 1",
    places: [samplePlace(), samplePlace({ path: "src/old.ts", side: "LEFT", line: 9, start_line: 7 })],
  });
  const uncertain = sampleFinding({
    ...{ id: "f2", line: 7, title: "The sum may overflow" },
    verification: "uncertain",
    verification_note: "the caller is not in the repository",
  });
  return {
    findings: [confirmed, uncertain].map((finding) => ({ finding, placement: { kind: "inline" } })),
    dropped: [
      sampleDropped(),
      sampleDropped({ id: "d2", line: 4, title: "Slow", verdict: "uncertain", reason: "it depends" }),
    ],
    effort: "medium",
    predicted: { requests: 5, prompt_tokens: 14_000, completion_tokens: 1_000, cost_usd: 0.04 },
  };
}

export function sampleDropped(over: Partial<DroppedFinding> = {}): DroppedFinding {
  return {
    id: "d1",
    path: "src/price.ts",
    line: 3,
    title: "Prices may be missing",
    verdict: "refuted",
    reason: "the type has no null",
    ...{ rule: null, severity: "medium" as const, category: "correctness" as const },
    ...over,
  };
}

const accountOf = new Map<string, Account>([
  ["lock file", "parsed"],
  ["image", "parsed"],
  ["generated", "left_out"],
  ["ignored by configuration", "left_out"],
  ["binary data", "neutral"],
  ["submodule at another commit", "neutral"],
  ["symbolic link to another place", "neutral"],
]);

/** All hunks were read, and files were skipped for these reasons. */
export function skipping(...reasons: string[]): Partial<ReviewResult> {
  const files_skipped = reasons.map((reason, at) => ({
    ...{ path: `src/skipped-${at}.ts`, reason, account: accountOf.get(reason) ?? "unread" },
  }));
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

/** A test that shows a finding: what it says before and now, the test itself, and its runs. */
export function sampleProof(over: Partial<RanProof> = {}): RanProof {
  return {
    kind: "regression",
    test: {
      path: "test/cart-total.proof.test.ts",
      text: 'import assert from "node:assert/strict";\nimport { total } from "../src/cart.ts";\n\nassert.equal(total([{ price: 2 }]), 2);\n',
    },
    command: "node --test test/cart-total.proof.test.ts",
    before: "total([{ price: 2 }]) returns 2",
    now: "total([{ price: 2 }]) returns 0 (AssertionError [ERR_ASSERTION]: 0 !== 2)",
    runs: [
      { on: "base", exit_code: 0, output: "" },
      { on: "head", exit_code: 1, output: "AssertionError [ERR_ASSERTION]: 0 !== 2\n    at test.ts:4:8\n" },
    ],
    ...over,
  };
}
