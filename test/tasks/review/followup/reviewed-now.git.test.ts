import { describe, expect, it } from "vitest";
import { HASH_CHARACTERS, PATH_CHARACTERS } from "../../../../src/core/ledger/state.ts";
import type { ChangedFile } from "../../../../src/repo/diff-source.ts";
import {
  contentHashBy,
  findReviewedHunks,
  MAX_CHANGES,
  readHashes,
  reviewedNow,
} from "../../../../src/tasks/reviewed/known-change.ts";
import { changedFile } from "../plan/changed-file.ts";
import { contentHash, coverageWithout } from "./rounds.ts";

const noDiffs = { shownDiff: () => Promise.reject(new Error("no diff is read")) };

function fileOf(path: string, changes: string[][], over: Partial<ChangedFile["change"]> = {}): ChangedFile {
  return { ...changedFile({ path, over }), changes, totalHunks: changes.length };
}
const many = (count: number, name = "d") => Array.from({ length: count }, (_, at) => [`${name}${at}`]);

describe("the state of a review", () => {
  it("Without the key, nobody can find contents with one hash", () => {
    const [file] = [fileOf("a.ts", [["x"]])];
    const others = reviewedNow([file], coverageWithout(), contentHashBy("another key"));
    expect(others.hashes).not.toEqual(reviewedNow([file], coverageWithout(), contentHash).hashes);
    expect(
      findReviewedHunks([file], { reviewed: others, key: "of this pull request" }, noDiffs).hasNew("a.ts"),
    ).toBe(true);
  });

  it("The state has a hash of fixed width for each change, by file, content and whether it was read", () => {
    const files = [fileOf("a.ts", [["x", "y"], ["x"], ["z"]]), fileOf("b.ts", [["x"]])];
    const { unit, hashes } = reviewedNow(files, coverageWithout({ "a.ts": [3] }), contentHash);
    expect(unit).toBe("change");
    expect(hashes).toHaveLength(5);
    expect(hashes.every((hash) => /^[\w-]+$/.test(hash) && hash.length === HASH_CHARACTERS)).toBe(true);
    const [x, y, again, unread, other] = hashes;
    expect(again).toBe(x);
    expect(new Set([x, y, unread, other]).size).toBe(4);
    expect(reviewedNow(files, coverageWithout(), contentHash).hashes).not.toContain(unread);
    const mark = (hash = "") => hash.slice(0, PATH_CHARACTERS);
    expect(mark(x)).toBe(mark(y));
    expect(mark(x)).not.toBe(mark(other));
  });

  it("A hash is of the first name of a file", () => {
    const [before, after] = [
      fileOf("old.ts", [["x"]]),
      fileOf("new.ts", [["x"]], { oldPath: "old.ts", type: "renamed" }),
    ];
    expect(reviewedNow([after], coverageWithout(), contentHash)).toEqual(
      reviewedNow([before], coverageWithout(), contentHash),
    );
  });

  it("Above 2,000 changes, the state has a hash for each file that was read to its end", () => {
    const [large, small] = [fileOf("large.ts", many(MAX_CHANGES)), fileOf("small.ts", [["x"], ["y"]])];
    const bare = { ...changedFile({ path: "renamed.ts" }), changes: [], totalHunks: 0 };
    expect(reviewedNow([large], coverageWithout(), contentHash).unit).toBe("change");

    const all = reviewedNow([large, small, bare], coverageWithout(), contentHash);
    expect(all).toMatchObject({ unit: "file", hashes: { length: 2 } });
    const some = reviewedNow([large, small, bare], coverageWithout({ "large.ts": [7] }), contentHash);
    expect(some.hashes).toEqual(all.hashes.slice(1));

    const known = findReviewedHunks([large, small], { reviewed: some, key: "of this pull request" }, noDiffs);
    expect(known.known("small.ts")).toEqual(new Set([1, 2]));
    expect(known.hasNew("large.ts")).toBe(true);
    expect(known.hasLost("small.ts")).toBe(false);
    const less = findReviewedHunks(
      [fileOf("small.ts", [["x"]])],
      { reviewed: some, key: "of this pull request" },
      noDiffs,
    );
    expect(less.known("small.ts").size).toBe(0);
    expect(less.hasLost("small.ts")).toBe(true);
  });

  it("The state forgets what left the change, and keeps what nobody read again", () => {
    const before = reviewedNow(
      [fileOf("a.ts", [["x"], ["y"]]), fileOf("b.ts", [["z"]])],
      coverageWithout(),
      contentHash,
    );
    const files = [fileOf("a.ts", [["x"], ["new"]])];
    const known = findReviewedHunks(files, { reviewed: before, key: "of this pull request" }, noDiffs);
    const unread = { "a.ts": [2] };
    // With the other file went what may have made the rest harmless.
    expect(known.known("a.ts")).toEqual(new Set());
    const { hashes } = reviewedNow(files, coverageWithout(unread), contentHash);
    expect(hashes.filter((hash) => before.hashes.includes(hash))).toEqual(before.hashes.slice(0, 1));
    expect(hashes).toHaveLength(2);
  });

  it("The state leaves out the named hunks", () => {
    const file = fileOf("a.ts", [["x"], ["y"], ["z"]]);
    expect(readHashes(file, coverageWithout({ "a.ts": [3] }), contentHash, new Set([1]))).toHaveLength(1);
  });

  it("Two files with one first name count as one", () => {
    const moved = fileOf("to.ts", [["x"]], { oldPath: "from.ts", type: "renamed" });
    const before = reviewedNow([moved], coverageWithout(), contentHash);
    const files = [moved, fileOf("from.ts", [["x"]])];
    const known = findReviewedHunks(files, { reviewed: before, key: "of this pull request" }, noDiffs);
    expect(files.map(({ change }) => known.hasNew(change.path))).toEqual([true, true]);
  });

  it("Fifty thousand hunks of one file are compared without looking at each for each", () => {
    const file = fileOf("a.ts", many(50_000));
    const reviewed = reviewedNow([file], coverageWithout(), contentHash);
    expect(
      findReviewedHunks([file], { reviewed, key: "of this pull request" }, noDiffs).known("a.ts").size,
    ).toBe(50_000);
  });
});
