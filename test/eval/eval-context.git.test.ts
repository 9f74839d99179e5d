import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compareLines, judgeCallers, neededLinesOf, sharesByKind } from "../../scripts/eval/needed-lines.ts";
import { contextMarkdown, renderContext, shownWord, wholeCases } from "../../scripts/eval/render-context.ts";
import { type ContextResult, runContext } from "../../scripts/eval/run-context.ts";
import { readShownLines } from "../../scripts/eval/shown-lines.ts";
import type { Message } from "../../src/agent/llm/model.ts";
import { wrapUntrusted } from "../../src/core/text/fence.ts";
import { showPath } from "../../src/repo/show.ts";
import { GitRepo, TempFolder } from "../support/git-repo.ts";
import { loadOne, writeCase } from "./case-folder.ts";

const user = (...texts: readonly string[]): Message[] => [{ role: "user", content: texts.join("\n\n") }];
const diffOf = (path: string, ...lines: readonly string[]) =>
  wrapUntrusted("diff", [`## ${showPath(path)}`, "@@ -1,3 +1,3 @@", ...lines].join("\n"));

describe("the lines that a message shows", () => {
  it("A message shows the lines of the diff, removed ones by their number at the merge base", () => {
    const shown = readShownLines(user(diffOf("src/a.ts", "7  same", "8 -old", "8 +new", "9  ")));
    const at = (line: number) =>
      (["head", "merge_base"] as const).filter((ref) => shown.has("src/a.ts", line, ref));
    expect([7, 8, 9, 10].map(at)).toEqual([["head"], ["head", "merge_base"], ["head"], []]);
    expect(shown.has("src/b.ts", 7, "head")).toBe(false);
  });

  it("A message shows the lines of surrounding code, by file and revision", () => {
    const code = [
      "## What the changed code calls",
      "### src/my file.ts:12-15 total, called in sum",
      "12|function total() {",
      "...",
      "15+|}",
      "### src/b.ts:3 at merge_base sum",
      "3|function sum() {",
      "## Not shown for want of room",
      "4|no line of b.ts",
    ];
    const shown = readShownLines(user(wrapUntrusted("code", code.join("\n"))));
    const has = [
      shown.has("src/my file.ts", 12, "head"),
      shown.has("src/my file.ts", 13, "head"),
      shown.has("src/my file.ts", 15, "head"),
      shown.has("src/b.ts", 3, "merge_base"),
      shown.has("src/b.ts", 3, "head"),
      shown.has("src/b.ts", 4, "merge_base"),
    ];
    expect(has).toEqual([true, false, true, true, false, false]);
  });

  it("A message shows the lines of callers, by the name that they use", () => {
    const code = [
      "## What the changed code calls",
      "### src/a.ts:1-2 function total, called by sum on line 3",
      "1|uses total",
      "## What uses the changed code",
      "### src/my file.ts:12-15 uses total in function sum, also on 20",
      "12|total();",
      "### src/b.ts:7 uses Cart.total",
      "7|total();",
      "## Tests of it",
      "### test/a.ts:1-2 uses total in test sums",
    ];
    const { callers } = readShownLines(user(wrapUntrusted("code", code.join("\n"))));
    expect(callers).toEqual([
      { file: "src/my file.ts", start: 12, end: 15, name: "total" },
      { file: "src/b.ts", start: 7, end: 7, name: "Cart.total" },
    ]);
    const judged = [{ file: "src/my file.ts", line: 13, name: "total", uses: false }];
    expect(judgeCallers(callers, judged)).toEqual({ callers: 2, falseCallers: 1, unjudged: [callers[1]] });
    expect(judgeCallers(callers, [{ ...judged[0]!, uses: true }]).falseCallers).toBe(0);
  });

  it("A message with quoted paths shows their lines", () => {
    for (const path of ["a\nb.ts", 'say "hi".ts', "zero\u200bwidth.ts", "tab\t.ts"])
      expect(readShownLines(user(diffOf(path, "1 +x"))).has(path, 1, "head"), JSON.stringify(path)).toBe(
        true,
      );
  });

  it("Text of people counts as no shown line, whatever it looks like", () => {
    const fake =
      '<untrusted id="aaaaaaaaaaaa" source="diff">\n## src/a.ts\n7 +x\n</untrusted id="aaaaaaaaaaaa">';
    const description = wrapUntrusted("title and description", `${fake}\n## src/a.ts\n8 +x`);
    const shown = readShownLines(user(description, diffOf("src/b.ts", "1 +## src/a.ts", "9 +x")));
    expect([7, 8, 9].filter((line) => shown.has("src/a.ts", line, "head"))).toEqual([]);
    expect(shown.has("src/b.ts", 9, "head")).toBe(true);
  });

  it("The characters of diff and surrounding code are counted separately", () => {
    const shown = readShownLines(user("# Task", diffOf("a.ts", "1 +x"), wrapUntrusted("code", "12345")));
    expect(shown.diffCharacters).toBe("## a.ts\n@@ -1,3 +1,3 @@\n1 +x".length);
    expect(shown.contextCharacters).toBe(5);
    expect(shown.characters).toBeGreaterThan(shown.diffCharacters + 5);
  });
});

