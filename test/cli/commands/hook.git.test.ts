import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { withAgreeingSceptic } from "../../support/agreeing-sceptic.ts";
import { programEntry } from "../../support/built-program.ts";
import { type FakeScript, startFakeOpenAi } from "../../support/fake-openai.ts";
import { GitRepo, TempFolder, testGitEnvironment } from "../../support/git-repo.ts";
import { type CliRun, runCli, unsetVariables } from "../../support/run-cli.ts";
import { runHere } from "../../support/run-program.ts";
import { installed } from "../../support/shell.ts";

const names = ["pre-commit", "pre-push"];
const sound = "def total(items):\n    return sum(items)\n";
/** The analyzers find a fault in it, of severity high. */
const faulty = "def total(items, seen=[]):\n    seen.append(items)\n    return sum(seen)\n";

const [, vitest = ""] = process.argv;
const environment = { ...process.env };
beforeAll(() => {
  process.argv[1] = programEntry;
  Object.assign(process.env, testGitEnvironment);
});
afterAll(() => {
  process.argv[1] = vitest;
  for (const name of Object.keys(testGitEnvironment)) delete process.env[name];
  Object.assign(process.env, environment);
});

let repo: GitRepo;
let remote: GitRepo;
beforeEach(() => {
  [repo, remote] = [GitRepo.create(), GitRepo.create({ bare: true })];
  repo.commit("Start", { "cart.py": sound });
  repo.git("remote", "add", "origin", remote.dir);
  repo.git("push", "--quiet", "--no-verify", "origin", "main");
  repo.git("remote", "set-head", "origin", "main");
  repo.git("checkout", "--quiet", "-b", "topic");
  mkdirSync(hooks(), { recursive: true });
});
afterEach(() => {
  repo.dispose();
  remote.dispose();
});

const hooks = (...path: string[]) => join(repo.dir, ".git/hooks", ...path);
/** In this process, which is faster; the hooks that it writes start the program by the name of this process. */
const hook = (...args: string[]) => runHere(["hook", ...args, "--repo", repo.dir]);

/** Runs git as a person does: it runs the hooks. Not synchronous, because the model is in this process. */
function git(args: readonly string[], env: Record<string, string> = {}, cwd = repo.dir): Promise<CliRun> {
  const child = spawn("git", args, { cwd, env: { ...unsetVariables, ...testGitEnvironment, ...env } });
  const [out, err] = [[] as Buffer[], [] as Buffer[]];
  child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
  return new Promise((done, fail) => {
    child.on("error", fail);
    child.on("close", (code, signal) =>
      done({ code, signal, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() }),
    );
  });
}

/** Everything in the folder of hooks: names, modes, and bytes or targets. */
function contents(folder = hooks()): string[] {
  return readdirSync(folder)
    .sort()
    .map((name) => {
      const path = join(folder, name);
      const stats = lstatSync(path);
      const content = stats.isSymbolicLink() ? readlinkSync(path) : readFileSync(path, "latin1");
      return `${name} ${stats.mode.toString(8)} ${JSON.stringify(content)}`;
    });
}

function script(name: string, body: string, mode = 0o755): void {
  writeFileSync(hooks(name), `#!/bin/sh\n${body}\n`);
  chmodSync(hooks(name), mode);
}

const has = (branch: string) => remote.git("for-each-ref", `refs/heads/${branch}`) !== "";
const head = () => repo.git("log", "-1", "--format=%s");

