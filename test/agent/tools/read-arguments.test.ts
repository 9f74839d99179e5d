import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { finishReview } from "../../../src/agent/tools/finish-review.ts";
import {
  answeringTools,
  changingTools,
  commandTools,
  fixingTools,
  graphTools,
  journalTools,
  judgingTools,
  mergingTools,
  provingTools,
  readingTools,
  settlingTools,
} from "../../../src/agent/tools/index.ts";
import { reportFinding } from "../../../src/agent/tools/report-finding.ts";
import { parseArguments } from "../../../src/agent/tools/run-tool.ts";
import { toDefinition } from "../../../src/agent/tools/to-openai.ts";
import { type AnyTool, ToolError } from "../../../src/agent/tools/tool.ts";
import { severities } from "../../../src/core/finding.ts";

const finding = {
  path: "src/a.ts",
  line: 7,
  quote: "const a = 1;",
  severity: "high",
  category: "correctness",
  title: "A title",
  body: "A body.",
  confidence: 0.9,
};
const read = (tool: AnyTool, sent: unknown) =>
  parseArguments(tool, sent) as { input: never; notes: string[] };
const toolNamed = (name: string) =>
  [...readingTools, ...graphTools, ...judgingTools].find((tool) => tool.name === name) as AnyTool;
const whole = parseArguments(reportFinding, finding).input;

describe("a report in another form", () => {
  it.each([
    ["a line as text", { line: "7" }],
    ["a line with the letter of a link", { line: "L7" }],
    ["a line with decimals", { line: "7.0" }],
    ["confidence as text", { confidence: "0.9" }],
    ["confidence in percent, as text", { confidence: "90 %" }],
    ["a boolean as text", { reached: "True" }],
    ["an empty text for a list", { candidates: "", evidence: "" }],
    ["a list as JSON in a text", { evidence: "[]", candidates: "[]" }],
    ["a known word in other case", { severity: "HIGH", category: "Correctness", side: "right" }],
    ["a severity of another scale", { severity: "Major" }],
    ["a category of another list", { category: "bug" }],
    ["the sign of a diff for a side", { side: "+" }],
    ["null for what may be left out", { suggestion: null, start_line: null }],
    ["a key in another spelling", { StartLine: null, "start-line": null }],
  ])("A report in another form is read: %s", (_, over) => {
    expect(read(reportFinding, { ...finding, ...over })).toEqual({ input: whole, notes: [] });
  });

  it.each([
    ["line_number for line", ({ line, ...rest }: typeof finding) => ({ ...rest, line_number: line })],
    ["file_path for path", ({ path, ...rest }: typeof finding) => ({ ...rest, file_path: path })],
    ["description for body", ({ body, ...rest }: typeof finding) => ({ ...rest, description: body })],
    ["both names, one value", (one: typeof finding) => ({ ...one, file_path: one.path, line_number: "7" })],
    ["all of it under one name", (one: typeof finding) => ({ arguments: one })],
    ["all of it under one name, as text", (one: typeof finding) => ({ input: JSON.stringify(one) })],
    ["a list of one", (one: typeof finding) => [one]],
  ])("A report in another form is read: %s", (_, change) => {
    expect(read(reportFinding, change(finding))).toEqual({ input: whole, notes: [] });
  });

  it("A report in another form keeps its evidence if that is text, or one object instead of a list", () => {
    const evidence = { path: "b.ts", start_line: "3", end_line: "4", note: "see" };
    const wanted = [{ path: "b.ts", start_line: 3, end_line: 4, note: "see" }];
    for (const sent of [evidence, [evidence], JSON.stringify([evidence]), [JSON.stringify(evidence)]])
      expect(read(reportFinding, { ...finding, evidence: sent }).input).toMatchObject({ evidence: wanted });
  });

  it("A report in another form loses only the evidence that cannot be read, and says so", () => {
    const good = { path: "b.ts", start_line: 3, end_line: 4, note: "see" };
    const { input, notes } = read(reportFinding, {
      ...finding,
      evidence: ["b.ts:3", good, { path: "c.ts" }],
    });
    expect(input).toMatchObject({ ...finding, evidence: [good] });
    expect(notes).toEqual(["Entries of evidence that cannot be read were left out."]);
  });

  it("A report in another form loses unknown keys, and says which", () => {
    const { input, notes } = read(reportFinding, { ...finding, description: "More.", cwe: "CWE-89" });
    expect(input).toEqual(whole);
    expect(notes).toEqual(["Ignored, because the tool does not know it: description, cwe."]);
  });

  it("A report in another form has long prose cut after a sentence, which the answer says", () => {
    const body = "The value is wrong here. ".repeat(400);
    const { input, notes } = read(reportFinding, { ...finding, body, title: "word ".repeat(60) });
    expect(input).toMatchObject({
      body: expect.stringMatching(/ wrong here\. …$/),
      title: expect.stringMatching(/word…$/),
    });
    expect((input as { body: string }).body.length).toBeLessThanOrEqual(8_000);
    expect(notes).toEqual([
      "title was cut, because it is longer than 200 characters.",
      "body was cut, because it is longer than 8000 characters.",
    ]);
    expect(read(finishReview, { summary: body }).notes).toEqual([
      "summary was cut, because it is longer than 8000 characters.",
    ]);
  });

  it("A report in another form loses a suggestion that is too long, and nothing of one that is not", () => {
    const long = "x".repeat(8_001);
    const { input, notes } = read(reportFinding, { ...finding, suggestion: long });
    expect(input).toEqual(whole);
    expect(notes).toEqual(["The suggestion was left out, because it is longer than 8000 characters."]);
    expect(read(reportFinding, { ...finding, suggestion: long.slice(1) }).input).toHaveProperty("suggestion");
  });

  it.each([
    ["a severity that no list has", { severity: "urgent" }, /at severity/],
    ["a confidence above one", { confidence: 90 }, /at confidence/],
    ["a line that is no number", { line: "the last one" }, /at line/],
    ["two different values", { file_path: "src/b.ts" }, /path is given twice, with different values/],
    ["two lines", { line_number: 8 }, /line is given twice/],
    ["a quote over the limit", { quote: "x".repeat(8_001) }, /at quote/],
  ])("A report in another form is asked for again: %s", (_, over, words) => {
    expect(() => read(reportFinding, { ...finding, ...over })).toThrow(words);
  });
});

