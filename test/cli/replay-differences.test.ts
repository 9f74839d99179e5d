import { describe, expect, it } from "vitest";
import type { LoopEntry } from "../../src/agent/trajectory.ts";
import {
  type Difference,
  differencesOf,
  type Played,
  type Replay,
} from "../../src/cli/replay-differences.ts";
import { renderReplay } from "../../src/cli/replay-report.ts";
import { firstDifference, fromWhereTheyPart } from "../../src/cli/replay-text.ts";
import type { WorkEnd } from "../../src/cli/replay-work.ts";
import type { FixResult } from "../../src/review/fix/fix-input.ts";
import { sampleResult } from "../reporters/sample-result.ts";

const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1, costUsd: null };
const told = (...lines: string[]): LoopEntry => ({
  ...{ kind: "messages", loop: "review" },
  messages: [{ role: "system", content: lines.join("\n") }],
});
function turn(n: number, name = "look"): LoopEntry {
  const toolCalls = [{ id: "1", name, arguments: "{}" }];
  const model = { content: "", toolCalls, finishReason: "tool_calls", usage } as const;
  return { kind: "turn", loop: "review", turn: n, model };
}
const answer = (n: number, text: string, tool = "look"): LoopEntry => ({
  ...{ kind: "tool_results", loop: "review", turn: n },
  results: [{ callId: "1", tool, text }],
});
const stopped = (reason: string): LoopEntry => ({ kind: "stopped", loop: "review", reason });

const review = (over: Parameters<typeof sampleResult>[0] = {}): WorkEnd => ({
  what: "review",
  result: sampleResult(over),
});
const whole = [told("Review."), turn(1), answer(1, "a"), turn(2), answer(2, "b"), stopped("finished")];
const differing = (then: LoopEntry[], now: LoopEntry[], end: Partial<Played> = { end: review() }) =>
  differencesOf({ turns: then, end: review(), ...end }, { turns: now, end: review() });

/** As a loop is played whose next turn the record has not. */
const failing = (...entries: LoopEntry[]) => [told("Review."), ...entries, stopped("model_error")];

describe("what differs between a record and its replay", () => {
  it("is nothing where both went the same way", () => {
    expect(differing(whole, whole)).toEqual([]);
  });

  it("is a turn that was taken out of the record, in the midst of it or at its end", () => {
    const gap = whole.filter((entry) => !("turn" in entry && entry.turn === 1));
    expect(differing(gap, failing())).toMatchObject([
      { kind: "turn", turn: 1, change: "missing" },
      { kind: "turn", turn: 2, change: "unplayed" },
      { kind: "loop", recorded: "finished", today: "model_error" },
    ]);
    const cut = whole.filter((entry) => !("turn" in entry && entry.turn === 2));
    expect(differing(cut, failing(turn(1), answer(1, "a")))).toMatchObject([
      { kind: "turn", turn: 2, change: "missing" },
      { kind: "loop" },
    ]);
  });

  it("is an answer that was taken out of it", () => {
    const without = whole.filter((entry) => !(entry.kind === "tool_results" && entry.turn === 1));
    expect(differing(without, whole)).toMatchObject([
      { kind: "answer", turn: 1, recorded: null, today: "a" },
    ]);
  });

  it("is no end that is missing because the run was killed, and one where the run came to something", () => {
    const killed = whole.slice(0, 4);
    const played = failing(turn(1), answer(1, "a"), turn(2), answer(2, "b"));
    expect(differing(killed, played, { end: null })).toEqual([]);
    expect(differing(killed, played)).toEqual([
      { kind: "loop", loop: "review", recorded: "cut off", today: "model_error" },
    ]);
  });

  it("is of a command how it ended, and nothing that it printed", () => {
    const ran = (text: string) => [
      told("x"),
      turn(1, "run_command"),
      answer(1, text, "run_command"),
      turn(2),
    ];
    expect(differing(ran("exit code 0\n1.2 s"), ran("exit code 0\n3.4 s"))).toEqual([]);
    expect(differing(ran("exit code 0\n1.2 s"), ran("exit code 1\n1.2 s"))).toMatchObject([
      { recorded: "exit code 0", today: "exit code 1" },
    ]);
  });

  it("is what was said of earlier findings, and in the configuration", () => {
    const ledger = (state: "fixed" | "present"): WorkEnd => {
      const resolutions = [{ comment: 5, state, reason: "" }];
      const rest = { known_hunks: 0, reviewed: {} as never, repeats: [], carried: [], settled: [] };
      return review({ ledger: { ...rest, resolutions }, config_changes: [state] });
    };
    expect(differencesOf({ turns: [], end: ledger("fixed") }, { turns: [], end: ledger("present") })).toEqual(
      [
        {
          kind: "result",
          field: "earlier_findings",
          recorded: "comment 5: fixed",
          today: "comment 5: present",
        },
        { kind: "result", field: "config_changes", recorded: "fixed", today: "present" },
      ],
    );
  });

  it("is each file of a fix that is another one, and what became of each finding", () => {
    const fix = (over: Partial<FixResult>): Played => {
      const used = { requests: 1, prompt_tokens: 1, cached_tokens: 0, completion_tokens: 1, cost_usd: null };
      const counts = { rounds: 1, refused: [] };
      const rest = { summary: "", ...counts, model: "m", stop_reason: "finished", usage: used } as const;
      const tried_out = { commands: [], why_none: String(over.repairs?.length) };
      return {
        turns: [],
        end: { what: "fix", result: { repairs: [], edits: [], tried_out, ...rest, ...over } },
      };
    };
    const edit = (path: string, text: string) => {
      const after = { mode: "100644", base64: Buffer.from(text).toString("base64") } as const;
      return { path, after };
    };
    const repair = { id: "1", repaired: true, note: "Done.", check: null };
    const then = fix({ edits: [edit("a", "one\ntwo\n"), edit("b", "x")], repairs: [repair] });
    expect(differencesOf(then, then)).toEqual([]);
    const now = fix({ edits: [edit("a", "one\n2\n"), { path: "c", after: null }] });
    expect(differencesOf(then, now)).toEqual([
      { kind: "result", field: "repairs", recorded: "1 repaired: Done.", today: "" },
      { kind: "result", field: "a", recorded: "two", today: "2" },
      { kind: "result", field: "b", recorded: "mode 100644", today: "(not changed)" },
      { kind: "result", field: "c", recorded: "(not changed)", today: "(removed)" },
    ]);
  });
});

