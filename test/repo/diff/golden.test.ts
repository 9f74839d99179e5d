import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { escapeInvisible } from "../../../src/core/text/escape-invisible.ts";
import {
  type FileDiff,
  headerFacts,
  parseFilePatch,
  printDiff,
  renderHunks,
} from "../../../src/repo/diff/file-diff.ts";

/** Each `NAME.diff` was printed by git; `NAME.txt` beside it is what a model reads of it. */
const folder = join(import.meta.dirname, "../../../fixtures/diffs");
const names = readdirSync(folder)
  .filter((file) => file.endsWith(".diff"))
  .map((file) => file.slice(0, -".diff".length));

const patchOf = (name: string) => readFileSync(join(folder, `${name}.diff`), "utf8");
const parse = (name: string): FileDiff => parseFilePatch(patchOf(name), name, null);

describe("patches that git printed", () => {
  it("All golden patches are present", () => expect(names.length).toBeGreaterThanOrEqual(24));

  it.each(names)("The patch %s is printed byte by byte as git printed it", (name) => {
    expect(printDiff(parse(name))).toBe(patchOf(name));
  });

  it.each(names)("The patch %s is parsed as expected", async (name) => {
    const diff = parse(name);
    const text = [`facts: ${headerFacts(diff.header).join(", ")}`, renderHunks(diff.hunks)].join("\n");
    await expect(`${escapeInvisible(text)}\n`).toMatchFileSnapshot(join(folder, `${name}.txt`));
  });
});

describe("parseFilePatch", () => {
  it("parseFilePatch takes paths as given, never from the patch", () => {
    const diff = parseFilePatch(patchOf("rename"), "new name.ts", "old-name.ts");
    expect(diff).toMatchObject({ path: "new name.ts", oldPath: "old-name.ts" });
  });

  it("parseFilePatch attaches `\\ No newline` to its line", () => {
    const [both, before, after] = ["no-newline-both", "no-newline-before", "no-newline-after"].map(
      (name) => parse(name).hunks[0]!.lines,
    );
    expect(both).toEqual([
      { kind: "context", text: "a", oldLine: 1, newLine: 1 },
      { kind: "removed", text: "b", oldLine: 2, noNewline: true },
      { kind: "added", text: "c", newLine: 2, noNewline: true },
    ]);
    expect(before!.map((line) => line.noNewline ?? false)).toEqual([false, true, false]);
    expect(after!.map((line) => line.noNewline ?? false)).toEqual([false, false, true]);
  });

  it("parseFilePatch keeps a source line that reads `\\ No newline at end of file`", () => {
    const texts = parse("looks-like-headers").hunks[0]!.lines.map((line) => `${line.kind} ${line.text}`);
    expect(texts).toEqual([
      "context keep",
      "removed -- a/old",
      "added -- a/new",
      "context ++ b/new",
      "removed diff --git a/x b/x",
      "removed @@ -1,2 +1,2 @@",
      "added diff --git a/y b/y",
      "added @@ -3,4 +5,6 @@",
      "context \\ No newline at end of file",
      "added --",
      "added ++",
      "context last",
    ]);
  });

  it("parseFilePatch keeps carriage returns as part of the line", () => {
    expect(parse("crlf").hunks[0]!.lines.map((line) => line.text)).toEqual([
      "one\r",
      "two\r",
      "2\r",
      "three\r",
    ]);
    expect(parse("lf-to-crlf").hunks[0]!.lines.map((line) => line.text)).toEqual([
      "one",
      "two",
      "one\r",
      "two\r",
    ]);
  });

  it("parseFilePatch reads a header without counts as one line a side", () => {
    expect(parse("one-line").hunks[0]).toMatchObject({ oldStart: 1, oldLines: 1, newStart: 1, newLines: 1 });
  });

  it("parseFilePatch keeps the section heading", () => {
    expect(parse("two-hunks").hunks.map((hunk) => hunk.section)).toEqual(["", "def second(x):"]);
  });

  it("parseFilePatch numbers the lines of a side that has none from the line before", () => {
    expect(parse("added").hunks[0]).toMatchObject({ oldStart: 0, oldLines: 0, newStart: 1, newLines: 2 });
    expect(parse("deleted").hunks[0]).toMatchObject({ oldStart: 1, oldLines: 3, newStart: 0, newLines: 0 });
  });

  it.each(["binary", "mode-only", "pure-rename", "new-empty", "deleted-empty"])(
    "parseFilePatch finds no hunk in %s",
    (name) => {
      const diff = parse(name);
      expect(diff.hunks).toEqual([]);
      expect(diff.header.length).toBeGreaterThan(1);
    },
  );
});