describe("The installation of hooks", () => {
  it("An installation writes both hooks once, and uninstall leaves nothing", async () => {
    const before = contents();
    const first = await hook("install");
    expect(first).toMatchObject({ code: 0, stdout: "pre-commit: installed\npre-push: installed\n" });
    for (const name of names) expect(statSync(hooks(name)).mode & 0o111).toBe(0o111);

    const written = contents();
    const times = names.map((name) => statSync(hooks(name)).mtimeMs);
    expect((await hook("install")).stdout).toBe(
      "pre-commit: installed already\npre-push: installed already\n",
    );
    expect(contents()).toEqual(written);
    expect(names.map((name) => statSync(hooks(name)).mtimeMs)).toEqual(times);
    expect((await hook("status")).stdout).toContain(`pre-push: installed at ${hooks("pre-push")}\n`);

    expect(await hook("uninstall")).toMatchObject({
      code: 0,
      stdout: "pre-commit: removed\npre-push: removed\n",
    });
    expect(contents()).toEqual(before);
    expect((await hook("status")).stdout).toBe("pre-commit: not installed\npre-push: not installed\n");
    expect((await hook("uninstall")).code).toBe(0);
  });

  it("An installation writes only the hook that is named", async () => {
    await hook("install", "pre-push");
    expect(readdirSync(hooks())).toEqual(["pre-push"]);
  });

  it("An installation keeps existing hooks, and uninstall puts back each byte, mode and link", async () => {
    writeFileSync(
      hooks("pre-commit"),
      Buffer.from("#!/bin/sh\r\n# \xff\xfe no UTF-8, no line end", "latin1"),
    );
    chmodSync(hooks("pre-commit"), 0o640);
    writeFileSync(hooks("other"), "#!/bin/sh\n");
    symlinkSync("other", hooks("pre-push"));
    const before = contents();

    const { stdout } = await hook("install");
    expect(stdout).toContain(
      `pre-push: installed; the hook that was there is now ${hooks("pre-push.before-hunkwise")}`,
    );
    await hook("install");
    expect(readdirSync(hooks()).sort()).toEqual([
      ...["other", "pre-commit", "pre-commit.before-hunkwise", "pre-push", "pre-push.before-hunkwise"],
    ]);
    await hook("uninstall");
    expect(contents()).toEqual(before);
  });

  it("An installation continues one that was interrupted", async () => {
    script("pre-push", "exit 0");
    const before = contents();
    await hook("install", "pre-push");
    rmSync(hooks("pre-push"));
    expect((await hook("install", "pre-push")).stdout).toContain("runs first");
    await hook("uninstall", "pre-push");
    expect(contents()).toEqual(before);
  });

  it("An installation touches no hook that was changed by hand, and no second hook in the way", async () => {
    await hook("install", "pre-push");
    writeFileSync(hooks("pre-push"), `${readFileSync(hooks("pre-push"), "utf8")}echo mine\n`);
    const changed = contents();
    for (const action of ["install", "uninstall"])
      expect(await hook(action, "pre-push")).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("changed since"),
      });
    expect(contents()).toEqual(changed);

    script("pre-push", "exit 0");
    script("pre-push.before-hunkwise", "exit 0");
    const both = contents();
    expect(await hook("install", "pre-push")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("an older one"),
    });
    expect(await hook("uninstall", "pre-push")).toMatchObject({ code: 0 });
    expect(contents()).toEqual(both);
  });

  it("An installation is for all worktrees of a repository, and a submodule has its own", async () => {
    using folder = new TempFolder("hook");
    const tree = join(folder.path, "tree");
    repo.git("worktree", "add", "--quiet", tree, "-b", "second");
    expect((await runCli(["hook", "install", "--repo", tree])).code).toBe(0);
    expect(existsSync(hooks("pre-push"))).toBe(true);

    const allow = ["-c", "protocol.file.allow=always"];
    repo.git(...allow, "submodule", "--quiet", "add", remote.dir, "inner");
    expect((await runCli(["hook", "install", "--repo", join(repo.dir, "inner")])).code).toBe(0);
    expect(existsSync(join(repo.dir, ".git/modules/inner/hooks/pre-push"))).toBe(true);
  });

  const layouts: [string, () => void, RegExp][] = [
    [
      "husky",
      () => {
        repo.write({ ".husky/_/pre-commit": "#!/usr/bin/env sh\n", ".husky/pre-commit": "npm test\n" });
        repo.git("config", "core.hooksPath", ".husky/_");
      },
      /^husky manages/,
    ],
    [
      "husky before npm install",
      () => void repo.write({ ".husky/pre-commit": "npm test\n" }),
      /^husky manages/,
    ],
    [
      "core.hooksPath",
      () => void repo.git("config", "core.hooksPath", "my hooks"),
      /^core\.hooksPath \(my hooks\) manages/,
    ],
    ["lefthook", () => void repo.write({ "lefthook.yml": "" }), /^lefthook manages/],
    [
      "husky, named in package.json",
      () => void repo.write({ "package.json": '{ "devDependencies": { "husky": "9.1.7" } }' }),
      /^husky manages/,
    ],
    [
      "pre-commit before its installation",
      () => void repo.write({ ".pre-commit-config.yaml": "repos: []\n" }),
      /^pre-commit manages/,
    ],
    [
      "pre-commit",
      () => script("pre-commit", "# File generated by pre-commit: https://pre-commit.com\nexit 0"),
      /^pre-commit manages/,
    ],
  ];
  it.each(layouts)(
    "An installation changes nothing if %s manages the hooks, and prints the commands to add",
    async (_, make, said) => {
      make();
      const files = () => [
        ...contents(),
        repo.git("status", "--porcelain", "--ignored"),
        repo.git("config", "--list"),
      ];
      const before = files();
      const { code, stdout } = await hook("install");
      expect(stdout).toMatch(said);
      expect(stdout).toMatch(/\n {2}hunkwise hook run pre-commit\n {2}hunkwise hook run pre-push\n$/);
      expect(code).toBe(1);
      expect(files()).toEqual(before);
    },
  );

  it("The printed commands review in husky's layout, at a commit and a push", async () => {
    using folder = new TempFolder("husky");
    const run = '#!/usr/bin/env sh\nsh -e "$(dirname "$0")/../$(basename "$0")" "$@"\n';
    const ours = (name: string) => `.husky/_/${name}`;
    repo.write(Object.fromEntries(names.map((name) => [ours(name), { mode: "100755", data: run }])));
    repo.git("config", "core.hooksPath", ".husky/_");
    const { stdout } = await hook("install");
    for (const [, line = "", name] of stdout.matchAll(/^ {2}(.* (\S+))$/gm))
      repo.write({ [`.husky/${name}`]: `echo theirs\n${line}\n` });

    const env = { PATH: `${installed(folder.path)}:${process.env.PATH}` };
    repo.write({ "cart.py": faulty });
    const stopped = await git(["commit", "-am", "Count"], env);
    expect([stopped.code, stopped.stderr]).toEqual([
      1,
      expect.stringMatching(/^theirs\n.*stopped this commit/s),
    ]);
    await git(["commit", "--no-verify", "-am", "Count"], env);
    const push = await git(["push", "origin", "topic"], env);
    expect(push.stderr).toContain("hunkwise: stopped this push");
    expect(has("topic")).toBe(false);
  });

  it("An installation finds core.hooksPath in the user's own configuration too", async () => {
    using home = new TempFolder("home");
    writeFileSync(join(home.path, "config"), "[core]\n\thooksPath = /nowhere/hooks\n");
    const env = { ...testGitEnvironment, GIT_CONFIG_GLOBAL: join(home.path, "config") };
    const { code, stdout } = await runCli(["hook", "install", "--repo", repo.dir], { env });
    expect([code, stdout]).toEqual([1, expect.stringContaining("core.hooksPath (/nowhere/hooks)")]);
    expect(readdirSync(hooks())).toEqual([]);
  });

  it("An installation refuses a folder without a repository", async () => {
    using folder = new TempFolder("hook");
    const { code, stderr } = await runCli(["hook", "install", "--repo", folder.path]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("There is no git repository")]);
  });
});