describe("where two texts part", () => {
  it("is told by the first line, and by how many lines each has for itself", () => {
    expect(firstDifference("a\nb\nc\nc", "a\nx\nb\nc")).toEqual({
      ...{ line: 2, recorded: "b", today: "x" },
      lines: { recorded: 1, today: 1 },
    });
    expect(firstDifference("a", "a\nb")).toMatchObject({ line: 2, recorded: "", today: "b" });
  });

  it("is shown also of lines that begin alike for longer than a terminal is wide", () => {
    const long = "x".repeat(5_000);
    const [one, other] = fromWhereTheyPart(`${long}then`, `${long}now`, 40);
    expect([one, other]).toEqual([`…${"x".repeat(24)}then`, `…${"x".repeat(24)}now`]);
    expect(fromWhereTheyPart("then", "today", 40)).toEqual(["then", "today"]);
  });
});

describe("the report of a replay", () => {
  const about: Replay["run"] = {
    ...{ kind: "record", format: 1, version: "0.1.0", id: "2e5b6475", source: "server" },
    ...{ task: "review", requested_by: null, repository: "o/n", pull: 7, range: null },
    began_at: "2026-11-22T20:00:00.000Z",
  };
  const report = (differences: Difference[], version = "0.1.0") => {
    const played = { loops: 1, turns: 2, calls: 2 };
    const work = { what: "review", played, recorded: sampleResult(), today: sampleResult() } as const;
    const replay = { run: about, version, works: [{ ...work, differences }] };
    return renderReplay(replay, { colour: false, width: 80 });
  };

  it("says by which version a run was recorded where that is another one", () => {
    expect(report([])).not.toContain("version");
    expect(report([], "0.2.0").replaceAll("\n", " ")).toContain(
      "Recorded by version 0.1.0, played by 0.2.0.",
    );
  });

  it("shows forty differences, and says that there are more", () => {
    const one: Difference = { kind: "turn", loop: "review", turn: 3, change: "missing" };
    const text = report(Array.from({ length: 45 }, () => one));
    expect(text.match(/review: turn 3 is not on record/g)).toHaveLength(40);
    expect(text).toMatch(/\nand 5 differences more; --format json has all\n$/);
  });

  it("moves no cursor, whatever stands in the record", () => {
    const escapes = "\u001b[2J\u202e";
    const text = report([
      { kind: "result", field: escapes, recorded: escapes, today: "" },
      { kind: "turn", loop: escapes, turn: 1, change: "unplayed" },
    ]);
    expect(text).not.toMatch(/[[\p{Cc}\p{Cf}]--[\n]]/v);
  });
});