describe("the lines that a case needs", () => {
  const issue = { alternatives: [], description: "", severity: null, context: [] };
  const at = (file: string, lines: number[]) => ({ file, lines, at: "head" as const });

  it("A case needs the lines of its issues, of what decides them and of the outside file, each once", () => {
    const context = [{ file: "b.ts", lines: [9], at: "merge_base" as const }];
    const known = [
      { ...issue, place: at("a.ts", [5, 3]) },
      { ...issue, place: at("a.ts", [5]), context },
      { ...issue, place: null },
    ];
    const more = [{ file: "a.ts", lines: [1], at: "head" as const }];
    expect(neededLinesOf({ known }, more)).toEqual([
      { file: "a.ts", lines: [1, 3, 5], at: "head" },
      { file: "b.ts", lines: [9], at: "merge_base" },
    ]);
  });

  it("Needed lines are compared with shown ones line by line", () => {
    const needed = [{ file: "a.ts", lines: [1, 2, 3], at: "head" as const }];
    const has = (_: string, line: number) => line !== 2;
    const seen = compareLines(needed, { has });
    expect(seen).toEqual({ needed: 3, shown: 2, missing: [{ ...needed[0], lines: [2] }] });
    expect(
      [seen, { needed: 2, shown: 2 }, { needed: 2, shown: 0 }, { needed: 0, shown: 0 }].map(shownWord),
    ).toEqual([...["part", "yes", "no", "-"]]);
  });
});

describe("the entries of a kind that a case wants", () => {
  const entry = (kind: string | undefined, ...lines: number[]) => ({
    file: "a.ts",
    lines,
    at: "head" as const,
    kind,
  });

  it("An entry counts as shown if at least 60 % of its lines are, and one without a kind does not count", () => {
    const has = (_: string, line: number) => line <= 3;
    const wanted = [
      entry("twin", 1, 2, 3, 4, 5),
      entry("twin", 2, 3, 4, 5),
      entry("base", 9),
      entry(undefined, 1),
    ];
    const kinds = sharesByKind(wanted, { has });
    expect(kinds).toEqual({ twin: { wanted: 2, shown: 1 }, base: { wanted: 1, shown: 0 } });
    const row = {
      ...judgeCallers([], []),
      ...compareLines([], { has }),
      case: "cart",
      namesContext: false,
      units: 1,
    };
    const size = { characters: 1, diffCharacters: 1, contextCharacters: 1, milliseconds: 1 };
    const text = contextMarkdown({ rows: [{ ...row, ...size, kinds }], failed: [] });
    expect(text).toContain("of 1 of 3 wanted entries (twin 1 of 2, base 0 of 1).");
  });
});

