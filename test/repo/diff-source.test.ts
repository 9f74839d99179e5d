import { describe, expect, it } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import { MAX_DIFF_LINES } from "../../src/repo/diff/file-diff.ts";
import { createDiffSource } from "../../src/repo/diff-source.ts";
import type { Change, Workspace } from "../../src/repo/git/workspace.ts";

const change = (path: string, over: Partial<Change> = {}): Change => ({
  path,
  oldPath: null,
  type: "modified",
  oldMode: "100644",
  newMode: "100644",
  oldOid: "1".repeat(40),
  newOid: "2".repeat(40),
  additions: 1,
  deletions: 1,
  ...over,
});
const patch = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n";

type DiffingWorkspace = Pick<
  Workspace,
  "withheld" | "changes" | "tree" | "patch" | "linguistAttributes" | "headStart" | "readBlob" | "readBytes"
>;

/** The part of a workspace that diffs come from, counting how often it is asked. Its base says nothing of any file. */
function workspaceOf(
  changes: Change[],
  patchOf: () => Promise<string> = async () => patch,
  blobs: Record<string, string> = {},
) {
  const asked: string[] = [];
  const workspace: DiffingWorkspace = {
    withheld: new Map(),
    changes: async () => changes,
    tree: async () => new Map(),
    linguistAttributes: async (paths) =>
      new Map(paths.map((path) => [path, { generated: null, vendored: null }])),
    headStart: async () => ({ text: "", encoding: "utf8" }),
    readBlob: async (oid) => ({ text: blobs[oid] ?? "", encoding: "utf8", binary: false, bytes: 0 }),
    readBytes: async (oid) => Buffer.from(blobs[oid] ?? ""),
    patch: (one, contextLines) => {
      asked.push(`${one.path} ${contextLines}`);
      return patchOf();
    },
  };
  return {
    asked,
    workspace,
    source: (patterns = {}, keptLines?: number) =>
      createDiffSource(workspace as Workspace, { ignore: [], private: [], ...patterns }, keptLines),
  };
}

