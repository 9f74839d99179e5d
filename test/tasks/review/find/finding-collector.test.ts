import { describe, expect, it } from "vitest";
import type { ReportedFinding } from "../../../../src/agent/tools/tool.ts";
import { Finding } from "../../../../src/core/finding.ts";
import type { AnchorFile } from "../../../../src/tasks/anchor/anchor.ts";
import { createFindingCollector } from "../../../../src/tasks/review/find/finding-collector.ts";

const file: AnchorFile = {
  path: "a.ts",
  paths: ["a.ts"],
  inChange: true,
  hidden: null,
  hunks: [],
  lines: { RIGHT: ["first", "twin", "third", "twin"], LEFT: null },
  hunkAt: (_side, line) => (line <= 2 ? 1 : undefined),
  isRemoved: () => false,
};

const reported: ReportedFinding = {
  path: "a.ts",
  side: "RIGHT",
  line: 1,
  start_line: null,
  quote: "first",
  severity: "medium",
  category: "correctness",
  title: "t",
  body: "b",
  suggestion: null,
  confidence: 0.4,
  reached: true,
  evidence: [],
};

/** A collector of findings in `file`, and those that it has told about. */
function collector(over: Partial<Parameters<typeof createFindingCollector>[0]> = {}) {
  const seen: Finding[] = [];
  const made = createFindingCollector({
    anchorFile: async (path) => (path === "a.ts" ? file : undefined),
    refuseToFinish: () => null,
    minimumSeverity: "low",
    isPrivate: (path) => path.startsWith("secret/"),
    onFinding: (finding) => seen.push(finding),
    ...over,
  });
  return { ...made, seen };
}

describe("the finding collector", () => {
  it("The collector keeps an anchored finding and announces it at once", async () => {
    const { report, findings, seen } = collector();

    const answer = await report(reported);

    expect(answer).toMatchObject({
      ok: true,
      finding: { line: 1, source: "model", verification: "unverified" },
    });
    expect(findings()).toHaveLength(1);
    expect(seen).toEqual(findings());
  });

  it("The collector keeps the same finding once", async () => {
    const { report, findings } = collector();
    await report(reported);

    expect(await report({ ...reported, title: " T", severity: "high" })).toMatchObject({
      ok: true,
      note: expect.stringContaining("once"),
    });
    expect(findings()).toHaveLength(1);
  });

  it("Two faults of one kind on one line are kept, the first with its usual id", async () => {
    const alone = collector();
    await alone.report(reported);
    const { report, findings } = collector();
    await report(reported);
    await report({ ...reported, title: "Another fault" });
    await report({ ...reported, title: "another  Fault" });

    expect(findings().map((one) => one.title)).toEqual(["t", "Another fault"]);
    expect(findings()[0]?.id).toBe(alone.findings()[0]?.id);
    expect(findings()[1]?.id).toBe(`${findings()[0]?.id}-2`);
  });

  it("The same fault at two places is two findings with their own ids", async () => {
    const { report, findings } = collector();
    await report({ ...reported, quote: "twin", line: 2 });
    await report({ ...reported, quote: "twin", line: 4 });
    await report({ ...reported, quote: "twin", line: 4 });

    expect(findings().map((one) => one.line)).toEqual([2, 4]);
    expect(new Set(findings().map((one) => one.id)).size).toBe(2);
  });

  it("The answer says that a line is outside the diff", async () => {
    const answer = await collector().report({ ...reported, quote: "third", line: 3 });

    expect(answer).toMatchObject({ ok: true, note: expect.stringContaining("outside the diff") });
  });

  it("A finding below the minimum severity is not kept, and the answer says so", async () => {
    const { report, findings, seen } = collector({ minimumSeverity: "medium" });

    expect(await report({ ...reported, severity: "low" })).toEqual({
      ok: true,
      finding: null,
      note: expect.stringContaining("medium and above"),
    });
    expect([...findings(), ...seen]).toEqual([]);
  });

  it("Unknown and private paths are refused, each with its reason", async () => {
    const { report, findings } = collector();

    expect(await report({ ...reported, path: "b.ts" })).toMatchObject({
      ok: false,
      reason: expect.stringContaining("no such file"),
    });
    expect(await report({ ...reported, path: "secret/a" })).toMatchObject({
      ok: false,
      reason: expect.stringContaining("withheld"),
    });
    expect(findings()).toEqual([]);
  });

  it("The answer names paths in a form that tools accept", async () => {
    const { report } = collector();

    expect(await report({ ...reported, path: "no\nfile" })).toMatchObject({
      reason: expect.stringContaining('"no\\nfile"'),
    });
  });

  it("The review does not finish as long as there is a reason against it", async () => {
    let reason: string | null = "2 hunks were never read";
    const { finish, summary } = collector({ refuseToFinish: () => reason });

    expect(await finish("done")).toEqual({ ok: false, reason: "2 hunks were never read" });
    expect(summary()).toBeNull();

    reason = null;
    expect(await finish("done")).toEqual({ ok: true });
    expect(summary()).toBe("done");
  });
});