describe("The hook before a commit", () => {
  beforeEach(async () => void (await hook("install", "pre-commit")));

  it("A commit stops for what is staged, whatever the work tree contains", async () => {
    repo.write({ "cart.py": faulty }).git("add", "cart.py");
    repo.write({ "cart.py": sound });
    const stopped = await git(["commit", "-m", "Count"]);
    expect(stopped.code).not.toBe(0);
    expect(stopped.stderr).toMatch(/cart\.py:1 · correctness · ast-grep\/py-mutable-default/);
    expect(stopped.stderr).toContain(
      "hunkwise: stopped this commit. To skip the review once: HUNKWISE_SKIP_HOOK=1",
    );
    expect(head()).toBe("Start");

    const skipped = await git(["commit", "-m", "Count"], { HUNKWISE_SKIP_HOOK: "1" });
    expect([skipped.code, head()]).toEqual([0, "Count"]);
  });

  it("A commit passes with one line if its faults are not staged", async () => {
    repo.write({ "other.py": "a = 1\n" }).git("add", "other.py");
    repo.write({ "cart.py": faulty });
    const passed = await git(["commit", "-m", "Other"]);
    expect([passed.code, head()]).toEqual([0, "Other"]);
    expect(passed.stderr.replace(/^\d:\d\d .*\n/gm, "")).toBe("hunkwise: no findings by the analyzers\n");
  });

  it("A commit is reviewed as git makes it: of -a, and of named files only these", async () => {
    repo.write({ "cart.py": faulty });
    expect((await git(["commit", "-am", "All"])).code).not.toBe(0);

    repo.git("add", "cart.py");
    repo.write({ "other.py": "a = 1\n" }).git("add", "--intent-to-add", "other.py");
    expect((await git(["commit", "-m", "Part", "other.py"])).code).toBe(0);
    expect(repo.git("show", "--name-only", "--format=")).toBe("other.py");
    expect((await git(["commit", "-m", "Named", "cart.py"])).code).not.toBe(0);
  });

  it("The first commit of a repository is reviewed, and one from a worktree", async () => {
    using folder = new TempFolder("hook");
    const fresh = GitRepo.create({ dir: join(folder.path, "fresh") });
    await runCli(["hook", "install", "--repo", fresh.dir]);
    fresh.write({ "cart.py": faulty }).git("add", ".");
    expect((await git(["commit", "-m", "First"], {}, fresh.dir)).stderr).toContain("py-mutable-default");

    const tree = join(folder.path, "tree");
    repo.git("worktree", "add", "--quiet", tree, "-b", "second");
    writeFileSync(join(tree, "cart.py"), faulty);
    const stopped = await git(["commit", "-am", "Count"], {}, tree);
    expect(stopped.stderr).toContain("hunkwise: stopped this commit");
  });

  it("The hook adds nothing to the repository and leaves its index as it is", async () => {
    repo.write({ "cart.py": faulty }).git("add", "cart.py");
    const state = () => [repo.git("count-objects"), readFileSync(join(repo.dir, ".git/index"), "latin1")];
    const before = state();
    const env = { ...testGitEnvironment, GIT_DIR: ".git", GIT_INDEX_FILE: ".git/index" };
    const { code } = await runCli(["hook", "run", "pre-commit"], { cwd: repo.dir, env });
    expect(code).toBe(1);
    expect(state()).toEqual(before);
  });

  it("A commit passes if the hook cannot review it, and the hook says so", async () => {
    const index = { GIT_INDEX_FILE: join(repo.dir, "cart.py") };
    const runs = [
      {
        env: { ...testGitEnvironment, ...index },
        says: /goes on, although it was not reviewed, or only in part/,
      },
      { env: { ...testGitEnvironment, GIT_DIR: remote.dir }, says: /git works on .*\n?.*goes on/s },
    ];
    for (const { env, says } of runs) {
      const { code, stderr } = await runCli(["hook", "run", "pre-commit"], { cwd: repo.dir, env });
      expect([code, stderr]).toEqual([0, expect.stringMatching(says)]);
    }
  });

  it("A commit passes if the program is gone, and the hook says so", async () => {
    const text = readFileSync(hooks("pre-commit"), "utf8");
    writeFileSync(hooks("pre-commit"), text.replace(/^program=.*$/m, "program='/nowhere/cli.js'"));
    repo.write({ "cart.py": faulty });
    const passed = await git(["commit", "-am", "Count"]);
    expect([passed.code, passed.stderr]).toEqual([0, expect.stringContaining("the program was not found")]);
  });
});

