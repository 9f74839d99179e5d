import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { GitHttpServer } from "./git-http.ts";
import { GitRepo, TempFolder, testGitEnvironment } from "./git-repo.ts";

const run = promisify(execFile);

describe("the repository builder", () => {
  it("The builder imports any path and mode and continues a branch", () => {
    using repo = GitRepo.create();
    const [first, second] = repo.importCommits([
      {
        branch: "main",
        files: [
          ['a\nb\té"', "x\n"],
          [Buffer.from([0xff, 0x61]), "y"],
        ],
      },
      {
        branch: "topic",
        parents: ["main"],
        files: [
          ["link", { mode: "120000", data: "a" }],
          ["sub", { mode: "160000", data: "1".repeat(40) }],
        ],
      },
    ]);
    const [third] = repo.importCommits([{ branch: "topic", files: [["link", null]] }]);
    expect(repo.git("log", "--format=%H", "topic").split("\n")).toEqual([third, second, first]);
    expect(
      repo.bytes(["ls-tree", "-r", "-z", "--name-only", "topic"]).toString("latin1").split("\0"),
    ).toEqual([Buffer.from('a\nb\té"').toString("latin1"), "sub", "\xffa", ""]);
  });
});

/** Makes commits and branches of all kinds without git, and returns git's description of them. */
function historyOf(repo: GitRepo): string[] {
  repo.commit("first\n\nWith a body.", {
    "a.txt": "a\n",
    "a/b-c/x.txt": "x",
    "a/b.txt": "b\n",
    "a-b": "",
    run: { mode: "100755", data: "#!/bin/sh\n" },
    link: { mode: "120000", data: "a/b.txt" },
  });
  repo.branch("feature/topic");
  repo.commit("second", { "a/b.txt": null, "a/b-c": "now a file\n", "a.txt": "A\n" });
  repo.commit("nothing new");
  repo.checkout("main");
  repo.commit("third", { "c/d e.txt": "d\n" });
  const facts = [
    repo.git("log", "--all", "--format=raw", "--raw"),
    repo.git("ls-files", "--stage"),
    repo.git("reflog", "--all", "--format=%gd %h %gs"),
    repo.git("status", "--porcelain", "--branch"),
    repo.git("diff-files"),
    repo.git("fsck", "--strict", "--no-progress"),
  ];
  expect(["HEAD", "main", "feature/topic", "refs/heads/main"].map((name) => repo.sha(name))).toEqual(
    ["HEAD", "main", "feature/topic", "refs/heads/main"].map((name) => repo.git("rev-parse", name)),
  );
  return facts;
}

describe("a commit without git", () => {
  it("A commit without git has git's objects, index and logs", () => {
    using own = GitRepo.create();
    using byGit = GitRepo.create();
    // The double uses git itself for a repository with custom settings.
    byGit.git("config", "hunkwise.test", "true");
    expect(historyOf(own)).toEqual(historyOf(byGit));
  });

  it("git makes a commit with ignored files or a changed index", () => {
    using repo = GitRepo.create();
    repo.commit("ignoring", { ".gitignore": "out\n", out: "no\n", in: "yes\n" });
    expect(repo.git("ls-files")).toBe(".gitignore\nin");
    using other = GitRepo.create();
    other.commit("one", { "a.txt": "a\n" });
    other.git("update-index", "--assume-unchanged", "a.txt");
    other.commit("two", { "a.txt": "b\n" });
    expect(other.git("show", "HEAD:a.txt")).toBe("a");
  });
});

describe("the git server", () => {
  it("The server sends a partial clone only for the right header", async () => {
    using root = new TempFolder();
    const repo = GitRepo.create({ dir: join(root.path, "o", "r.git") });
    repo.commit("one", { "a.txt": "a\n" });
    await using server = await GitHttpServer.start({ root: root.path, authorization: "basic secret" });
    const clone = (name: string, ...config: string[]) =>
      run(
        "git",
        [
          ...config,
          "clone",
          "-q",
          "--bare",
          "--filter=blob:none",
          `${server.origin}/o/r.git`,
          join(root.path, name),
        ],
        { env: testGitEnvironment },
      );
    await expect(clone("denied")).rejects.toThrow(/Authentication failed|could not read Username/);
    await clone("partial", "-c", "http.extraHeader=Authorization: basic secret");
    const missing = GitRepo.at(join(root.path, "partial")).git(
      "rev-list",
      "--objects",
      "--all",
      "--missing=print",
    );
    expect(missing).toMatch(/^\?[0-9a-f]{40}$/m);

    server.options.allowFilter = false;
    await clone("full", "-c", "http.extraHeader=Authorization: basic secret");
    const whole = GitRepo.at(join(root.path, "full")).git(
      "rev-list",
      "--objects",
      "--all",
      "--missing=print",
    );
    expect(whole).not.toMatch(/^\?/m);
  });
});
