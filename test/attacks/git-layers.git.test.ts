import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { configVariables, hardenedConfig, runGit } from "../../src/repo/git/run-git.ts";
import { runProcess } from "../../src/repo/git/run-process.ts";
import { review, Sentinel } from "../support/every-way.ts";
import { GitRepo, gitPath, TempFolder } from "../support/git-repo.ts";
import { PullRequestServer } from "../support/pull-request-server.ts";

// Tests each layer separately; in git.test.ts the attacks meet all of them.

/** The hooks that git runs when it fetches, writes an index, checks out or runs maintenance. */
const hooks = ["reference-transaction", "post-index-change", "post-checkout", "pre-auto-gc", "post-merge"];

describe("hooks that someone has put into the folder of a mirror", () => {
  it("code-in-git: Hooks in the folder of a mirror are not run by fetches, checkouts or reviews", async () => {
    using sentinel = new Sentinel();
    await using server = await PullRequestServer.start();
    const { head, base } = server.publish();
    const mirror = await server.mirror();
    const folder = join(mirror.gitDir, "hooks");
    mkdirSync(folder, { recursive: true });
    for (const hook of hooks)
      writeFileSync(join(folder, hook), readFileSync(sentinel.command), { mode: 0o755 });

    const { place, release } = await server.checkout({ head, base }, { mirror });
    expect((await review(place)).changes.map(({ path }) => path)).toContain("old.txt");
    await release();
    expect(sentinel.starts).toBe("nothing ran");

    // An unprotected git runs them there.
    execFileSync(gitPath, ["--git-dir", mirror.gitDir, "update-ref", "refs/heads/x", head], {
      stdio: "ignore",
    });
    expect(sentinel.starts).toContain("reference-transaction prepared");
  });
});

describe("a path that reads as a pattern of git", () => {
  it.each([
    [":(top)*", [":(top)*"]],
    [":!x", [":!x"]],
    [":(exclude)x", []],
    ["*", []],
    ["a[bc]", []],
  ])("odd-names: The path %j is a plain name in every git call", async (path, found) => {
    using repo = GitRepo.create();
    using home = new TempFolder("home");
    const names = [":(top)*", ":!x", "x", "ab", "ac"];
    const [sha = ""] = repo.importCommits([
      { branch: "main", files: names.map((name) => [name, `${name}\n`] as const) },
    ]);
    const { stdout } = await runGit({
      git: { gitPath, emptyHome: home.path },
      gitDir: join(repo.dir, ".git"),
      what: "list changes",
      args: ["log", "--format=", "--name-only", "-z", sha, "--", path],
    });
    expect(stdout.toString().split("\0").filter(Boolean)).toEqual(found);
  });
});

describe("an address of another protocol", () => {
  it.each(["file", "path", "ssh", "git", "ext", "fd"])(
    "foreign-protocols: The configuration alone refuses an address of the kind '%s'",
    async (kind) => {
      using sentinel = new Sentinel();
      using repo = GitRepo.create({ bare: true });
      using home = new TempFolder("home");
      const { command } = sentinel;
      const urls: Record<string, string> = {
        file: `file://${repo.dir}`,
        path: repo.dir,
        ssh: "ssh://localhost:1/x",
        git: "git://127.0.0.1:1/x",
        ext: `ext::${command} %S x`,
        fd: "fd::7",
      };
      const end = await runProcess({
        program: gitPath,
        args: ["ls-remote", urls[kind] ?? ""],
        cwd: home.path,
        // The replacement for ssh records that it started.
        env: { GIT_SSH_COMMAND: command, ...configVariables(hardenedConfig()) },
        timeoutMs: 30_000,
        onStdout: () => undefined,
      });
      expect(end).toMatchObject({
        exitCode: 128,
        stderr: expect.stringMatching(/transport '\w+' not allowed/),
      });
      expect(sentinel.starts).toBe("nothing ran");
    },
  );
});
