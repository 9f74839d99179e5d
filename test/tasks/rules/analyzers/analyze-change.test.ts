import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allAnalyzers, analyzeFile } from "../../../../src/tasks/rules/analyzers/analyze-change.ts";
import type { Analyzer, Diagnostic } from "../../../../src/tasks/rules/analyzers/analyzer.ts";
import { fiveSecrets } from "../../../attacks/five-secrets.ts";
import { editedFile, wholeFile } from "./analyzed-file.ts";

const { signal } = new AbortController();
const analyzers = allAnalyzers;

const diagnostic = (line: number, more: Partial<Diagnostic> = {}): Diagnostic => ({
  path: "a.ts",
  line,
  start_line: null,
  severity: "low",
  category: "correctness",
  title: "t",
  body: "b",
  suggestion: null,
  source: "test/rule",
  ...more,
});
const reporting = (name: string, ...found: Diagnostic[]): Analyzer => ({ name, analyze: async () => found });

describe("the analysis of a change", () => {
  it("Each kind of problem is found, in the order of lines", async () => {
    const files = [
      wholeFile("z.ts", "debugger;\nif (a === NaN) stop();\n"),
      wholeFile("b.json", "{\n"),
      wholeFile("b.test.ts", 'it.only("x", () => {});\n'),
      wholeFile("c.py", "<<<<<<< HEAD\na = 1\n=======\na = 2\n>>>>>>> b\n"),
      wholeFile("d.env", `GITHUB=ghp_${"aB3dE6gH9jq7Zk39xPvLm2wRt0cF5iJ8kL4n"}\n`),
    ];
    const found: Diagnostic[] = [];
    for (const file of files) found.push(...(await analyzeFile(file, { signal, analyzers })).diagnostics);
    expect(found.map((one) => `${one.path}:${one.line} ${one.source}`)).toEqual([
      "z.ts:1 debugger-leftovers/javascript",
      "z.ts:2 ast-grep/js-compare-nan",
      "b.json:1 broken-data/json",
      "b.test.ts:1 focused-tests/javascript-only",
      "c.py:1 merge-markers/conflict",
      "d.env:1 secrets/github-token",
    ]);
  });

  it("Only diagnostics on added lines or next to a removal are kept", async () => {
    const file = editedFile("a.ts", " one\n+two\n three\n four\n-gone\n five");
    const given = [1, 2, 3, 4, 5].map((line) => diagnostic(line));
    const { diagnostics: found } = await analyzeFile(file, {
      signal,
      analyzers: [reporting("all", ...given)],
    });
    expect(found.map((one) => one.line)).toEqual([2, 4, 5]);
  });

  it("A range with an added line is kept", async () => {
    const file = editedFile("a.ts", " one\n+two\n three");
    const given = diagnostic(3, { start_line: 1 });
    const { diagnostics } = await analyzeFile(file, {
      signal,
      analyzers: [reporting("range", given)],
    });
    expect(diagnostics).toEqual([given]);
  });

  it("Equal diagnostics of a line are one, different ones stay", async () => {
    const file = wholeFile("a.ts", "one\n");
    const given = [diagnostic(1), diagnostic(1), diagnostic(1, { source: "test/other", severity: "high" })];
    const { diagnostics: found } = await analyzeFile(file, {
      signal,
      analyzers: [reporting("twice", ...given)],
    });
    expect(found.map((one) => one.source)).toEqual(["test/other", "test/rule"]);
  });

  it("An analyzer that fails is named, and the others run", async () => {
    const failure = new Error("broken");
    const failing: Analyzer = { name: "failing", analyze: () => Promise.reject(failure) };
    const crashes: unknown[] = [];
    const { diagnostics, missing } = await analyzeFile(wholeFile("a.ts", "one\n"), {
      signal,
      onCrash: (...crash) => crashes.push(crash),
      analyzers: [failing, reporting("fine", diagnostic(1))],
    });
    expect(diagnostics).toHaveLength(1);
    expect(missing).toEqual(["failing"]);
    expect(crashes).toEqual([["failing", "a.ts", failure]]);
  });

  it("When time is up, the rest is skipped and named", async () => {
    const time = new AbortController();
    const last = reporting("last", diagnostic(1, { source: "last" }));
    const slow: Analyzer = {
      name: "slow",
      async analyze() {
        time.abort();
        return [diagnostic(1)];
      },
    };
    const crashes: unknown[] = [];
    const analysis = await analyzeFile(wholeFile("a.ts", "one\n"), {
      signal,
      timeLimit: time.signal,
      analyzers: [slow, last],
      onCrash: (...crash) => crashes.push(crash),
    });
    expect(analysis).toMatchObject({ diagnostics: [{ source: "test/rule" }], missing: ["slow", "last"] });
    expect(crashes).toEqual([]);
  });

  it("Nothing is missing when every analyzer has finished", async () => {
    const { missing } = await analyzeFile(wholeFile("a.ts", "one\n"), { signal, analyzers });
    expect(missing).toEqual([]);
  });

  it("More diagnostics than a call can have arguments are returned", async () => {
    const file = wholeFile("a.ts", "x\n".repeat(200_000));
    const given = Array.from({ length: 200_000 }, (_, index) => diagnostic(index + 1));
    const { diagnostics } = await analyzeFile(file, {
      signal,
      analyzers: [{ name: "all", analyze: async () => given }],
    });
    expect(diagnostics).toHaveLength(200_000);
  });

  it("An aborted run rejects with its reason", async () => {
    const aborted = AbortSignal.abort(new Error("no longer wanted"));
    const run = analyzeFile(wholeFile("a.ts", "one\n"), { signal: aborted, analyzers });
    await expect(run).rejects.toThrow("no longer wanted");
  });

  it.each([
    ["a file of more than a million characters", `debugger;\n${"x\n".repeat(600_000)}`],
    ["a file with a NUL", "debugger;\n\0\n"],
  ])("Only secrets are searched in %s, and the other analyzers are missing", async (_, text) => {
    const file = wholeFile("a.ts", text + (fiveSecrets().text.split("\n")[2] ?? ""));
    const { diagnostics, missing } = await analyzeFile(file, { signal, analyzers });
    expect(diagnostics).toMatchObject([{ source: "secrets/github-token" }]);
    const others = analyzers.map(({ name }) => name).filter((name) => name !== "secrets");
    expect(missing).toEqual(others);
  });

  it("An empty file has no diagnostics", async () => {
    const all = await analyzeFile(wholeFile("a.ts", ""), { signal, analyzers });
    expect(all).toEqual({ diagnostics: [], missing: [] });
  });

  it("No text makes an analyzer crash", async () => {
    const fragments = [
      "<<<<<<< a\n",
      "=======\n",
      ">>>>>>> b\n",
      "it.only(",
      "debugger;\n",
      "{",
      "[",
      '"',
      "'",
      "`",
    ];
    const code = [
      "def f(x=[]):\n",
      "\tfor ",
      "a === NaN",
      " is 'x'",
      "\r\n",
      "\uD800",
      "\u2028",
      "- a: b: c\n",
      "/*",
    ];
    const text = fc
      .array(fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(...fragments, ...code)), {
        maxLength: 30,
      })
      .map((parts) => parts.join(""));
    const path = fc.constantFrom(
      "a.ts",
      "a.tsx",
      "a.js",
      "a.py",
      "a.go",
      "A.java",
      "a.json",
      "a.yml",
      "a.md",
      "t/a.test.ts",
    );
    await fc.assert(
      fc.asyncProperty(path, text, async (name, content) => {
        const crashes: unknown[] = [];
        const file = wholeFile(name, content);
        const onCrash = (...crash: unknown[]) => crashes.push(crash);
        const { diagnostics: found } = await analyzeFile(file, { signal, analyzers, onCrash });
        expect(crashes).toEqual([]);
        for (const one of found) expect(file.addedLines.has(one.line)).toBe(true);
      }),
      { numRuns: 150 },
    );
  });
});
