import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createDiffSource } from "../../src/repo/diff-source.ts";
import { checkout } from "../../src/repo/git/checkout.ts";
import { openWorkspace } from "../../src/repo/git/object-workspace.ts";
import { patchOf, readChange } from "../../src/repo/git/patches.ts";
import { openLocalRange } from "../../src/repo/git/range.ts";
import { query } from "../support/every-way.ts";
import { GitRepo, gitPath, TempFolder } from "../support/git-repo.ts";
import { MemoryWatch } from "../support/processes.ts";
import { PullRequestServer, pullRef } from "../support/pull-request-server.ts";
import { type CliRun, runCli } from "../support/run-cli.ts";
import { bombOfFiles, bombOfTrees, readableFiles } from "./bomb-repositories.ts";

const long = process.env.HUNKWISE_LONG === "1";
const MEGABYTE = 1024 * 1024;
const MOST_MEGABYTES = 600;

const open = (repo: GitRepo) => openLocalRange({ repo: repo.dir, base: "main", head: "topic", gitPath });

const tooMany = { code: "too_large", message: "The tree has more than 500000 files or folders" };

/** The reason why each changed file is not read; null for files that are read. */
async function unread(repo: GitRepo): Promise<Record<string, string | null>> {
  await using range = await open(repo);
  await using workspace = openWorkspace(range.place);
  const files = await createDiffSource(workspace, { ignore: [], private: [] }).files();
  return Object.fromEntries(files.map(({ change, skipReason }) => [change.path, skipReason]));
}

describe("a small object that expands", () => {
  // git would compare it for two minutes, and take 200 MB more each second.
  it.each([
    ["files", "file"],
    ["folders", "empty folder"],
  ] as const)(
    "bombs: A tree of 10^10 %s is refused before git compares it, at any end of a range",
    async (_, leaf) => {
      using repo = bombOfTrees(10, 10, leaf);
      for (const name of ["one", "other"])
        repo.git("branch", name, repo.git("commit-tree", "main^{tree}", "-p", "topic", "-m", name));
      using checkedOut = GitRepo.create();
      checkedOut.git("pull", "-q", repo.dir, "main");
      checkedOut.git("fetch", "-q", repo.dir, "topic:topic");
      for (const [{ dir }, base, head] of [
        [repo, "main", "topic"],
        [repo, "topic", "main"],
        [repo, "one", "other"],
        [checkedOut, "main", "topic"],
      ] as const)
        await expect(openLocalRange({ repo: dir, base, head, gitPath })).rejects.toMatchObject(tooMany);
    },
  );

  it("bombs: A tree of 10^10 files is refused before one is written on a server, in a new place and in a used one", async () => {
    using repo = bombOfTrees(10, 10);
    await using server = await PullRequestServer.start();
    repo.git("push", "-q", server.repo.dir, "main", `topic:${pullRef}`);
    const mirror = await server.mirror();
    const head = { sha: repo.sha("topic"), ref: pullRef };
    const base = { sha: repo.sha("main"), ref: "refs/heads/main" };
    const take = (wanted: typeof head) => checkout({ mirror, head: wanted, base, authorization: null });
    await expect(take(head)).rejects.toMatchObject(tooMany);
    await (await take(base)).release();
    await expect(take(head)).rejects.toMatchObject(tooMany);
  });

  it("bombs: A path of 6,000 levels, which crashes git, is reported as unread, and the rest is read", async () => {
    using repo = bombOfTrees(6_000, 1);
    const reasons = await unread(repo);
    expect(Object.values(reasons)).toEqual(["path too long", null]);
    expect(reasons["cart.py"]).toBeNull();
  });

  it("bombs: A line of more than 20 MB is reported as unread, and the rest is read", async () => {
    using repo = bombOfFiles([["line.js", Buffer.alloc(21 * MEGABYTE, "x")]]);
    expect(await unread(repo)).toEqual({ "cart.py": null, "line.js": "too large (more than 20 MB)" });
    await using range = await open(repo);
    await using workspace = openWorkspace(range.place);
    const search = workspace.search(
      { ...query, pattern: "^x", fixedString: false },
      AbortSignal.timeout(30_000),
    );
    await expect(search).resolves.toMatchObject({ mode: "content", matches: [] });
  });

  it("bombs: The first files of a diff beyond the limits are read and the others are named", async () => {
    using repo = bombOfFiles(readableFiles(60, 200_000));
    await using range = await open(repo);
    const signal = AbortSignal.timeout(60_000);
    const read = await readChange(range.place, signal, { bytes: 5_000_000, hunks: 200_000 });
    const ends: string[] = [];
    for (const change of read.changes)
      ends.push(
        await patchOf(range.place, read, change, 3).then(
          () => "read",
          ({ code }) => code,
        ),
      );
    expect(new Set(ends)).toEqual(new Set(["read", "too_large"]));
    expect(ends.indexOf("too_large")).toBe(ends.lastIndexOf("read") + 1);
    expect(ends.filter((end) => end === "read").length).toBeGreaterThan(20);
  });
});