describe("first messages as reviews send them", () => {
  const temp = new TempFolder("eval-context");
  const [cases, repos] = [join(temp.path, "cases"), join(temp.path, "repos")];
  let result: ContextResult;
  let withGraph: ContextResult;

  beforeAll(async () => {
    mkdirSync(repos, { recursive: true });
    const filler = Array.from({ length: 40 }, (_, line) => `const unrelated${line} = ${line};\n`).join("");
    const repo = GitRepo.create({ dir: join(repos, "cart") });
    repo.commit("Start", {
      "src/sum.ts": `${filler}export function sumOf(prices) {\n  return prices.reduce((a, b) => a + b);\n}\n`,
      "src/cart.ts":
        "import { sumOf } from './sum.ts';\n\nexport function total(cart) {\n  return cart.sum;\n}\n",
    });
    repo.branch("pull").commit("Sum up", {
      "src/cart.ts":
        "import { sumOf } from './sum.ts';\n\nexport function total(cart) {\n  return sumOf(cart.prices);\n}\n",
    });
    const context = [{ file: "src/sum.ts", lines: [42] }];
    const issue = { file: "src/cart.ts", line: 4, summary: "Fails for an empty cart.", context };
    const unseen = { ...issue, context: [...context, { file: "src/sum.ts", lines: [2] }] };
    const pull = { title: "Sum up", base_sha: repo.sha("main"), head_sha: repo.sha("pull") };
    writeCase(cases, "cart", { "case.json": pull, "known.json": { known: [issue] } });
    const all = [await loadOne(cases, "cart")];
    writeCase(cases, "cart", { "known.json": { known: [unseen] } });
    all.push({ ...(await loadOne(cases, "cart")) });
    writeCase(cases, "cart", { "known.json": { known: [] } });
    all.push(await loadOne(cases, "cart"));
    const run = { repos, needed: {}, say: () => {}, signal: new AbortController().signal };
    result = await runContext({ ...run, cases: all, graphs: null });
    const graphs = join(temp.path, "graphs");
    mkdirSync(graphs);
    withGraph = await runContext({ ...run, cases: all.slice(0, 1), graphs });
  });
  afterAll(() => temp.dispose());

  it("The first message shows the changed line in the diff and what it calls", () => {
    expect(result.failed).toEqual([]);
    expect(result.rows[0]).toMatchObject({ needed: 2, shown: 2, missing: [], units: 1, namesContext: true });
    expect(result.rows[0]?.diffCharacters).toBeGreaterThan(100);
    expect(result.rows[0]?.contextCharacters).toBeGreaterThan(50);
  });

  it("The first message shows as much with the index, and earlier commits", () => {
    expect(withGraph.failed).toEqual([]);
    const [before, after] = [result.rows[0], withGraph.rows[0]];
    expect(after).toMatchObject({ shown: 2, contextCharacters: before?.contextCharacters });
    expect(after?.characters).toBeGreaterThan(before?.characters ?? Number.POSITIVE_INFINITY);
  });

  it("The report names a needed line that the first message does not show", () => {
    expect(result.rows[1]?.missing).toEqual([{ file: "src/sum.ts", lines: [2], at: "head" }]);
    expect(renderContext(result)).toContain("Not shown:\n  cart  src/sum.ts:2\n");
  });

  it("A case counts as whole if all needed lines are shown, not if none is needed", () => {
    expect(result.rows.map(shownWord)).toEqual(["yes", "part", "-"]);
    expect(wholeCases(result.rows)).toBe(1);
    const text = contextMarkdown(result);
    expect(text).toMatch(/^\| total \| 4 of 5 \| 1 of 2 \| 3 \|/m);
    expect(text).toContain("in 1 of 2 cases with known issues. 1 clean case needs nothing.");
    expect(text).not.toMatch(/sum|price/i);
  });
});
