import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { GitHttpServer } from "../support/git-http.ts";
import { GitRepo, TempFolder, testGitEnvironment } from "../support/git-repo.ts";

const run = promisify(execFile);

describe("the repository builder", () => {
  it("imports any path and mode and continues a branch", () => {
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

describe("the git server", () => {
  it("serves a partial clone to those with the right header alone", async () => {
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