interface Review extends CliRun {
  peakMegabytes: number;
}

/** A whole review from the command line with all its processes; leaves nothing behind. */
async function reviewed(repo: GitRepo): Promise<Review> {
  using temporary = new TempFolder("bomb");
  const begun = Date.now();
  let watch: MemoryWatch | undefined;
  const run = await runCli(["review", "--repo", repo.dir, "--base", "main", "--head", "topic"], {
    env: { TMPDIR: temporary.path },
    onStart({ pid }) {
      watch = new MemoryWatch(pid ?? 0);
    },
  });
  watch?.[Symbol.dispose]();
  expect(readdirSync(temporary.path)).toEqual([]);
  const peakMegabytes = Math.round((watch?.peakBytes ?? 0) / MEGABYTE);
  console.log({ seconds: Math.round((Date.now() - begun) / 1000), peakMegabytes });
  return { ...run, peakMegabytes };
}

describe.runIf(long)("a whole review of a change that expands", { timeout: 1_200_000 }, () => {
  it.each([
    ["a tree of 10^10 files", () => bombOfTrees(10, 10), /The tree has more than 500000 files/],
    ["a path of 10,000 levels", () => bombOfTrees(10_000, 1), /not read: bomb\/a\/a\/a/],
    [
      "a line of 100 MB",
      () => bombOfFiles([["line.js", Buffer.alloc(100_000_000, "x")]]),
      /not read: line\.js \(too large \(more than 20 MB\)\)/,
    ],
    [
      "a line of 19 MB, which git does show",
      () => bombOfFiles([["line.js", "x".repeat(19_000_000)]]),
      /not read: line\.js \(overlong lines\)/,
    ],
    [
      "a diff of 200 MB in one file",
      () => bombOfFiles([["rows.js", Buffer.from("const row = 1234567890;\n".repeat(8_500_000))]]),
      /not read: rows\.js \(too large \(more than 20 MB\)\)/,
    ],
    ["a diff of 200 MB in 1,000 files", () => bombOfFiles(readableFiles(1_000, 200_000)), /1,001 files/],
    ["a diff of 200 MB in 20,000 files", () => bombOfFiles(readableFiles(20_000, 10_000)), /20,001 files/],
    [
      "a diff of 300 MB in 1,500 files",
      () => bombOfFiles(readableFiles(1_500, 200_000)),
      /part-\d+\.py \(too large\)/,
    ],
  ])("bombs: A review of %s uses bounded memory, and says what was not read", async (_, make, words) => {
    using repo = make();
    const { stdout, stderr, peakMegabytes } = await reviewed(repo);
    expect(stdout + stderr).toMatch(words);
    expect(peakMegabytes).toBeLessThan(MOST_MEGABYTES);
  });
});
