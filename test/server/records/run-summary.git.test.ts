import { expect, it } from "vitest";
import type { TrajectoryEntry } from "../../../src/agent/record/trajectory.ts";
import { figuresOf } from "../../../src/cli/commands/runs.ts";
import { summaryOf } from "../../../src/server/records/run-summary.ts";
import type { AnswerResult } from "../../../src/tasks/answer/answer-input.ts";
import type { FixResult } from "../../../src/tasks/fix/fix-input.ts";
import type { ProveResult } from "../../../src/tasks/prove/prove-input.ts";
import { sampleResult } from "../../report/sample-result.ts";

const at = Date.parse("2026-11-22T20:00:00Z");
const escapes = "\u001b[2J\u202e\u{e0041}";
const wide = "変更された関数は例外を投げない".repeat(12);
const page = "https://github.com/o/n/pull/7";
const shas = { head: "a".repeat(40), base: "b".repeat(40), mergeBase: "b".repeat(40) };
const usage = { requests: 1, prompt_tokens: 900, cached_tokens: 0, completion_tokens: 100, cost_usd: 0.02 };
const ended = { model: "m", stop_reason: "finished", usage } as const;

const turn = (loop: string, name: string, given: object): TrajectoryEntry => ({
  ...{ kind: "turn", loop, turn: 1 },
  model: {
    ...{ content: "", finishReason: "tool_calls" },
    toolCalls: [{ id: "1", name, arguments: JSON.stringify(given) }],
    usage: { promptTokens: 900, cachedTokens: 0, completionTokens: 100, costUsd: 0.02 },
  },
});

const review: TrajectoryEntry[] = [
  { kind: "run", shas, input: {} },
  turn("review", "read_file_part", { file_path: `src/${escapes}a.ts` }),
  {
    ...{ kind: "tool_results", loop: "review", turn: 1 },
    results: [{ callId: "1", tool: "x", text: "a.ts, 9 lines\n1|" }],
  },
  { kind: "stopped", loop: "review", reason: "model_error", fault: { code: "model_failed", message: "502" } },
  turn("verify:f1", "report_verdict", { verdict: "refuted", reason: `Cannot happen. ${wide}` }),
  { kind: "note", page: "log", content: "All read.", answer: "done" },
  {
    ...{ kind: "result", head: "h", base: "b" },
    result: sampleResult({
      dropped: [
        {
          ...{ id: "a", path: "a.ts", line: 3, title: "Off by one", verdict: "refuted" },
          ...{ reason: "It is not.", ...{ rule: null, severity: null, category: null } },
        },
      ],
    }),
  },
  { kind: "wrote", request: "POST /repos/o/n/pulls/7/reviews", id: 5, url: `${page}#pullrequestreview-5` },
  { kind: "wrote", request: "push o/n topic", id: null, url: "https://github.com/o/n/commit/c" },
  { kind: "posted", comments: [{ finding: "f1", id: 6, url: `${page}#discussion_r6` }] },
];

const answer: AnswerResult = { text: `Because of **this**.\n\n${wide}\n${escapes}`, ...ended };
const answering: TrajectoryEntry[] = [
  {
    ...{ kind: "run", what: "answer", shas },
    input: { question: { by: "ann", body: `Why ${escapes}?` }, thread: null, config: "of another version" },
  },
  turn("answer", "reply", {}),
  { kind: "result", head: "h", base: "b", result: answer },
];

const target = {
  ...{ id: "101", path: "src/cart.ts", side: "RIGHT", line: 6, original_line: 6, title: "Assigns" },
  ...{ finding: "", conversation: [], symbol: null, files: [] },
};
const fix: FixResult = {
  repairs: [
    { id: "101", repaired: true, note: "Compares.", check: { state: "fixed", reason: "It compares." } },
    { id: "102", repaired: false, note: `Nobody knows how. ${escapes}`, check: null },
  ],
  ...{ summary: "Compare", rounds: 1, refused: [], ...ended },
  edits: [
    { path: "src/cart.ts", after: { mode: "100644", base64: "" } },
    { path: `${escapes}old.ts`, after: null },
  ],
  tried_out: { commands: [{ command: "npm test", folder: ".", exit_code: 0, ended: null }], why_none: null },
};
const fixing: TrajectoryEntry[] = [
  { kind: "run", what: "fix", shas, input: { targets: [target] } },
  turn("fix", "edit_file", { path: "src/cart.ts" }),
  turn("fix:check:F1", "report_resolution", { state: "fixed" }),
  { kind: "result", head: "h", base: "b", result: fix },
];

const proofTarget = {
  ...{ id: "f9", severity: "high", title: `No total ${escapes}`, text: "It throws.", path: "src/cart.ts" },
  ...{ side: "RIGHT", line: 6, start_line: null, symbol: null, suggestion: null },
};
const tested: TrajectoryEntry = {
  ...{ kind: "tested", key: "k" },
  end: {
    ...{ stdout: "", stderr: "", exit_code: 0, ended: null, changed: [], executed: null, duration_ms: 9 },
  },
};
const reason = `it passes at the head ${escapes}`;
const proved: ProveResult = {
  proofs: [{ id: "f9", proof: { kind: "not_shown", reason } }],
  ...ended,
};
const start: TrajectoryEntry = { kind: "run", what: "prove", shas, input: { targets: [proofTarget] } };
const proving: TrajectoryEntry[] = [
  ...[start, turn("prove:f9", "try_test", { path: "t.js" }), tested, turn("intent:f9", "report_intent", {})],
  { kind: "result", head: "h", base: "b", result: proved },
];

const recordOf = (written: readonly TrajectoryEntry[]) =>
  written.map((entry, index) => ({ at: at + index * 1_000, claim: 1, entry }));
