import { describe, expect, it } from "vitest";
import type { TrajectoryEntry } from "../../src/agent/trajectory.ts";
import { figuresOf } from "../../src/cli/run-figures.ts";
import { renderStory } from "../../src/cli/run-story.ts";
import { columns } from "../../src/reporters/terminal-wrap.ts";
import type { AnswerResult } from "../../src/review/answer/answer-input.ts";
import type { FixResult } from "../../src/review/fix/fix-input.ts";
import { sampleResult } from "../reporters/sample-result.ts";

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
          ...{ reason: "It is not.", rule: null },
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

const about = {
  ...{ id: "2e5b6475", source: "server" as const, task: "review", repository: "o/n", pull: 7, range: null },
  ...{ began_at: new Date(at).toISOString(), requested_by: "ann" },
} as const;

function story(written: readonly TrajectoryEntry[], width = 100): string {
  const entries = written.map((entry, index) => ({ at: at + index * 1_000, claim: 1, entry }));
  const row = { ...about, ended_at: null, state: "failed", reason: "no luck", ...figuresOf(entries) };
  const header = { kind: "record", format: 1, version: "0.1.0", ...about } as const;
  return renderStory({ row, header, entries }, { colour: false, width });
}

const oneLine = (text: string) => text.replaceAll(/\s+/g, " ");

describe("the story of a run", () => {
  it.each([
    "asked for by ann",
    "failed: no luck",
    "read 1 file · found 1 · refuted 1 · 2 written to GitHub · 2 turns, 2,000 tokens, $0.0400",
    "review · 1 turn, 1,000 tokens, $0.0200",
    "read_file_part src/\\u{1B}[2J\\u{202E}\\u{E0041}a.ts → a.ts, 9 lines",
    "ended: model error, 502",
    "verify:f1 The condition assigns instead of comparing · 1 turn, 1,000 tokens",
    "report_verdict refuted Cannot happen.",
    "Notes 0:05 log All read.",
    `(f1, inline) ${page}#discussion_r6`,
    "- refuted: a.ts:3 Off by one. It is not.",
    `POST /pulls/7/reviews ${page}#pullrequestreview-5`,
    "push o/n topic https://github.com/o/n/commit/c",
    "second looks at findings 1 turn, 1,000 tokens, $0.0200 in all 2 turns, 2,000 tokens, $0.0400",
  ])("of a review tells: %s", (words) => {
    expect(oneLine(story(review))).toContain(words);
  });

  it("shows of a long path its end, which tells one file from the other", () => {
    const path = `${"packages/".repeat(20)}changed.ts`;
    const [, line] = story([turn("review", "read_file_part", { file_path: path })], 80).split("\n\n");
    expect(line).toMatch(/read_file_part …\S{20,33}changed\.ts$/m);
  });

  it("of an answer tells what was asked, by whom, and what was said", () => {
    const text = oneLine(story(answering));
    expect(text).toContain("Asked ann: Why \\u{1B}[2J\\u{202E}\\u{E0041}?");
    expect(text).toContain("Result Answered; finished; 1 request, 900 prompt tokens");
    expect(text).toContain("Because of **this**.");
  });

  it("of a fix tells what was to be repaired, what became of it, which files, and how it was tried out", () => {
    const text = oneLine(story(fixing));
    for (const words of [
      "Asked - src/cart.ts:6 Assigns",
      "Result 1 of 2 findings repaired; finished;",
      "- repaired: Assigns. Compares. Second look: fixed. It compares.",
      "- left: 102. Nobody knows how.",
      "- changed src/cart.ts - removed \\u{1B}[2J",
      "npm test ended with exit code 0",
      "second looks at the repair 1 turn",
    ])
      expect(text).toContain(words);
  });

  it("of a fix that a review followed tells what both came to, in their order", () => {
    const after: TrajectoryEntry[] = [
      ...fixing,
      { kind: "run", shas, input: {} },
      turn("review", "finish_review", {}),
      { kind: "result", head: "i", base: "b", result: sampleResult({ findings: [] }) },
    ];
    const text = oneLine(story(after));
    expect(text).toMatch(/Asked - src\/cart\.ts:6 Assigns .* 1 of 2 findings repaired;.* Result 0 findings;/);
  });

  it("of a result that nobody can read any more tells all the rest", () => {
    const text = story([
      ...review.slice(0, 5),
      { kind: "result", head: "h", base: "b", result: { of: "1999" } },
    ]);
    expect(text).toContain("report_verdict refuted");
    expect(text).not.toContain("Result\n");
  });

  it("fits the terminal and moves no cursor, whatever was read and answered", () => {
    for (const told of [review, answering, fixing])
      for (const width of [80, 140]) {
        const text = story(told, width);
        const pages = /^ *(?:\S+ +)*https:/;
        const tooLong = text.split("\n").filter((line) => columns(line) > width && !pages.test(line));
        // Text without spaces, as Japanese is, breaks nowhere: the terminal wraps it.
        expect(tooLong.filter((line) => !line.includes(wide))).toEqual([]);
        expect(text).not.toMatch(/[[\p{Cc}\p{Cf}]--[\n]]/v);
      }
  });
});

describe("what a run took", () => {
  it("is all that its turns took, also where they came to nothing", () => {
    const entries = [turn("review", "x", {}), turn("review", "x", {})].map((entry) => ({
      at,
      claim: 1,
      entry,
    }));
    expect(figuresOf(entries)).toEqual({ findings: null, tokens: 2_000, cost_usd: 0.04 });
    expect(figuresOf([])).toEqual({ findings: null, tokens: null, cost_usd: null });
  });
});
