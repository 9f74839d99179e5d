import { describe, expect, it } from "vitest";
import { type FileDiff, parseFilePatch } from "../../../src/repo/diff/file-diff.ts";
import { newHunks } from "../../../src/tasks/reviewed/known-change.ts";

/** Hunks of so many added lines of 80 bytes. */
function diffOf(sizes: readonly number[]): FileDiff {
  let at = 1;
  const hunks = sizes.map((size) => {
    const header = `@@ -${at},0 +${at + 1},${size} @@`;
    at += size + 100;
    return [header, ...Array.from({ length: size }, () => `+${"x".repeat(80)}`)].join("\n");
  });
  return parseFilePatch(`--- a/a.ts\n+++ b/a.ts\n${hunks.join("\n")}\n`, "a.ts", null);
}

describe("newHunks", () => {
  it("All hunks are new without a note if none was read", () => {
    const diff = diffOf([1, 2, 3]);
    expect(newHunks(diff, new Set())).toEqual({ hunks: diff.hunks, note: "" });
  });

  it("The note holds the number of new hunks if others were read", () => {
    const diff = diffOf([1, 1, 1, 1, 1, 1]);
    const { hunks, note } = newHunks(diff, new Set([1, 5]));
    expect(hunks).toEqual([2, 3, 4, 6].map((number) => diff.hunks[number - 1]));
    expect(note).toBe("new: 4 of 6 hunks; an earlier review has read the rest");
  });
});