describe("createDiffSource", () => {
  it("createDiffSource surveys all files once, also for concurrent callers", async () => {
    const { asked, source } = workspaceOf([change("a.ts"), change("b.ts")]);
    const diffs = source();
    const [first, again] = await Promise.all([diffs.files(), diffs.files()]);
    expect(first).toBe(again);
    expect(asked.toSorted()).toEqual(["a.ts 3", "b.ts 3"]);
  });

  it("createDiffSource parses each diff once, also for concurrent callers", async () => {
    const { asked, source } = workspaceOf([change("a.ts")]);
    const diffs = source();
    const [one, two] = await Promise.all([1, 2].map(() => diffs.fileDiff(change("a.ts"), 3)));
    expect(one).toBe(two);
    expect(await diffs.fileDiff(change("a.ts"), 3)).toBe(one);
    expect(asked).toEqual(["a.ts 3"]);
  });

  it("createDiffSource has digests for the hunks of reviewed files alone", async () => {
    const two = `${patch}@@ -9,3 +9,3 @@\n+c\n d\n-e\n`;
    const changes = [change("a.ts"), change("private.ts"), change("b.ts", { oldPath: "private.ts" })];
    const { source } = workspaceOf(
      [...changes, change("ignored.ts"), change("x.png", { additions: null })],
      async () => two,
    );
    const files = await source({ private: ["private.ts"], ignore: ["ignored.ts"] }).files();
    const [reviewed, ...others] = files.map((file) => file.changes);
    expect(reviewed?.map((digests) => digests.length)).toEqual([1, 2]);
    expect(new Set(reviewed?.flat()).size).toBe(3);
    expect(others).toEqual([[], [], [], []]);
  });

  it("createDiffSource counts the bytes of a file's diff with its heading", async () => {
    const { source } = workspaceOf([
      change("a.ts"),
      change("tab\there.ts"),
      change("c.png", { additions: null }),
    ]);
    const files = await source().files();
    const hunks = "@@ -1 +1 @@\n1 -a\n1 +b\n";
    expect(files.map((file) => file.diffBytes)).toEqual([
      `## a.ts\n${hunks}`.length,
      `## "tab\\there.ts"\n${hunks}`.length,
      0,
    ]);
  });

  it("createDiffSource caches each context width", async () => {
    const { asked, source } = workspaceOf([change("a.ts")]);
    const diffs = source();
    for (const width of [3, 10, 3, 10]) await diffs.fileDiff(change("a.ts"), width);
    expect(asked).toEqual(["a.ts 3", "a.ts 10"]);
  });

  it("createDiffSource caches the last used diffs, up to a number of lines", async () => {
    const { asked, source } = workspaceOf([]);
    const diffs = source({}, 3 * 2);
    for (const width of [1, 2, 3, 1, 4]) await diffs.fileDiff(change("a.ts"), width);
    expect(asked).toEqual(["a.ts 1", "a.ts 2", "a.ts 3", "a.ts 4"]);
    for (const width of [1, 3, 4]) await diffs.fileDiff(change("a.ts"), width);
    expect(asked).toHaveLength(4);
    await diffs.fileDiff(change("a.ts"), 2);
    expect(asked).toHaveLength(5);
  });

  it("createDiffSource caches fewer diffs with long lines", async () => {
    const { asked, source } = workspaceOf([], async () => patch.replace("+b", `+${"b".repeat(2_000)}`));
    const diffs = source({}, 30);
    for (const width of [1, 2, 1, 2]) await diffs.fileDiff(change("a.ts"), width);
    expect(asked).toHaveLength(4);
  });

  it("createDiffSource never reads the diff of a file with more changed lines than a diff may have", async () => {
    const large = change("a.ts", { additions: MAX_DIFF_LINES, deletions: 1 });
    const { asked, source } = workspaceOf([large]);
    const diffs = source();
    expect(await diffs.files()).toMatchObject([
      { totalHunks: 0, skipReason: "too large (200001 changed lines)" },
    ]);
    await expect(diffs.fileDiff(large, 3)).rejects.toMatchObject({
      code: "too_large",
      line: expect.stringMatching(/^'a.ts' has 200,001 changed lines.*read_file_part/),
    });
    expect(asked).toEqual([]);
  });

  it("createDiffSource parses no diff that its context makes too long", async () => {
    const { source } = workspaceOf([], async () => patch + " \n".repeat(MAX_DIFF_LINES));
    await expect(source().fileDiff(change("a.ts"), 1_000)).rejects.toMatchObject({
      code: "too_large",
      line: expect.stringMatching(/'a.ts' with 1,000 lines of context.*fewer context_lines/),
    });
  });

  it("createDiffSource reads a diff again after a failure", async () => {
    let fails = true;
    const { source } = workspaceOf([change("a.ts")], async () => {
      if (fails) throw new AppError("git_timeout", "git took too long");
      return patch;
    });
    const diffs = source();
    await expect(diffs.files()).rejects.toThrow("git took too long");
    fails = false;
    expect(await diffs.files()).toMatchObject([{ totalHunks: 1, reviewable: true }]);
  });

  it("createDiffSource compares a lock file again if it could not be read", async () => {
    const lock = change("go.sum");
    const { source, workspace } = workspaceOf([lock]);
    const { readBlob } = workspace;
    workspace.readBlob = () => Promise.reject(new AppError("git_failed", "git is gone"));
    const diffs = source();
    await expect(diffs.files()).rejects.toThrow("git is gone");
    workspace.readBlob = readBlob;
    expect(await diffs.files()).toMatchObject([{ account: "parsed" }]);
    expect(await diffs.lockFaults(lock)).toEqual([]);
  });

  it("createDiffSource skips a file whose diff is too large to be read, and reviews the others", async () => {
    let first = true;
    const { source } = workspaceOf([change("a.ts"), change("b.ts")], async () => {
      if (!first) return patch;
      first = false;
      throw new AppError("too_large", "the patch is too large");
    });
    const files = await source().files();
    expect(files).toMatchObject([
      { reviewable: false, skipReason: "too large", account: "unread", totalHunks: 0 },
      { reviewable: true, skipReason: null, totalHunks: 1 },
    ]);
  });

  it("createDiffSource never reads the diff of a private file", async () => {
    const { asked, source } = workspaceOf([
      change("secrets/a.ts"),
      change("b.ts", { oldPath: "secrets/b.ts" }),
    ]);
    const files = await source({ private: ["secrets/"] }).files();
    expect(files.map((file) => file.skipReason)).toEqual([
      "withheld by configuration",
      "text of a private file",
    ]);
    expect(asked).toEqual([]);
  });

  it("createDiffSource shows no text of links and submodules", async () => {
    const { asked, source } = workspaceOf([
      change("link", { newMode: "120000" }),
      change("sub", { newMode: "160000", newOid: "2" }),
    ]);
    expect(await source().files()).toMatchObject([
      { totalHunks: 0, skipReason: "symbolic link out of the repository" },
      { totalHunks: 0, skipReason: "new submodule" },
    ]);
    expect(asked).toEqual([]);
  });
});