describe("a suggestion of a finding", () => {
  const collectorOn = (path: string, lines: readonly string[] | null) =>
    collector({ anchorFile: async () => ({ ...file, path, lines: { RIGHT: lines, LEFT: null } }) });
  const kept = async (over: Partial<ReportedFinding>, lines = file.lines.RIGHT, path = "a.ts") => {
    const answer = await collectorOn(path, lines).report({ ...reported, ...over });
    if (!answer.ok || !answer.finding) throw new Error(JSON.stringify(answer));
    return answer;
  };

  it("A suggestion on the stated lines stays one", async () => {
    const stated = { start_line: 1, line: 2, quote: "twin", suggestion: "first + twin" };

    expect(await kept(stated)).toMatchObject({
      finding: { start_line: 1, line: 2, suggestion: "first + twin", body: "b" },
      note: null,
    });
  });

  it.each([
    ["moved", { start_line: 3, line: 4, quote: "first\ntwin" }, { start_line: 1, line: 2 }],
    ["clamped", { start_line: 3, line: 40, quote: "third" }, { start_line: 3, line: 4 }],
  ])("A suggestion becomes prose if its range was %s, and the model is told", async (_, stated, anchored) => {
    const answer = await kept({ ...stated, suggestion: "new code" });

    expect(answer).toMatchObject({
      finding: { ...anchored, suggestion: null, body: expect.stringContaining("```\nnew code\n```") },
      note: expect.stringMatching(/; anchored at .*; the suggestion becomes prose/),
    });
    expect((await kept(stated)).note).not.toContain("suggestion");
  });

  it.each([
    ["gives hidden characters back that the replaced lines hold", "a\u200Bb\r", "c\\u{200B}d␍", "c\u200Bd\r"],
    ["leaves escapes as they are written elsewhere", "/[a]/", "/[\\u{200B}]/", "/[\\u{200B}]/"],
  ])("The collector %s", async (_, line, suggestion, posted) => {
    const { finding } = await kept({ quote: line, suggestion }, [line, "far\u200B\r"], "a.txt");

    expect(finding?.suggestion).toBe(posted);
  });

  it("A suggestion is tried on the file: a repaired one is kept, and the model is told", async () => {
    const lines = ["if (ready) {", "  start();", "}"];
    const answer = await kept({ line: 2, quote: "start();", suggestion: "begin();" }, lines);

    expect(answer.finding?.suggestion).toBe("  begin();");
    expect(answer.note).toContain("the suggestion was repaired: the indentation was adapted to the file");
  });

  it("A suggestion that does not fit becomes prose, and a fitting one replaces it", async () => {
    const { report, findings } = collectorOn("a.ts", ["if (ready) {", "  start();", "}"]);
    const about = { ...reported, line: 2, quote: "start();" };

    const first = await report({ ...about, suggestion: "  begin(;" });
    expect(first).toMatchObject({
      finding: { suggestion: null, body: expect.stringContaining("  begin(;") },
    });
    expect(first).toMatchObject({
      note: expect.stringMatching(/becomes prose, because .*; report the same finding again/),
    });

    const again = await report({ ...about, suggestion: "  begin();" });
    expect(again).toMatchObject({ note: "already reported; now with this suggestion" });
    expect(findings()).toMatchObject([{ suggestion: "  begin();", body: "b" }]);
  });

  it("A suggestion adds no fields to a finding", async () => {
    const { finding } = await kept({ suggestion: "x" });

    expect(Finding.parse(finding)).toEqual(finding);
  });

  it("A suggestion that does not fit the second time is refused with the reason again", async () => {
    const { report, findings } = collectorOn("a.ts", ["if (ready) {", "  start();", "}"]);
    const about = { ...reported, line: 2, quote: "  start();" };
    await report({ ...about, suggestion: "  begin(" });

    const again = await report({ ...about, suggestion: "  begin((" });

    expect(again).toMatchObject({
      note: expect.stringMatching(/^already reported; .*becomes prose, because/),
    });
    expect(findings()).toHaveLength(1);
  });

  it("A suggestion that needs more lines belongs to the same finding", async () => {
    const { report, findings } = collectorOn("a.ts", ["if (ready) {", "  start();", "}"]);
    const about = { ...reported, line: 2, quote: "  start();" };
    await report({ ...about, suggestion: "  begin(" });

    const both = "if (ready) {\n  begin();";
    const wider = { ...about, start_line: 1, quote: "if (ready) {\n  start();" };
    const again = await report({ ...wider, suggestion: both });

    expect(again).toMatchObject({ note: "already reported; now with this suggestion" });
    expect(findings()).toEqual([expect.objectContaining({ start_line: 1, line: 2, suggestion: both })]);
    await report({ ...wider, title: "another fault" });
    expect(findings()).toHaveLength(2);
  });

  it("The model is not asked for a suggestion that could not be offered", async () => {
    const { report } = collectorOn("a.ts", ["a(", "b", "third(", "d"]);

    const outside = await report({ ...reported, line: 3, quote: "third(", suggestion: "third((" });

    expect(outside).toMatchObject({ note: expect.stringMatching(/becomes prose.*outside the diff/) });
    expect(outside).not.toMatchObject({ note: expect.stringContaining("report the same finding again") });
  });
});