describe("a verdict in another form", () => {
  it("A verdict in another form is read with a severity of another scale and a key too many", () => {
    const sent = {
      verdict: "Confirmed",
      reason: "r",
      failing_input: "i",
      severity: "blocker",
      confidence: 1,
    };
    expect(read(toolNamed("report_verdict"), sent)).toMatchObject({
      input: { verdict: "confirmed", severity: "critical" },
      notes: ["Ignored, because the tool does not know it: confidence."],
    });
  });
});

describe("a reading tool", () => {
  it.each([
    ["diff_file", { path: "a.ts", start_hunk: "2" }, { file_path: "a.ts", start_hunk: 2 }],
    ["read_file_part", { file: "a.ts" }, { file_path: "a.ts" }],
    [
      "search_in_files",
      { pattern: "x", file_path: "src", ignore_case: "true" },
      { path: "src", ignore_case: true },
    ],
    ["diff_files", { path1: "a.ts", path2: "b.ts" }, { file_path1: "a.ts", file_path2: "b.ts" }],
    ["list_files", { path: "src" }, { directory: "src" }],
    ["diff_file", { "file\\_path": "a.ts" }, { file_path: "a.ts" }],
  ])("A reading tool takes the other names: %s", (name, sent, input) => {
    expect(read(toolNamed(name), sent)).toMatchObject({ input, notes: [] });
  });

  it.each([
    [{ file_path: "a.ts", hunk: 2 }, /Unrecognized key: "hunk"/],
    [{ file_path: "a.ts", path: "b.ts" }, /file_path is given twice/],
    [JSON.parse('{"file_path": "a.ts", "__proto__": {"start_hunk": 2}}'), /Unrecognized key: "__proto__"/],
  ])("A reading tool refuses %j", (sent, words) => {
    expect(() => read(toolNamed("diff_file"), sent)).toThrow(words);
  });
});

describe("a tool that changes files", () => {
  it.each([
    ["edit_file", { file_path: "a.ts", old_string: "a", new_string: "b" }, /Unrecognized key: "file_path"/],
    ["edit_file", { path: "a.ts", old_string: "a", new_string: "b", replace_all: "true" }, /at replace_all/],
    ["run_command", { command: "npm test", timeout: "3" }, /at timeout/],
  ])("A tool that changes files takes no other form than its own: %s %j", (name, sent, words) => {
    const tool = [...changingTools, ...commandTools].find((one) => one.name === name) as AnyTool;
    expect(() => read(tool, sent)).toThrow(words);
  });
});

describe("any JSON", () => {
  const tools = [...readingTools, ...graphTools, ...mergingTools, ...judgingTools, ...answeringTools];
  const all = [
    ...tools,
    ...settlingTools,
    ...journalTools,
    ...fixingTools,
    ...provingTools,
    ...changingTools,
  ];
  const names = all.flatMap((tool) => Object.keys(tool.example));

  it("Any JSON is read as a tool's input or refused in words, and never changes its own", () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    const sent = fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string()), value, { maxKeys: 8 });
    fc.assert(
      fc.property(fc.constantFrom(...all), sent, (tool, given) => {
        const before = JSON.stringify(given);
        try {
          const { input } = parseArguments(tool, given);
          expect(tool.input.safeParse(input).success).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(ToolError);
        }
        expect(JSON.stringify(given)).toBe(before);
      }),
      { numRuns: 500 },
    );
  });

  it("Any JSON that a tool takes as it is means the same after it was read", () => {
    const severity = fc.constantFrom(...severities);
    const sound = fc.record({ line: fc.nat({ max: 10_000 }), title: fc.string({ minLength: 1 }), severity });
    fc.assert(
      fc.property(sound, ({ line, title, severity }) => {
        const given = { ...finding, line: line + 1, title, severity };
        expect(read(reportFinding, given)).toEqual({ input: reportFinding.input.parse(given), notes: [] });
      }),
    );
  });

  it("Any JSON that is checked against a limit has that limit in the definition", () => {
    for (const tool of all) {
      const { parameters } = toDefinition(tool);
      const checked = JSON.stringify(tool.input.toJSONSchema({ io: "input" })).matchAll(
        /"max(?:Length|Items)":(\d+)/g,
      );
      for (const [, limit] of checked)
        expect(JSON.stringify(parameters), tool.name).toContain(`Up to ${limit} `);
    }
  });
});