describe("A hook that was there before", () => {
  it("The earlier hook runs first, and if it fails, its exit code counts and nothing is reviewed", async () => {
    script("pre-commit", "echo theirs >&2; exit 7");
    await hook("install", "pre-commit");
    repo.write({ "cart.py": faulty });
    const stopped = await git(["commit", "-am", "Count"]);
    expect(stopped.code).not.toBe(0);
    expect(stopped.stderr).toBe("theirs\n");
  });

  it("The earlier hook gets the same input and arguments, also if the review is skipped", async () => {
    const seen = join(repo.dir, ".git/seen");
    script("pre-push", `echo "$@" > '${seen}'; cat >> '${seen}'`);
    await hook("install", "pre-push");
    const sha = repo.commit("Name it", { "cart.py": sound.replace("items", "prices") });
    const line = `refs/heads/topic ${sha} refs/heads/topic ${"0".repeat(40)}`;
    for (const env of [{ HUNKWISE_SKIP_HOOK: "1" }, {}]) {
      expect((await git(["push", "origin", "topic"], env)).code).toBe(0);
      expect(readFileSync(seen, "utf8")).toBe(`origin ${remote.dir}\n${line}\n`);
      remote.git("update-ref", "-d", "refs/heads/topic");
      repo.git("update-ref", "-d", "refs/remotes/origin/topic");
    }
  });

  it("The earlier hook does not run if git would not have run it", async () => {
    script("pre-commit", "exit 7", 0o644);
    await hook("install", "pre-commit");
    repo.write({ "cart.py": sound.replace("items", "prices") });
    expect((await git(["commit", "-am", "Name it"])).code).toBe(0);
  });
});

