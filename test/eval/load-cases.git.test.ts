import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { loadCases } from "../../scripts/eval/load-cases.ts";
import { TempFolder } from "../support/git-repo.ts";
import { emptyDiscount, loadOne, patchOfNew, writeCase, writePriceCase } from "./case-folder.ts";

const temp = new TempFolder("cases");
const folder = join(temp.path, "cases");
afterAll(() => temp.dispose());
beforeEach(() => rmSync(folder, { recursive: true, force: true }));

const sha = "a".repeat(40);
const pull = { title: "Change", fetch: "owner/name", base_sha: sha, head_sha: "b".repeat(40) };

describe("a folder of cases", () => {
  it("Cases are read in the order of their names, or only those that are named", async () => {
    writePriceCase(folder, "second");
    writePriceCase(folder, "first");
    const names = async (only?: string[]) => (await loadCases(folder, only)).map(({ name }) => name);
    expect(await names()).toEqual(["first", "second"]);
    expect(await names(["second"])).toEqual(["second"]);
    await expect(names(["third"])).rejects.toThrow("no case 'third'");
  });

  it("A folder without cases is refused", async () => {
    await expect(loadCases(temp.path)).rejects.toThrow(`no cases in ${temp.path}`);
    await expect(loadCases(join(temp.path, "nowhere"))).rejects.toThrow("the cases cannot be read");
  });
});

describe("a case", () => {
  it("A case can have its lines, description and needs under either key", async () => {
    const context = [{ file: "cart.py", lines: [4, 5], at: "merge_base" }];
    writeCase(folder, "one", {
      "case.json": pull,
      "known.json": {
        known: [
          {
            file: "a.py",
            line_in_head: 7,
            lines_all: [7, 9],
            summary: "Wrong.",
            context: "repo",
            severity: "high",
          },
          { file: "a.py", line: 3, description: "Wrong too.", context },
        ],
        acceptable: ["A typo.", { file: "a.py", line: 1, summary: "Another." }],
      },
    });
    const one = await loadOne(folder, "one");
    expect(one.known).toEqual([
      {
        ...{ place: { file: "a.py", lines: [7, 9], at: "head" }, alternatives: [], context: [] },
        ...{ description: "Wrong.", severity: "high" },
      },
      {
        ...{ place: { file: "a.py", lines: [3], at: "head" }, alternatives: [], context },
        ...{ description: "Wrong too.", severity: null },
      },
    ]);
    expect(one.acceptable).toEqual([
      { file: null, line: null, description: "A typo." },
      { file: "a.py", line: 1, description: "Another." },
    ]);
    expect(one.change).toEqual({ kind: "commits", base: pull.base_sha, head: pull.head_sha });
  });

  it("A case can contain its known issues and have its patch in a file", async () => {
    const patch = patchOfNew("a.py", ["x = 1"]);
    writeCase(folder, "one", {
      "case.json": { title: "Change", diff: "change.patch", known: [emptyDiscount] },
      "change.patch": patch,
    });
    expect(await loadOne(folder, "one")).toMatchObject({
      change: { kind: "patch", patch, base: null },
      known: [{ place: { file: "price.py", lines: [2] } }],
    });
  });

  it("A case has a new identity if its known issues change", async () => {
    writePriceCase(folder, "one");
    const before = (await loadOne(folder, "one")).digest;
    writePriceCase(folder, "one");
    expect((await loadOne(folder, "one")).digest).toBe(before);
    writePriceCase(folder, "one", { "known.json": { known: [] } });
    expect((await loadOne(folder, "one")).digest).not.toBe(before);
  });

  it.each([
    ["a case that is not JSON", { "case.json": "{" }, "case.json is not JSON"],
    ["a case without a title", { "case.json": { ...pull, title: undefined } }, "case.json: title"],
    ["a case without a change", { "case.json": { title: "x" } }, "needs either diff or head_sha"],
    [
      "a case with two changes",
      { "case.json": { ...pull, diff: "a.patch" } },
      "needs either diff or head_sha",
    ],
    [
      "a head without a base",
      { "case.json": { ...pull, base_sha: undefined } },
      "needs base_sha beside head_sha",
    ],
    [
      "a short object name",
      { "case.json": { ...pull, base_sha: "abc" } },
      "base_sha must be a full object name",
    ],
    ["a repository that is a path", { "case.json": { ...pull, fetch: "../x" } }, "fetch must be owner/name"],
    [
      "a patch elsewhere",
      { "case.json": { title: "x", diff: "../other.patch" } },
      "no name of a file beside it",
    ],
    [
      "a patch that is not there",
      { "case.json": { title: "x", diff: "a.patch" } },
      "the diff cannot be read",
    ],
    [
      "an issue without a line",
      { "known.json": { known: [{ file: "a", summary: "x" }] } },
      "known[0] needs line_in_head",
    ],
    [
      "an issue without words",
      { "known.json": { known: [{ file: "a", line: 1 }] } },
      "needs summary or description",
    ],
    [
      "an issue outside",
      { "known.json": { known: [{ ...emptyDiscount, file: "../a" }] } },
      "known[0].file must be",
    ],
    ["an issue on line 0", { "known.json": { known: [{ ...emptyDiscount, line: 0 }] } }, "known[0].line"],
    ["nothing about what is known", { "known.json": {} }, "known.json: known"],
  ])("An error about %s says what is wrong and in which file", async (_, files, message) => {
    writeCase(folder, "one", { "case.json": pull, "known.json": { known: [] }, ...files });
    await expect(loadOne(folder, "one")).rejects.toThrow(message);
    await expect(loadOne(folder, "one")).rejects.toThrow(join(folder, "one"));
  });
});
