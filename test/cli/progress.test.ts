import { describe, expect, it } from "vitest";
import { advance, createProgress, noProgress, statusLine } from "../../src/cli/progress.ts";
import type { ProgressEvent } from "../../src/tasks/shapes/review-result.ts";

const usage = { promptTokens: 12_000, cachedTokens: 0, completionTokens: 345, costUsd: 0.02 };
const run: ProgressEvent[] = [
  { type: "phase", phase: "context" },
  { type: "phase", phase: "review" },
  { type: "coverage", served: 3, total: 12 },
  { type: "turn", turn: 2, total: usage },
  { type: "tool", tool: "diff_file", target: "src/a.ts", status: "started" },
  { type: "finding", severity: "high", path: "src/a.ts", line: 3, title: "t" },
];

/** A stream that remembers, as a terminal or as a pipe. */
function fakeStream(isTTY: boolean) {
  const written: string[] = [];
  const stream = { isTTY, columns: 60, write: (text: string) => written.push(text) > 0 };
  return { written, stream: stream as unknown as NodeJS.WriteStream };
}

describe("The progress of a review", () => {
  it("The line has phase, turn, coverage, findings, tokens, cost and tool", () => {
    expect(statusLine(run.reduce(advance, noProgress), 83_000)).toBe(
      "1:23 · reviewing · 2 turns · 3/12 hunks · 1 finding · 12,345 tokens · $0.0200 · diff_file src/a.ts",
    );
  });

  it.each<[string, ProgressEvent[], string]>([
    ["of several loops", [{ type: "unit", done: 3, total: 12 }], "0:00 · reviewing 3/12 units"],
    ["of the only loop", [{ type: "unit", done: 0, total: 1 }], "0:00 · reviewing"],
    [
      "of second looks",
      [
        { type: "unit", done: 12, total: 12 },
        { type: "phase", phase: "verifying" },
        { type: "verdict", done: 2, total: 7 },
      ],
      "0:00 · checking each finding 2/7",
    ],
  ])("The line says how many %s have ended", (_name, events, line) => {
    const begun = advance(noProgress, { type: "phase", phase: "review" });
    expect(statusLine(events.reduce(advance, begun), 0)).toBe(line);
  });

  it("The line names the model that is probed, until the run begins", () => {
    const { stream, written } = fakeStream(false);
    let now = 0;
    const progress = createProgress(stream, { now: () => now });
    progress.handle({ type: "probe", model: "gpt-x" });
    now = 8_000;
    progress.handle({ type: "phase", phase: "context" });
    expect(written).toEqual(["0:00 · asking gpt-x what it can do\n", "0:08 · reading the change\n"]);
  });

  it("The line leaves the cost out if the price is not known", () => {
    const state = advance(noProgress, { type: "turn", turn: 1, total: { ...usage, costUsd: null } });
    expect(statusLine(state, 0)).toBe("0:00 · reading the repository · 1 turn · 12,345 tokens");
  });

  it("The line shows no path or pattern that would control the terminal", () => {
    const state = advance(noProgress, {
      type: "tool",
      tool: "search_in_files",
      target: "\u001b[2J\nx\u202e",
      status: "started",
    });
    expect(state.activity).toBe("search_in_files \\u{1B}[2J x\\u{202E}");
  });

  it("The progress is a line for a phase, and others every few seconds, without a terminal", () => {
    const { stream, written } = fakeStream(false);
    let now = 0;
    const progress = createProgress(stream, { now: () => now });
    for (const event of run) progress.handle(event);
    expect(written).toEqual(["0:00 · reading the change\n", "0:00 · reviewing\n"]);
    now = 20_000;
    progress.handle({ type: "turn", turn: 3, total: usage });
    expect(written).toHaveLength(3);
    expect(written[2]).toMatch(/^0:20 · reviewing · 3 turns .*\n$/);
    expect(written.join("")).not.toContain("\u001b");
    progress.end();
  });

  it("The progress begins after a moment if nothing was shown before", async () => {
    const { stream, written } = fakeStream(false);
    using _ = createProgress(stream, { now: () => 0, quietMs: 5 });
    await expect.poll(() => written).toEqual(["0:00 · reading the repository\n"]);
  });

  it("The progress shows nothing of work that ends at once", async () => {
    for (const isTerminal of [false, true]) {
      const { stream, written } = fakeStream(isTerminal);
      const progress = createProgress(stream, { quietMs: 20 });
      progress.handle({ type: "phase", phase: "context" });
      progress.end();
      await new Promise((resolve) => setTimeout(resolve, 60));
      expect(written).toEqual([]);
    }
  });

  it("The progress has one line for each step and every few seconds without a terminal", () => {
    const { stream, written } = fakeStream(false);
    let now = 0;
    using progress = createProgress(stream, { now: () => now });
    progress.handle({ type: "step", name: "reading", text: "reading" });
    for (let done = 0; done < 100; done++) {
      now += 100;
      progress.handle({ type: "step", name: "indexing", text: `indexing ${done}/100 files` });
    }
    expect(written).toEqual([
      "0:00 · reading\n",
      "0:00 · indexing 0/100 files\n",
      "0:05 · indexing 50/100 files\n",
    ]);
  });

  it("The progress removes its line for one that stays", async () => {
    const { stream, written } = fakeStream(true);
    using progress = createProgress(stream, { now: () => 0 });
    await expect.poll(() => written).toHaveLength(1);
    progress.say("warning: x");
    expect(written.slice(1)).toEqual(["\r\u001b[2K", "warning: x\n"]);
  });

  it("The progress redraws one line on a terminal, within its width, and removes it in the end", async () => {
    const { stream, written } = fakeStream(true);
    const progress = createProgress(stream, { now: () => 0 });
    for (const event of run) progress.handle(event);
    await expect.poll(() => written.length).toBeGreaterThan(0);
    progress.end();
    const drawn = written[0]?.replace("\r\u001b[2K", "") ?? "";
    expect(drawn).toMatch(/^0:00 · reviewing .*…$/);
    expect(drawn.length).toBeLessThan(60);
    expect(written.at(-1)).toBe("\r\u001b[2K");
  });

  it("The progress reports a fault of ours as a line that stays", () => {
    const { stream, written } = fakeStream(false);
    createProgress(stream).handle({ type: "crash", where: "ast-grep", error: "boom\nstack" });
    expect(written).toEqual(["fault in ast-grep: boom stack\n"]);
  });
});