describe("The hook before a push", () => {
  beforeEach(async () => void (await hook("install", "pre-push")));

  const finding = {
    ...{ path: "cart.py", side: "RIGHT", line: 2, quote: "    return sum(prices)", severity: "high" },
    ...{
      category: "correctness",
      title: "The sum is wrong",
      body: "It is not what it was.",
      confidence: 0.9,
    },
  };
  const report = { tool_calls: [{ name: "report_finding", arguments: finding }] };
  const finish = { tool_calls: [{ name: "finish_review", arguments: { summary: "Renames." } }] };
  const rename = () => repo.commit("Name it", { "cart.py": sound.replaceAll("items", "prices") });
  const modelAt = (url: string) => ({
    ...{ OPENAI_BASE_URL: url, OPENAI_API_KEY: "test-key", HUNKWISE_MODEL: "fake-model" },
    HUNKWISE_PROTOCOL: "native",
  });

  async function pushWith(script: FakeScript, ...args: string[]) {
    await using fake = await startFakeOpenAi({ script: withAgreeingSceptic(script).script });
    const run = await git(["push", "origin", ...args], modelAt(fake.url));
    return { ...run, requests: fake.requests.length };
  }

  it("A push stops for what the model finds, and the variable lets it pass", async () => {
    rename();
    const stopped = await pushWith([report, finish], "topic");
    expect(stopped.stderr).toContain("The sum is wrong");
    expect(stopped.stderr).toContain(
      "hunkwise: stopped this push. To skip the review once: HUNKWISE_SKIP_HOOK=1 git push",
    );
    expect([stopped.code === 0, has("topic")]).toEqual([false, false]);

    const skipped = await git(["push", "origin", "topic"], { HUNKWISE_SKIP_HOOK: "1" });
    expect(skipped.stderr).toContain("HUNKWISE_SKIP_HOOK is set, so this push is not reviewed");
    expect([skipped.code, has("topic")]).toEqual([0, true]);
  });

  it("A push passes with one line if the model finds nothing", async () => {
    rename();
    const passed = await pushWith([finish], "topic");
    expect([passed.code, has("topic")]).toEqual([0, true]);
    expect(passed.stderr).toContain("hunkwise: topic: no findings\n");
  });

  it.each([
    ["answers with errors", { fault: "status", status: 401 } as const],
    ["says nothing of use", { content: "I have no idea." }],
  ])(
    "A push is not stopped by a model that %s, and the hook says that it was not reviewed",
    async (_what, answer) => {
      rename();
      const passed = await pushWith(() => answer, "topic");
      expect(passed.stderr).toMatch(
        /hunkwise: this push goes on, although it was not reviewed, or only in part/,
      );
      expect([passed.code, has("topic")]).toEqual([0, true]);
    },
  );

  it("A push is not delayed by a model that never answers", async () => {
    repo.commit("Configure", { ".github/hunkwise.yml": "budget: { minutes: 0.05 }\n" });
    await git(["push", "--no-verify", "origin", "topic"]);
    rename();
    const passed = await pushWith(() => ({ fault: "hang" }), "topic");
    expect(passed.stderr).toMatch(/this push goes on, although it was not reviewed/);
    expect([passed.code, remote.sha("refs/heads/topic")]).toEqual([0, repo.sha()]);
  });

  it("A push is not stopped by a model that is unreachable or not set up, and the hook says so", async () => {
    rename();
    const away = await git(["push", "origin", "topic"], modelAt("http://127.0.0.1:9/v1"));
    expect(away.stderr).toMatch(/this push goes on, although it was not reviewed/);
    expect([away.code, has("topic")]).toEqual([0, true]);

    const absent = await git(["push", "origin", "topic:again"]);
    expect(absent.stderr).toContain("no model looked at this, only the analyzers");
    expect([absent.code, has("again")]).toEqual([0, true]);

    const broken = await git(["push", "origin", "topic:third"], { OPENAI_BASE_URL: "not an address" });
    expect(broken.stderr).toMatch(/OPENAI_BASE_URL.*\n.*this push goes on/);
    expect([broken.code, has("third")]).toEqual([0, true]);
  });

  it("A push is reviewed only for what the remote does not have", async () => {
    repo.commit("Count", { "cart.py": faulty });
    expect((await git(["push", "origin", "topic"])).code).not.toBe(0);
    expect((await git(["push", "--no-verify", "origin", "topic"])).code).toBe(0);

    repo.commit("Other", { "other.py": "a = 1\n" });
    const passed = await git(["push", "origin", "topic"]);
    expect([passed.code, passed.stderr]).toEqual([
      0,
      expect.stringContaining("hunkwise: topic: no findings"),
    ]);
  });

  it("A rewritten branch is compared with the default base", async () => {
    repo.commit("Count", { "cart.py": faulty });
    await git(["push", "--no-verify", "origin", "topic"]);
    repo.git("commit", "--quiet", "--amend", "-m", "Count again");
    expect((await git(["push", "--force", "origin", "topic"])).stderr).toContain("py-mutable-default");
  });

  it("The report on a push names the branch, and no whole object name", async () => {
    repo.commit("Count", { "cart.py": faulty });
    const fresh = (await git(["push", "origin", "topic:feature"])).stderr;
    expect(fresh).toMatch(/^origin\/(?:HEAD|main)\.\.\.feature$/m);
    await git(["push", "--no-verify", "origin", "topic:feature"]);
    const before = repo.sha();
    repo.commit("Count more", { "other.py": faulty });
    const more = (await git(["push", "origin", "topic:feature"])).stderr;
    expect(more).toContain(`\n${before.slice(0, 12)}...feature\n`);
    expect(more).not.toMatch(/[0-9a-f]{40}/);
  });

  it("The first branch of a remote is not reviewed, and the hook says so", async () => {
    using empty = GitRepo.create({ bare: true });
    using fresh = GitRepo.create();
    fresh.commit("Start", { "cart.py": faulty });
    fresh.git("remote", "add", "origin", empty.dir);
    await runCli(["hook", "install", "pre-push", "--repo", fresh.dir], { env: testGitEnvironment });
    const { code, stderr } = await git(["push", "origin", "main"], {}, fresh.dir);
    expect(stderr).toContain(
      "hunkwise: main is new on the remote, and there is no other branch to compare it with, so it was not reviewed\n",
    );
    expect([code, empty.sha("refs/heads/main")]).toEqual([0, fresh.sha()]);
    fresh.branch("topic").commit("Other", { "other.py": faulty });
    expect((await git(["push", "origin", "topic"], {}, fresh.dir)).stderr).toContain("other.py:1");
  });

  it("Tags and deletions are not reviewed", async () => {
    repo.commit("Count", { "cart.py": faulty });
    repo.git("tag", "-m", "v1", "v1");
    await git(["push", "--no-verify", "origin", "topic"]);
    for (const args of [["v1"], ["--delete", "topic"]]) {
      const { code, stderr } = await git(["push", "origin", ...args]);
      expect([code, stderr]).toEqual([0, expect.not.stringMatching(/^hunkwise|reading/m)]);
    }
  });

  it("A push of several branches is reviewed once for each, and the rest is counted", async () => {
    rename();
    for (const name of ["a", "b", "c"]) repo.git("branch", name);
    const same = await pushWith([finish], "a", "b", "c");
    expect(same.stderr.match(/hunkwise: .*no findings/g)).toEqual(["hunkwise: a, b, c: no findings"]);

    for (const n of [1, 2, 3, 4, 5, 6]) {
      repo.git("checkout", "--quiet", "-b", `many-${n}`);
      repo.commit(`Step ${n}`, { [`file-${n}.py`]: `a = ${n}\n` });
    }
    const { code, stderr } = await git(["push", "origin", ...[1, 2, 3, 4, 5, 6].map((n) => `many-${n}`)]);
    expect(stderr.match(/hunkwise: many-\d: no findings/g)).toHaveLength(5);
    expect(stderr).toContain("hunkwise: not reviewed, because at most 5 branches of a push are: many-6\n");
    expect(stderr).not.toMatch(/reading|running the analyzers/);
    expect(code).toBe(0);
  });

  it("The hook takes the range of the framework pre-commit, which reads git's input itself", async () => {
    const [from, to] = [repo.sha(), repo.commit("Count", { "cart.py": faulty })];
    const env = { ...testGitEnvironment, PRE_COMMIT_FROM_REF: from, PRE_COMMIT_TO_REF: to };
    const { code, stdout, stderr } = await runCli(["hook", "run", "pre-push"], { cwd: repo.dir, env });
    expect([code, stdout, stderr]).toEqual([1, "", expect.stringContaining("py-mutable-default")]);
  });

  it("The hook says that it reviewed nothing if its input is not git's", async () => {
    for (const input of ["--base\n", `refs/heads/a ${"0".repeat(39)} refs/heads/a ${"0".repeat(40)}\n`]) {
      const run = await runCli(["hook", "run", "pre-push"], { cwd: repo.dir, input });
      expect([run.code, run.stderr]).toEqual([
        0,
        expect.stringMatching(/does not say what is pushed\.\n.*not reviewed/),
      ]);
    }
  });
});

describe("The option --no-model", () => {
  it("A review with --no-model asks no configured model, and cannot require one", async () => {
    repo.commit("Count", { "cart.py": faulty });
    await using fake = await startFakeOpenAi({ script: [] });
    const env = { OPENAI_BASE_URL: fake.url, OPENAI_API_KEY: "test-key", HUNKWISE_MODEL: "fake-model" };
    const args = ["review", "--repo", repo.dir, "--base", "main", "--no-model"];
    const { code, stdout } = await runCli(args, { env });
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^hunkwise-\S+ · Offline: /)]);
    expect(fake.requests).toEqual([]);
    const both = await runCli([...args, "--require-model"], { env });
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining("--require-model and --no-model")]);
  });
});
