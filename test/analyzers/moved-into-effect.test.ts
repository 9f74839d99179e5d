import { describe, expect, it } from "vitest";
import { createMovedIntoEffectAnalyzer } from "../../src/analyzers/moved-into-effect.ts";
import { isCertain } from "../../src/finding.ts";
import { editedFile } from "./analyzed-file.ts";

const signal = new AbortController().signal;

/** A file with an edit in its second line, and as many lines behind the hunk as `unseen` has. */
function found(oldPath: string | null, path: string, unseen = "c\nd\ne\n") {
  const file = editedFile(path, " a\n-b\n+B");
  const moved = { ...file, text: `${file.text}${unseen}`, diff: { ...file.diff, oldPath } };
  return createMovedIntoEffectAnalyzer().analyze(moved, signal);
}

describe("an edited file", () => {
  it.each([
    ["docs/x.yml", ".github/workflows/ci.yml"],
    ["examples/.github/workflows/ci.yml", ".github/workflows/ci.yml"],
    ["examples/action.yml", ".github/workflows/ci.yml"],
    [".github/actions/a/action.yml", ".github/workflows/action.yml"],
    ["docs/notes.txt", "Makefile"],
    ["docs/attributes.txt", ".gitattributes"],
  ])("that moves from %s to %s is found where no hunk has some of its lines", async (oldPath, path) => {
    const [candidate, ...others] = await found(oldPath, path);
    expect(others).toEqual([]);
    expect(candidate).toMatchObject({ path, line: 2, severity: "high", category: "security" });
    expect(candidate?.body).toContain("no hunk shows 3 of its lines");
    expect(candidate && isCertain(candidate)).toBe(true);
  });

  it("that moves there is not found where the diff shows the whole of it", async () => {
    expect(await found("docs/x.yml", ".github/workflows/ci.yml", "")).toEqual([]);
  });

  it.each([
    [null, ".github/workflows/ci.yml"],
    [".github/workflows/a.yml", ".github/workflows/b.yml"],
    ["packages/a/package.json", "libs/a/package.json"],
    ["src/a.ts", "src/b.ts"],
  ])("that moves from %s to %s is not found", async (oldPath, path) => {
    expect(await found(oldPath, path)).toEqual([]);
  });
});
