import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FileDiff, parseFilePatch, renderHunks, shownBytes } from "../../../src/repo/diff/file-diff.ts";
import { servedHunks } from "../../../src/repo/diff-pages.ts";
import { filesWithNewHunks, newHunks } from "../../../src/tasks/reviewed/known-change.ts";
import { randomHunk } from "../../repo/diff/random-hunk.ts";
import { changedFile } from "../review/plan/changed-file.ts";

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

describe("the new hunks of a file", () => {
  it("are all of them where none was read, without a word on it", () => {
    const diff = diffOf([1, 2, 3]);
    expect(newHunks(diff, new Set())).toEqual({ hunks: diff.hunks, note: "" });
  });

  it("are named by number", () => {
    const diff = diffOf([1, 1, 1, 1, 1, 1]);
    const { hunks, note } = newHunks(diff, new Set([1, 5]));
    expect(hunks).toEqual([2, 3, 4, 6].map((number) => diff.hunks[number - 1]));
    expect(note).toBe("new: hunks 2-4, 6 of 6; an earlier review has read the rest");
    expect(newHunks(diff, new Set([1, 2, 3, 4, 5])).note).toContain("hunk 6 of 6;");
  });

  it("go by the numbers of diff_file, which divides long ones", () => {
    const diff = diffOf([1, 1_000, 1]);
    const parts = servedHunks(diff).length;
    expect(parts).toBeGreaterThan(3);
    expect(newHunks(diff, new Set([1, 2])).note).toContain(`hunk ${parts} of ${parts};`);
    expect(newHunks(diff, new Set([1, 3])).note).toContain(`hunks 2-${parts - 1} of ${parts};`);
  });

  it("are named up to a score of runs", () => {
    const read = Array.from({ length: 100 }, (_, at) => 2 * at + 1);
    const { note } = newHunks(diffOf(Array(200).fill(1)), new Set(read));
    expect(note).toMatch(/^new: hunks 2, 4, .*, 40 and more of 200;/);
  });
});

describe("the files that are to be read", () => {
  const known = (read: Record<string, number[]>, hunks: number) => ({
    known: (path: string) => new Set(read[path] ?? []),
    hasNew: (path: string) => (read[path] ?? []).length < hunks,
    hasLost: () => false,
    isFirst: false,
    contentHash: () => "",
    isKnownLine: async () => false,
    isOldNews: async () => false,
  });

  it("are as they were where nothing of them was read, and left out where nothing is new", async () => {
    const files = [changedFile({ path: "a.ts" }), changedFile({ path: "b.ts" })];
    const noDiff = { shownDiff: () => Promise.reject(new Error("no diff is read")) };
    expect(await filesWithNewHunks(files, known({}, 1), noDiff)).toEqual(files);
    expect(await filesWithNewHunks(files, known({ "b.ts": [1] }, 1), noDiff)).toEqual(files.slice(0, 1));
  });

  it("take as many bytes as their new hunks and the words on them", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(randomHunk, { minLength: 2, maxLength: 6 }),
        fc.nat(4),
        async (hunks, one) => {
          const diff: FileDiff = { path: "a.ts", oldPath: null, header: [], hunks };
          const shown = (some: typeof hunks, note = "") =>
            shownBytes(`## a.ts${note}\n${renderHunks(some)}\n`) + 1;
          const read = (one % hunks.length) + 1;
          const file = {
            ...changedFile({ path: "a.ts", diffBytes: shown(hunks) }),
            totalHunks: hunks.length,
          };
          const shownDiff = async () => diff;
          const [left] = await filesWithNewHunks([file], known({ "a.ts": [read] }, hunks.length), {
            shownDiff,
          });
          const { note } = newHunks(diff, new Set([read]));
          const others = hunks.filter((_, at) => at + 1 !== read);
          expect(left?.diffBytes).toBe(shown(others, ` (${note})`));
        },
      ),
    );
  });
});