const summarized = (written: readonly TrajectoryEntry[]) => summaryOf(recordOf(written), at);

const paid = { turns: 1, tokens: 1_000, cached_tokens: 0, cost_usd: 0.02 };

it("The summary of a run of a review counts what was read, found, refuted, written and paid", () => {
  expect(summarized(review)).toMatchObject({
    ...{ attempts: 1, asked: null },
    commits: { head: shas.head, base: shas.base, merge_base: shas.mergeBase },
    totals: {
      ...{ files_read: 1, searches: 0, findings: 1, refuted: 1, written: 2 },
      paid: { ...paid, turns: 2, tokens: 2_000, cost_usd: 0.04 },
    },
    paid_for: [
      { purpose: "review", ...paid },
      { purpose: "second looks at findings", ...paid },
    ],
  });
});

it("The summary of a run of a review holds each loop by its turns, with what was called and answered, and why it ended", () => {
  const [first, second] = summarized(review).loops;
  expect(first).toMatchObject({
    ...{ name: "review", title: null, paid },
    steps: [
      {
        ...{ kind: "turn", after_ms: 1_000, turn: 1, text: "" },
        calls: [{ tool: "read_file_part", about: `src/${escapes}a.ts`, answer: "a.ts, 9 lines" }],
      },
      { kind: "stopped", after_ms: 3_000, reason: "model_error", fault: "502" },
    ],
  });
  expect(second).toMatchObject({
    name: "verify:f1",
    title: "The condition assigns instead of comparing",
    steps: [{ calls: [{ tool: "report_verdict", about: `refuted Cannot happen. ${wide}`, answer: null }] }],
  });
});

it("The summary of a run of a review holds its notes, and what it found, left out and wrote, with the pages on GitHub", () => {
  const summary = summarized(review);
  expect(summary.notes).toEqual([{ after_ms: 5_000, page: "log", content: "All read." }]);
  expect(summary.results).toMatchObject([
    {
      what: "review",
      findings: [{ finding: { id: "f1" }, placement: { kind: "inline" }, url: `${page}#discussion_r6` }],
      dropped: [{ verdict: "refuted", title: "Off by one", reason: "It is not." }],
    },
  ]);
  expect(summary.written).toMatchObject([
    { request: "POST /repos/o/n/pulls/7/reviews", id: 5, url: `${page}#pullrequestreview-5` },
    { request: "push o/n topic", id: null, url: "https://github.com/o/n/commit/c" },
  ]);
});

it("The summary of a run of an answer holds the question, who asked it, and the answer", () => {
  const { asked, results } = summarized(answering);
  expect(asked).toEqual({ what: "answer", by: "ann", path: null, question: `Why ${escapes}?` });
  expect(results).toEqual([{ what: "answer", ...answer }]);
});

it("The summary of a run of a fix holds what was to repair, what became of it, and which files changed, without their content", () => {
  const { asked, results, paid_for } = summarized(fixing);
  expect(asked).toEqual({
    what: "fix",
    targets: [{ id: "101", path: "src/cart.ts", line: 6, title: "Assigns" }],
  });
  expect(results).toMatchObject([
    {
      ...{ what: "fix", repairs: fix.repairs, tried_out: fix.tried_out },
      edits: [
        { path: "src/cart.ts", change: "changed" },
        { path: `${escapes}old.ts`, change: "removed" },
      ],
    },
  ]);
  expect(JSON.stringify(results)).not.toContain("base64");
  expect(paid_for.map(({ purpose }) => purpose)).toEqual(["fix", "second looks at the repair"]);
});

it("The summary of a run of a proof holds what was to prove, how often a test ran, and what the runs show", () => {
  const { asked, results, paid_for, totals, loops } = summarized(proving);
  const { id, path, line, title } = proofTarget;
  expect(asked).toEqual({ what: "prove", targets: [{ id, path, line, title }] });
  expect(totals.test_runs).toBe(1);
  expect(results).toMatchObject([{ what: "prove", proofs: proved.proofs }]);
  expect(paid_for.map(({ purpose }) => purpose)).toEqual(["tests of findings", "what the change asks for"]);
  expect(loops.map((one) => one.title)).toEqual([title, title]);
});

it("The summary of a run of a review that proves its findings is that of a review", () => {
  const [first, ...others] = review;
  if (!first) throw new Error("there is no entry");
  const { asked, results, totals } = summarized([first, start, tested, tested, ...others]);
  expect([asked, results.map(({ what }) => what), totals.test_runs]).toEqual([null, ["review"], 2]);
});

it("The summary of a run of a fix that a review followed holds both results, in their order", () => {
  const after: TrajectoryEntry[] = [
    ...fixing,
    { kind: "run", shas, input: {} },
    turn("review", "finish_review", {}),
    { kind: "result", head: "i", base: "b", result: sampleResult({ findings: [] }) },
  ];
  const { asked, results } = summarized(after);
  expect(asked?.what).toBe("fix");
  expect(results.map(({ what }) => what)).toEqual(["fix", "review"]);
});

it("The summary of a run leaves out a result that this version cannot read, and keeps the rest", () => {
  const { results, loops } = summarized([
    ...review.slice(0, 5),
    { kind: "result", head: "h", base: "b", result: { of: "1999" } },
  ]);
  expect(results).toEqual([]);
  expect(loops).toHaveLength(2);
});

it("What a run took is all that its turns took, also where they came to nothing", () => {
  const entries = [turn("review", "x", {}), turn("review", "x", {})].map((entry) => ({
    at,
    claim: 1,
    entry,
  }));
  expect(figuresOf(entries)).toEqual({ findings: null, tokens: 2_000, cost_usd: 0.04 });
  expect(figuresOf([])).toEqual({ findings: null, tokens: null, cost_usd: null });
});
