import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cleanStderr, gitError } from "../../../src/repo/git/git-error.ts";
import { createGit } from "../../../src/repo/git/repository.ts";
import { OLDEST_GIT, requireGit, runGit, streamGit } from "../../../src/repo/git/run-git.ts";
import { runProcess } from "../../../src/repo/git/run-process.ts";
import { GitRepo, gitPath, TempFolder } from "../../support/git-repo.ts";

let folder: TempFolder;
let repo: GitRepo;
const place = () => ({
  git: { gitPath, emptyHome: folder.path },
  gitDir: join(repo.dir, ".git"),
  what: "test",
});

beforeEach(() => {
  folder = new TempFolder();
  repo = GitRepo.create();
});
afterEach(() => {
  folder.dispose();
  repo.dispose();
});

/** Whether a process still runs. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0) && !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

describe("a git process", () => {
  it("A git process returns bytes unchanged", async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, at) => at));
    repo.commit("one", { file: bytes });
    expect((await runGit({ ...place(), args: ["cat-file", "blob", "HEAD:file"] })).stdout).toEqual(bytes);
  });

  it("A git process inherits no environment", async () => {
    process.env.HUNKWISE_CANARY = "canary";
    const alias = ["-c", "alias.show-env=!env", "show-env"];
    const { stdout } = await runGit({ ...place(), args: alias });
    const names = stdout
      .toString("utf8")
      .split("\n")
      .map((line) => line.split("=")[0] ?? "");
    const foreign = names.filter(
      (name) => !/^(GIT_.*|HOME|XDG_CONFIG_HOME|PATH|LC_ALL|HUNKWISE_OWNER|PWD|SHLVL|OLDPWD|_|)$/.test(name),
    );
    expect(foreign).toEqual([]);
    const viaSimpleGit = await createGit({ git: place().git, baseDir: repo.dir }).raw(["var", "-l"]);
    expect(viaSimpleGit).toContain("core.attributesfile=/dev/null");
    delete process.env.HUNKWISE_CANARY;
  });

  it("A git process is stopped beyond its output limit", async () => {
    repo.commit("one", { file: "x".repeat(100_000) });
    const printing = runGit({ ...place(), args: ["cat-file", "blob", "HEAD:file"], maxBytes: 1000 });
    await expect(printing).rejects.toMatchObject({ code: "too_large" });
  });

  it("A git process is stopped when its reader has enough", async () => {
    repo.commit("one", { file: "x".repeat(1_000_000) });
    let chunks = 0;
    await streamGit({ ...place(), args: ["cat-file", "blob", "HEAD:file"] }, () => {
      chunks++;
      return "stop";
    });
    expect(chunks).toBe(1);
  });

  it("A git process fails with git's reason and without its arguments", async () => {
    const failing = runGit({ ...place(), args: ["cat-file", "blob", "HEAD:secret-argument"] });
    await expect(failing).rejects.toMatchObject({
      code: "git_failed",
      message: expect.stringContaining("fatal: "),
    });
  });
});

describe("a process that must end", () => {
  const hanging = (signal?: AbortSignal, timeoutMs = 60_000) => {
    // The child starts another one, as git starts its helpers, and neither listens to SIGTERM.
    const script = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$; sleep 60 & wait' & echo $$; wait";
    const pids: number[] = [];
    const done = runProcess({
      program: "/bin/sh",
      args: ["-c", script],
      cwd: "/",
      env: {},
      signal,
      timeoutMs,
      onStdout: (chunk) => {
        pids.push(...chunk.toString().trim().split("\n").map(Number));
        return undefined;
      },
    });
    return { done, pids };
  };

  it("A process is killed with its children at its timeout", async () => {
    const { done, pids } = hanging(undefined, 400);
    await expect(done).rejects.toMatchObject({ code: "git_timeout", retryable: true });
    await sleep(50);
    expect(pids).toHaveLength(2);
    expect(pids.filter(isRunning)).toEqual([]);
  });

  it("A process is killed when the job is aborted", async () => {
    const abort = new AbortController();
    const { done, pids } = hanging(abort.signal);
    setTimeout(() => abort.abort(), 300);
    await expect(done).rejects.toMatchObject({ code: "aborted" });
    await sleep(50);
    expect(pids.filter(isRunning)).toEqual([]);
    await expect(hanging(abort.signal).done).rejects.toMatchObject({ code: "aborted" });
  });

  it("simple-git gives up a process at its timeout", async () => {
    const slow = join(folder.path, "git");
    writeFileSync(slow, "#!/bin/sh\nwhile :; do echo x; sleep 0.05; done\n", { mode: 0o755 });
    const git = createGit({
      git: { gitPath: slow, emptyHome: folder.path },
      baseDir: folder.path,
      timeoutMs: 300,
    });
    await expect(git.raw(["version"])).rejects.toThrow();
  });
});

describe("git's messages", () => {
  it("git's messages lose credentials", () => {
    const said = [
      "fatal: unable to access 'https://x-access-token:ghs_secret@github.com/o/r.git/': 403",
      "> Authorization: Basic Z2hzX3NlY3JldA==",
      "remote: token ghs_secret is bad",
    ].join("\n");
    expect(cleanStderr(said, ["ghs_secret"])).not.toMatch(/ghs_secret|Z2hzX3NlY3JldA/);
  });

  it.each([
    ["fatal: Authentication failed for 'https://github.com/o/r.git/'", "repository_unavailable", false],
    [
      "remote: Repository not found.\nfatal: repository 'https://github.com/o/r.git/' not found",
      "repository_unavailable",
      false,
    ],
    ["fatal: couldn't find remote ref refs/pull/9/head", "revision_unknown", false],
    ["fatal: unable to access 'https://x/': Could not resolve host: x", "git_failed", true],
    ["error: RPC failed; HTTP 502 curl 22 The requested URL returned error: 502", "git_failed", true],
    ["fatal: write error: No space left on device", "disk_full", true],
    ["fatal: bad object", "git_failed", false],
    ["fatal: of a reason that nobody knows", "git_failed", true],
  ])("git's message %j becomes %s", (stderr, code, retryable) => {
    expect(gitError("fetch", { exitCode: 128, stderr })).toMatchObject({ code, retryable });
  });

  it("A killed git is retryable, a usage error is not", () => {
    expect(gitError("fetch", { exitCode: null, stderr: "" })).toMatchObject({ retryable: true });
    const misunderstood = { exitCode: 129, stderr: "error: unknown option `no-such'" };
    expect(gitError("fetch", misunderstood)).toMatchObject({ retryable: false });
  });
});

/** A PATH with a program called git that prints this. */
function fakeGit(folder: TempFolder, script: string): string {
  const bin = join(folder.path, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "git"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return bin;
}

describe("git", () => {
  it("Git is found on PATH with its version", async () => {
    const found = await requireGit({ searchPath: `relative:/nonexistent:${join(gitPath, "..")}` });
    expect(found.path).toBe(gitPath);
    expect(found.version).toMatch(/^2\.\d+\.\d+/);
  });

  it("A missing git is an error with a remedy", async () => {
    for (const searchPath of [undefined, "", "/nonexistent", "."]) {
      await expect(requireGit({ searchPath })).rejects.toMatchObject({
        code: "git_missing",
        remedy: `Install git ${OLDEST_GIT} or newer`,
      });
    }
  });

  it.each(["2.39.4", "2.9.5", "1.9", "2.38.99"])(
    "Git %s is too old, and the message says so",
    async (version) => {
      using folder = new TempFolder();
      const searchPath = fakeGit(folder, `echo "git version ${version}"`);
      await expect(requireGit({ searchPath })).rejects.toMatchObject({
        code: "git_too_old",
        message: expect.stringContaining(`git ${version} at ${searchPath}/git is older than ${OLDEST_GIT}`),
      });
    },
  );

  it.each(["2.39.5", "2.39.5 (Apple Git-154)", "2.40", "2.53.0.windows.1", "3.0.0-rc1"])(
    "Git %s is accepted",
    async (version) => {
      using folder = new TempFolder();
      const searchPath = fakeGit(folder, `echo "git version ${version}"`);
      expect((await requireGit({ searchPath })).path).toBe(join(searchPath, "git"));
    },
  );

  it("A program that does not answer like git is refused", async () => {
    using folder = new TempFolder();
    const searchPath = fakeGit(folder, "echo xcode-select: no developer tools >&2; exit 1");
    await expect(requireGit({ searchPath })).rejects.toMatchObject({ code: "git_missing" });
    await expect(requireGit({ program: join(folder.path, "nothing") })).rejects.toMatchObject({
      code: "git_missing",
    });
  });
});
