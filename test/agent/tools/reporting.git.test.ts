import { describe, expect, it } from "vitest";
import type { TreeEntry, Workspace } from "../../../src/repo/git/workspace.ts";
import { type ContextOptions, toolsOn } from "./context.ts";

const tree = new Map<string, TreeEntry>([
  ["src/a.ts", { path: "src/a.ts", mode: "100644", oid: "1".repeat(40) }],
  ["odd\tname.ts", { path: "odd\tname.ts", mode: "100644", oid: "2".repeat(40) }],
]);
const workspace = { root: "/checkout", tree: async () => tree } as unknown as Workspace;
const open = (options: ContextOptions = {}) => toolsOn(workspace, options);

const finding = {
  path: "src/a.ts",
  line: 7,
  quote: "const a = 1;",
  severity: "high",
  category: "correctness",
  title: "Wrong constant",
  body: "It should be 2.",
  confidence: 0.8,
};

describe("report_finding", () => {
  it("report_finding hands the finding over and answers its id and anchor", async () => {
    const tools = open();
    const { result, text } = await tools.run("report_finding", JSON.stringify(finding));
    expect(tools.reported).toEqual([
      { ...finding, side: "RIGHT", start_line: null, suggestion: null, reached: true, evidence: [] },
    ]);
    expect(result).toMatchObject({
      output: { id: "f1", path: "src/a.ts", side: "RIGHT", line: 7, start_line: null, note: null },
    });
    expect(text).toBe("Recorded as f1 at src/a.ts line 7 (RIGHT).");
  });

  it("report_finding makes a fault low that nothing reaches yet", async () => {
    const tools = open();
    await tools.output("report_finding", { ...finding, severity: "critical", reached: false });
    expect(tools.reported[0]).toMatchObject({ severity: "low", reached: false });
  });

  it("report_finding cuts a title that is too long at a word, and loses nothing for it", async () => {
    const tools = open();
    await tools.output("report_finding", {
      ...finding,
      title: `The constant\n is wrong ${"very ".repeat(60)}`,
    });
    expect(tools.reported[0]?.title).toMatch(/^The constant is wrong (very )+very…$/);
    expect(tools.reported[0]?.title.length).toBeLessThanOrEqual(200);
  });

  it("report_finding gives a quote back its hidden characters", async () => {
    const tools = open();
    await tools.output("report_finding", { ...finding, quote: "a\\u{200B}b␍ \\u{5C}u{41}" });
    expect(tools.reported[0]?.quote).toBe("a\u200Bb\r \\u{41}");
  });

  it("report_finding does not mind the case of its words", async () => {
    const tools = open();
    const sent = { ...finding, severity: "High ", category: "Error_Handling", side: "left" };
    await tools.output("report_finding", sent);
    expect(tools.reported[0]).toMatchObject({ severity: "high", category: "error-handling", side: "LEFT" });
  });

  it("report_finding takes null for what may be left out", async () => {
    const tools = open();
    const sent = { ...finding, side: null, start_line: null, suggestion: null, evidence: null };
    await tools.output("report_finding", sent);
    expect(tools.reported[0]).toMatchObject({
      side: "RIGHT",
      start_line: null,
      suggestion: null,
      evidence: [],
    });
  });

  it("report_finding takes a range of one line for a line", async () => {
    const tools = open();
    await tools.output("report_finding", { ...finding, start_line: 7 });
    await tools.output("report_finding", { ...finding, start_line: 5 });
    expect(tools.reported.map((one) => one.start_line)).toEqual([null, 5]);
  });

  it.each([
    ["as an absolute path", "/checkout/src/a.ts", "src/a.ts"],
    ["as renderings quote it", '"odd\\tname.ts"', "odd\tname.ts"],
    ["of a file that is not there, for the review to answer", "src/b.ts", "src/b.ts"],
  ])("report_finding takes a path %s", async (_, path, kept) => {
    const tools = open();
    await tools.output("report_finding", { ...finding, path });
    expect(tools.reported[0]?.path).toBe(kept);
  });

  it.each([
    ["an unknown severity", { severity: "urgent" }, /critical.*high.*medium.*low/],
    ["an unknown category", { category: "vibes" }, /maintainability/],
    ["a range the wrong way round", { start_line: 9 }, /start_line 9 is after line 7/],
    ["confidence in percent", { confidence: 80 }, /at confidence/],
    ["a way out", { path: "../a.ts" }, /holds '\.\.'/],
    ["no quote", { quote: "" }, /at quote/],
  ])("report_finding refuses %s", async (_, over, words) => {
    const tools = open();
    expect(await tools.error("report_finding", { ...finding, ...over })).toMatch(words);
    expect(tools.reported).toEqual([]);
  });

  it("report_finding refuses a finding in a private file", async () => {
    const error = await open({ private: ["src/"] }).error("report_finding", finding);
    expect(error).toBe("'src/a.ts' is withheld by configuration");
  });

  it("report_finding hands on why the review does not take it", async () => {
    const reason = "the quote is not in 'src/a.ts'; nearest: 9|const a = 2;";
    const tools = open({ report: { report: async () => ({ ok: false, reason }) } });
    expect(await tools.error("report_finding", finding)).toBe(reason);
  });

  it("report_finding says that a finding is not wanted, which is no error", async () => {
    const note = "this repository wants findings of severity high and above only";
    const tools = open({ report: { report: async () => ({ ok: true, finding: null, note }) } });
    const { result, text } = await tools.run("report_finding", finding);
    expect(result).toMatchObject({ status: "success", output: { id: null, note } });
    expect(text).toBe(`Not kept: ${note}.`);
  });

  it("report_finding tells when the anchor was moved", async () => {
    const kept = { ...finding, id: "f2", side: "RIGHT", start_line: 3, line: 4 } as never;
    const note = "The quote is on lines 3-4.";
    const tools = open({ report: { report: async () => ({ ok: true, finding: kept, note }) } });
    const { text } = await tools.run("report_finding", finding);
    expect(text).toBe(`Recorded as f2 at src/a.ts lines 3-4 (RIGHT). ${note}`);
  });
});

describe("finish_review", () => {
  it("finish_review ends the loop", async () => {
    const summaries: string[] = [];
    const finish = async (summary: string) => {
      summaries.push(summary);
      return { ok: true } as const;
    };
    const run = await open({ report: { finish } }).run("finish_review", { summary: "All well." });
    expect(run).toMatchObject({ endsLoop: true, result: { status: "success", output: { finished: true } } });
    expect(summaries).toEqual(["All well."]);
  });

  it("finish_review goes on when it is refused, and says why", async () => {
    const finish = async () => ({ ok: false, reason: "not read yet: src/a.ts" }) as const;
    const run = await open({ report: { finish } }).run("finish_review", { summary: "Done." });
    expect(run).toMatchObject({
      endsLoop: false,
      result: { status: "error", error: "not read yet: src/a.ts" },
    });
  });
});
