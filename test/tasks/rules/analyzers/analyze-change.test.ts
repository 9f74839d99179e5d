import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { analyzeChange, createAnalyzers } from "../../../../src/tasks/rules/analyzers/analyze-change.ts";
import type { Analyzer, Diagnostic } from "../../../../src/tasks/rules/analyzers/analyzer.ts";
import { fiveSecrets } from "../../../attacks/five-secrets.ts";
import { editedFile, wholeFile } from "./analyzed-file.ts";

const { signal } = new AbortController();
const analyzers = createAnalyzers();

const candidate = (line: number, more: Partial<Diagnostic> = {}): Diagnostic => ({
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
const saying = (name: string, ...said: Diagnostic[]): Analyzer => ({ name, analyze: async () => said });

describe("the analysis of a change", () => {
  it("finds each kind of problem, in the order of paths and lines", async () => {
    const files = [
      wholeFile("z.ts", "debugger;\nif (a === NaN) stop();\n"),
      wholeFile("b.json", "{\n"),
      wholeFile("b.test.ts", 'it.only("x", () => {});\n'),
      wholeFile("c.py", "<<<<<<< HEAD\na = 1\n=======\na = 2\n>>>>>>> b\n"),
      wholeFile("d.env", `GITHUB=ghp_${"aB3dE6gH9jq7Zk39xPvLm2wRt0cF5iJ8kL4n"}\n`),
    ];
    const { diagnostics: found } = await analyzeChange(files, { signal, analyzers });
    expect(found.map((one) => `${one.path}:${one.line} ${one.source}`)).toEqual([
      "b.json:1 broken-data/json",
      "b.test.ts:1 focused-tests/javascript-only",
      "c.py:1 merge-markers/conflict",
      "d.env:1 secrets/github-token",
      "z.ts:1 debugger-leftovers/javascript",
      "z.ts:2 ast-grep/js-compare-nan",
    ]);
  });

  it("keeps only what touches a line that was added, or stands at a removal", async () => {
    const file = editedFile("a.ts", " one\n+two\n three\n four\n-gone\n five");
    const said = [1, 2, 3, 4, 5].map((line) => candidate(line));
    const { diagnostics: found } = await analyzeChange([file], {
      signal,
      analyzers: [saying("all", ...said)],
    });
    expect(found.map((one) => one.line)).toEqual([2, 4, 5]);
  });

  it("keeps a range that holds an added line", async () => {
    const file = editedFile("a.ts", " one\n+two\n three");
    const said = candidate(3, { start_line: 1 });
    const { diagnostics } = await analyzeChange([file], {
      signal,
      analyzers: [saying("range", said)],
    });
    expect(diagnostics).toEqual([said]);
  });

  it("says the same at the same place once, and different things both", async () => {
    const file = wholeFile("a.ts", "one\n");
    const said = [candidate(1), candidate(1), candidate(1, { source: "test/other", severity: "high" })];
    const { diagnostics: found } = await analyzeChange([file], {
      signal,
      analyzers: [saying("twice", ...said)],
    });
    expect(found.map((one) => one.source)).toEqual(["test/other", "test/rule"]);
  });

  it("goes on when an analyzer fails, and tells which", async () => {
    const failure = new Error("broken");
    const failing: Analyzer = { name: "failing", analyze: () => Promise.reject(failure) };
    const crashes: unknown[] = [];
    const { diagnostics, unfinished } = await analyzeChange([wholeFile("a.ts", "one\n")], {
      signal,
      onCrash: (...crash) => crashes.push(crash),
      analyzers: [failing, saying("fine", candidate(1))],
    });
    expect(diagnostics).toHaveLength(1);
    expect(unfinished).toEqual([{ path: "a.ts", analyzers: ["failing"] }]);
    expect(crashes).toEqual([["failing", "a.ts", failure]]);
  });

  it("skips what is left when the time for all files is up, and names it", async () => {
    const time = new AbortController();
    const slow: Analyzer = {
      name: "slow",
      async analyze(file) {
        if (file.path === "b.ts") time.abort();
        return [candidate(1, { path: file.path, source: "slow" })];
      },
    };
    const crashes: unknown[] = [];
    const analysis = await analyzeChange(
      ["a.ts", "b.ts", "c.ts"].map((path) => wholeFile(path, "one\n")),
      {
        signal,
        timeLimit: time.signal,
        analyzers: [slow, saying("last")],
        onCrash: (...crash) => crashes.push(crash),
      },
    );
    expect(analysis.diagnostics.map((one) => one.path)).toEqual(["a.ts", "b.ts"]);
    expect(analysis.unfinished).toEqual([
      { path: "b.ts", analyzers: ["slow", "last"] },
      { path: "c.ts", analyzers: ["slow", "last"] },
    ]);
    expect(crashes).toEqual([]);
  });

  it("names nothing when every analyzer had its turn", async () => {
    const { unfinished } = await analyzeChange([wholeFile("a.ts", "one\n")], { signal, analyzers });
    expect(unfinished).toEqual([]);
  });

  it("takes more diagnostics than a call can have arguments", async () => {
    const file = wholeFile("a.ts", "x\n".repeat(200_000));
    const said = Array.from({ length: 200_000 }, (_, index) => candidate(index + 1));
    const { diagnostics } = await analyzeChange([file], {
      signal,
      analyzers: [{ name: "all", analyze: async () => said }],
    });
    expect(diagnostics).toHaveLength(200_000);
  });

  it("stops with the reason when the run is aborted", async () => {
    const aborted = AbortSignal.abort(new Error("no longer wanted"));
    const run = analyzeChange([wholeFile("a.ts", "one\n")], { signal: aborted, analyzers });
    await expect(run).rejects.toThrow("no longer wanted");
  });

  it.each([
    ["a file of more than a million characters", `debugger;\n${"x\n".repeat(600_000)}`],
    ["a file with a NUL", "debugger;\n\0\n"],
  ])("looks for secrets alone in %s, and names what it leaves out", async (_, text) => {
    const file = wholeFile("a.ts", text + (fiveSecrets().text.split("\n")[2] ?? ""));
    const { diagnostics, unfinished } = await analyzeChange([file], { signal, analyzers });
    expect(diagnostics).toMatchObject([{ source: "secrets/github-token" }]);
    const others = analyzers.map(({ name }) => name).filter((name) => name !== "secrets");
    expect(unfinished).toEqual([{ path: "a.ts", analyzers: others }]);
  });

  it("finds nothing in an empty file", async () => {
    const all = await analyzeChange([wholeFile("a.ts", "")], { signal, analyzers });
    expect(all).toEqual({ diagnostics: [], unfinished: [] });
  });

  it("crashes on no text at all", async () => {
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
        const { diagnostics: found } = await analyzeChange([file], { signal, analyzers, onCrash });
        expect(crashes).toEqual([]);
        for (const one of found) expect(file.addedLines.has(one.line)).toBe(true);
      }),
      { numRuns: 150 },
    );
  });
});