describe("a finding of a named rule", () => {
  const rules = [
    { name: "no-firsts", severity: "low" as const, where: ["a.ts"], isIn: (path: string) => path === "a.ts" },
    { name: "no-twins", severity: "high" as const, where: ["lib/**"], isIn: () => false },
  ];
  it("A finding has the severity of its rule", async () => {
    const { report } = collector({ rules });

    expect(
      await report({ ...reported, severity: "critical", reached: false, rule: "no-firsts" }),
    ).toMatchObject({ ok: true, finding: { rule: "no-firsts", severity: "low", reached: true } });
  });

  it("A finding outside of the rule's files, or of an unknown rule, is refused with a remedy", async () => {
    const { report, findings } = collector({ rules });

    expect(await report({ ...reported, rule: "no-twins" })).toEqual({
      ok: false,
      reason:
        "the rule no-twins applies to files matching lib/**, not to a.ts; report it there, or without `rule` if it is a fault of its own",
    });
    expect(await report({ ...reported, rule: "no-such" })).toMatchObject({
      ok: false,
      reason: expect.stringContaining("no rule of this repository is named 'no-such'"),
    });
    expect(findings()).toEqual([]);
  });

  it("A repeated finding gives its rule to the one without, in either order", async () => {
    for (const order of [
      [undefined, "no-firsts"],
      ["no-firsts", undefined],
    ]) {
      const { report, findings } = collector({ rules });
      for (const rule of order) await report({ ...reported, ...(rule !== undefined && { rule }) });
      expect(findings()).toMatchObject([{ rule: "no-firsts", severity: "low" }]);
    }
  });

  it("A finding of a blocking rule is kept, however mild it is", async () => {
    const blocking = rules.map((rule) => ({ ...rule, blocking: true }));
    const { report, findings } = collector({ minimumSeverity: "critical", rules: blocking });
    await report({ ...reported, rule: "no-firsts" });
    expect(findings()).toMatchObject([{ rule: "no-firsts", severity: "low" }]);
  });

  it("Findings of two rules on one line stay two, with their own ids", async () => {
    const other = { name: "no-words", severity: "low" as const, where: ["**"], isIn: () => true };
    const { report, findings } = collector({ rules: [...rules, other] });

    await report({ ...reported, rule: "no-firsts" });
    await report({ ...reported, rule: "no-words" });

    expect(findings().map(({ rule }) => rule)).toEqual(["no-firsts", "no-words"]);
    expect(new Set(findings().map(({ id }) => id)).size).toBe(2);
  });
});
