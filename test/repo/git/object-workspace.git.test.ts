import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AppError } from "../../../src/core/errors.ts";
import { MAX_BLOB_BYTES, openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import { patchOf, readChange } from "../../../src/repo/git/patches.ts";
import { type LocalRange, openLocalRange } from "../../../src/repo/git/range.ts";
import type { TreeEntry, Workspace } from "../../../src/repo/git/workspace.ts";
import { type Content, GitRepo, gitPath } from "../../support/git-repo.ts";

let repo: GitRepo;
let range: LocalRange;
let workspace: Workspace & AsyncDisposable;

const long = Array.from({ length: 60 }, (_, at) => `line ${at}\n`);
const base: [string, Content][] = [
  ["edited.txt", long.join("")],
  ["moved from.txt", long.join("")],
  ["deleted.txt", "gone\n"],
  ["mode.sh", "echo\n"],
  ["type", "was a file\n"],
  ["binary", Buffer.from([0, 1, 2])],
  ["latin.txt", Buffer.from("caf\xe9\nold\n", "latin1")],
  ["module", { mode: "160000", data: "1".repeat(40) }],
  ["eof.txt", "no newline"],
];
const head: [string, Content | null][] = [
  ["edited.txt", long.with(30, "changed\n").with(10, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n").join("")],
  ["moved from.txt", null],
  ["moved\tto.txt", long.with(5, "changed\n").join("")],
  ["deleted.txt", null],
  ["mode.sh", { mode: "100755", data: "echo\n" }],
  ["type", { mode: "120000", data: "elsewhere" }],
  ["binary", Buffer.from([0, 1, 3])],
  ["latin.txt", Buffer.from("caf\xe9\nnew\n", "latin1")],
  ["module", { mode: "160000", data: "2".repeat(40) }],
  ["eof.txt", "no newline either"],
  ["huge.bin", Buffer.alloc(MAX_BLOB_BYTES + 1)],
];

beforeAll(async () => {
  repo = GitRepo.create();
  repo.importCommits([
    { branch: "main", files: base },
    { branch: "topic", message: "Subject\n\nBody\n\nTrailer: é", parents: ["main"], files: head },
  ]);
  range = await openLocalRange({ repo: repo.dir, base: "main", head: "topic", gitPath });
  workspace = openWorkspace(range.place);
});
afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
  await range.dispose();
  repo.dispose();
});

const entry = async (path: string, ref: "head" | "base" = "head"): Promise<TreeEntry> =>
  (await workspace.tree(ref)).get(path)!;

/** The pids of processes that have these arguments. */
function processesWith(args: readonly string[]): number[] {
  const lines = spawnSync("ps", ["axww", "-o", "pid=,args="], { encoding: "utf8" }).stdout.split("\n");
  return lines
    .filter((line) => args.every((one) => line.includes(one)))
    .map((line) => Number.parseInt(line, 10));
}

describe("a patch", () => {
  it.each([1, 3, 10])(
    "A patch with %i lines of context is taken by git apply, file by file",
    async (width) => {
      const folder = join(repo.dir, `apply-${width}`);
      repo.git("worktree", "add", "-q", "--detach", folder, "main");
      for (const change of await workspace.changes()) {
        if (change.path === "binary" || change.path === "huge.bin" || change.path === "latin.txt") continue;
        const input = await workspace.patch(change, width);
        const end = spawnSync("git", ["apply", "--check", "-"], { cwd: folder, input, encoding: "utf8" });
        expect([change.path, end.stderr]).toEqual([change.path, ""]);
      }
    },
  );

  it("A patch after the limits is refused, and those before it are whole", async () => {
    const changes = await workspace.changes();
    for (const limits of [
      { bytes: 400, hunks: 100 },
      { bytes: 10_000, hunks: 4 },
    ]) {
      const cut = await readChange(range.place, AbortSignal.timeout(60_000), limits);
      const read: string[] = [];
      for (const change of changes) {
        const patch = await patchOf(range.place, cut, change, 3).catch((error: AppError) => error.code);
        if (patch === "too_large") continue;
        expect(patch).toBe(await workspace.patch(change, 3));
        read.push(change.path);
      }
      expect(read.length).toBeGreaterThan(0);
      expect(read).toEqual(changes.slice(0, read.length).map(({ path }) => path));
      expect(read.length).toBeLessThan(changes.length);
    }
  });

  it("A patch of a change of type has both halves", async () => {
    const change = (await workspace.changes()).find((one) => one.type === "type_changed")!;
    const patch = await workspace.patch(change, 3);
    expect(patch.match(/^diff --git /gm)).toHaveLength(2);
    expect(patch).toContain("-was a file\n");
    expect(patch).toContain("+elsewhere\n\\ No newline at end of file\n");
  });

  it("A patch of a file that is not UTF-8 is read as Latin-1", async () => {
    const change = (await workspace.changes()).find((one) => one.path === "latin.txt")!;
    expect(await workspace.patch(change, 3)).toContain(" café\n-old\n+new\n");
  });

  it("A patch is refused for what is not changed, and for a strange width", async () => {
    const [change] = await workspace.changes();
    await expect(workspace.patch({ ...change!, path: "nothing" }, 3)).rejects.toMatchObject({
      code: "git_failed",
    });
    await expect(workspace.patch(change!, -1)).rejects.toMatchObject({ code: "usage" });
    await expect(workspace.patch(change!, 1.5)).rejects.toMatchObject({ code: "usage" });
  });
});

describe("two blobs", () => {
  it("Two blobs are compared under their paths", async () => {
    const diff = await workspace.diffBlobs(
      await entry("edited.txt", "base"),
      await entry("moved\tto.txt"),
      1,
    );
    expect(diff).toBe(
      'diff --git a/edited.txt "b/moved\\tto.txt"\n--- a/edited.txt\n+++ "b/moved\\tto.txt"\n@@ -5,3 +5,3 @@ line 3\n line 4\n-line 5\n+changed\n line 6\n',
    );
    const spaced = await workspace.diffBlobs(
      await entry("moved from.txt", "base"),
      await entry("edited.txt"),
      0,
    );
    expect(spaced).toContain(
      "--- a/moved from.txt\t\n+++ b/edited.txt\n@@ -11 +11,3 @@ line 9\n-line 10\n+--- a/x\n",
    );
  });

  it("Equal blobs have no difference, and binary ones no lines", async () => {
    expect(await workspace.diffBlobs(await entry("edited.txt"), await entry("edited.txt"), 3)).toBe("");
    expect(await workspace.diffBlobs(await entry("binary", "base"), await entry("binary"), 3)).toBe(
      "diff --git a/binary b/binary\nBinary files a/binary and b/binary differ\n",
    );
  });
});

describe("a blob", () => {
  it("A blob is text, Latin-1 or binary", async () => {
    expect(await workspace.readBlob((await entry("latin.txt")).oid)).toEqual({
      text: "café\nnew\n",
      encoding: "latin1",
      binary: false,
      bytes: 9,
    });
    expect(await workspace.readBlob((await entry("binary")).oid)).toMatchObject({ binary: true, bytes: 3 });
  });

  it("Concurrent reads of good and bad blobs are answered in order", async () => {
    const [good, huge] = [(await entry("edited.txt")).oid, (await entry("huge.bin")).oid];
    const results = await Promise.allSettled(
      [good, huge, "0".repeat(40), "HEAD", `${good}\ninfo ${good}`, range.place.shas.head, good].map((oid) =>
        workspace.readBlob(oid),
      ),
    );
    const codes = results.map((one) => (one.status === "fulfilled" ? one.value.bytes : one.reason.code));
    const size = Buffer.byteLength(head[0]![1] as string);
    expect(codes).toEqual([
      size,
      "too_large",
      "revision_unknown",
      "revision_unknown",
      "revision_unknown",
      "revision_unknown",
      size,
    ]);
  });

  it("A blob is read again after its process died", async () => {
    const { oid } = await entry("edited.txt");
    await workspace.readBlob(oid);
    const pids = processesWith([`--git-dir=${range.place.gitDir}`, "cat-file"]);
    expect(pids).toHaveLength(1);
    process.kill(pids[0]!, "SIGKILL");
    await workspace.readBlob(oid).catch(() => {});
    expect((await workspace.readBlob(oid)).binary).toBe(false);
  });
});

describe("commits", () => {
  it("Commits come newest first with their whole message", async () => {
    using many = GitRepo.create({ bare: true });
    const shas = many.importCommits([
      { branch: "main", files: [] },
      ...[1, 2, 3].map((number) => ({
        branch: "topic",
        message: `Subject ${number}\n\nBody é\n`,
        ...(number === 1 ? { parents: ["main"] } : {}),
        files: [],
      })),
    ]);
    await using opened = await openLocalRange({ repo: many.dir, base: "main", head: "topic", gitPath });
    await using reading = openWorkspace(opened.place);
    const commits = await reading.commits(2);
    expect(commits.map((one) => one.sha)).toEqual([shas[3], shas[2]]);
    expect(commits[0]).toMatchObject({ author: "Carl Committer", message: "Subject 3\n\nBody é" });
    expect(commits[0]?.date).toMatch(/^2026-01-01T00:0\d:00(\+00:00|Z)$/);
    expect(await reading.commits(100)).toHaveLength(3);
  });
});

describe("a workspace", () => {
  it("A workspace accepts full object names alone", () => {
    const shas = { ...range.place.shas, base: "--output=x" };
    expect(() => openWorkspace({ ...range.place, shas })).toThrow(/not a full object name/);
  });

  it("A closed workspace starts no process", async () => {
    const closed = openWorkspace(range.place);
    const { oid } = await entry("edited.txt");
    const reading = closed.readBlob(oid);
    const waiting = closed.readBlob(oid);
    await reading;
    await closed[Symbol.asyncDispose]();
    await waiting.catch(() => {});
    await expect(closed.readBlob(oid)).rejects.toMatchObject({ code: "aborted" });
    expect(processesWith([`--git-dir=${range.place.gitDir}`, "cat-file"]).length).toBeLessThanOrEqual(1);
  });

  it("memo computes a value once, and again after a failure", async () => {
    expect(await workspace.changes()).toBe(await workspace.changes());
    expect(await workspace.tree("base")).toBe(await workspace.tree("merge_base"));
    await using broken = openWorkspace({ ...range.place, gitDir: join(repo.dir, "nothing") });
    await expect(broken.changes()).rejects.toMatchObject({ code: "repository_unavailable" });
    await expect(broken.readBlob("1".repeat(40))).rejects.toMatchObject({
      code: "repository_unavailable",
    });
  });
});
