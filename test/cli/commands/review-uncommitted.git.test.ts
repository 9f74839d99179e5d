import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ReviewJson } from "../../../src/report/json.ts";
import { startFakeOpenAi } from "../../support/fake-openai.ts";
import { GitRepo, TempFolder, testGitEnvironment } from "../../support/git-repo.ts";
import { runCli } from "../../support/run-cli.ts";
import { runHere } from "../../support/run-program.ts";
import { fingerprintOf, soundRepo } from "../sample-repo.ts";

const fault = (name: string) => `def ${name}(items, seen=[]):\n    seen.append(items)\n    return seen\n`;
/** Split, so that no scanner takes this file for one with a key. */
const key = `ghp_${"aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5".slice(0, 36)}`;

let repo: GitRepo;
beforeEach(() => {
  repo = soundRepo();
  repo.commit("Ignore", { ".gitignore": "*.log\n" });
});
afterEach(() => repo.dispose());

const review = (...args: string[]) => runHere(["review", "--repo", repo.dir, ...args]);

async function json(...args: string[]): Promise<ReviewJson> {
  const { stdout, stderr } = await review("--format", "json", ...args);
  return ReviewJson.parse(JSON.parse(stdout || `"${stderr}"`));
}

const pathsOf = ({ findings }: ReviewJson) => findings.map(({ path }) => path).toSorted();

/** A branch with a commit, a staged file, an edited one and a new one, each with the same fault. */
function makeDirty(): void {
  repo.commit("Commit a fault", { "committed.py": fault("a") });
  repo.write({ "staged.py": fault("b") }).git("add", "staged.py");
  repo.write({ "cart.py": fault("total"), "new.py": fault("c"), "trace.log": "ignored\n" });
}

const everything = ["cart.py", "committed.py", "new.py", "staged.py"];

describe("A review of uncommitted changes", () => {
  it("A review reads the working tree, says so first, and writes nothing", async () => {
    makeDirty();
    const before = fingerprintOf(repo.dir);
    const { code, stdout, stderr } = await runCli(["review", "--repo", repo.dir]);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^hunkwise-\S+ · Working tree of topic against main: 3 commits and the\suncommitted\schanges\.\nOffline: /,
    );
    expect(stdout).toContain("\nmain...working tree\n");
    for (const path of everything) expect(stdout).toContain(`  ${path}:1 · correctness`);
    expect(stderr).not.toMatch(/warning: .*commit/);
    expect(fingerprintOf(repo.dir)).toEqual(before);
  });

  it("A review names the tree in place of a commit", async () => {
    makeDirty();
    const result = await json();
    expect(pathsOf(result)).toEqual(everything);
    expect(result.base_sha).toBe(repo.sha("main"));
    const { head_sha, head_tree } = result;
    repo.git("add", "--all");
    expect({ head_sha, head_tree }).toEqual({ head_sha: null, head_tree: repo.git("write-tree") });
  });

  it.each<[string, string[], string[]]>([
    ["everything that is not committed", ["--uncommitted"], ["cart.py", "new.py", "staged.py"]],
    ["everything that is staged", ["--staged"], ["staged.py"]],
    ["commits alone", ["--committed"], ["committed.py"]],
    ["the commits of a named head", ["--head", "topic"], ["committed.py"]],
    ["one commit", ["--commit", "HEAD"], ["committed.py"]],
    ["another commit", ["--commit", "HEAD~1"], []],
  ])("A review reads only %s on request", async (_, options, expected) => {
    makeDirty();
    const result = await json(...options);
    expect(pathsOf(result)).toEqual(expected);
    const isUncommitted = options[0] === "--uncommitted" || options[0] === "--staged";
    expect([result.head_sha === null, result.head_tree !== null]).toEqual([isUncommitted, isUncommitted]);
    if (isUncommitted) expect(result.base_sha).toBe(repo.sha("HEAD"));
    if (options[0] === "--commit") expect(result.base_sha).toBe(repo.sha(`${options[1]}~1`));
  });

  it("A review says in the first line which changes it read", async () => {
    makeDirty();
    const first = async (...options: string[]) => (await review(...options)).stdout.split("\n", 2).join(" ");
    expect(await first("--uncommitted")).toContain(
      " · Uncommitted changes of topic: from HEAD to the working tree.",
    );
    expect(await first("--staged")).toContain(" · Staged changes of topic: from HEAD to the index.");
    expect(await first("--committed")).toMatch(/^hunkwise-\S+ · Offline: /);
    repo.git("rm", "--cached", "--quiet", "-f", "staged.py");
    const { stdout, stderr } = await review("--staged");
    expect(stdout).toMatch(
      /^hunkwise-\S+ · Staged changes of topic: from HEAD to the index: nothing to review/,
    );
    expect(stderr).toContain("warning: nothing is staged\n");
  });

  it("A review in a build reads commits, and says what that leaves out", async () => {
    makeDirty();
    const { stdout, stderr } = await runCli(["review", "--repo", repo.dir, "--format", "json"], {
      env: { CI: "true" },
    });
    expect(pathsOf(JSON.parse(stdout))).toEqual(["committed.py"]);
    expect(stderr).toContain(
      `warning: uncommitted changes in ${repo.dir} are not reviewed, only commits: to include them, leave out ` +
        "--committed and --head, and unset CI\n",
    );
    const asked = await runCli(["review", "--repo", repo.dir, "--format", "json", "--uncommitted"], {
      env: { CI: "true" },
    });
    expect(pathsOf(JSON.parse(asked.stdout))).toEqual(["cart.py", "new.py", "staged.py"]);
  });

  it("A review compares with HEAD without a base branch, and with nothing before the first commit", async () => {
    makeDirty();
    repo.git("branch", "-m", "main", "trunk");
    const { stdout: found, stderr } = await review("--format", "json");
    expect(pathsOf(JSON.parse(found))).toEqual(["cart.py", "new.py", "staged.py"]);
    expect(stderr).toContain(
      "warning: there is no origin/HEAD, origin/main, origin/master, main or master, so only uncommitted changes are " +
        "reviewed, and no commits: name a branch to compare with --base\n",
    );
    using empty = GitRepo.create();
    empty.write({ "new.py": fault("c") });
    const { stdout } = await runHere(["review", "--repo", empty.dir, "--format", "json"]);
    const result = ReviewJson.parse(JSON.parse(stdout));
    expect(pathsOf(result)).toEqual(["new.py"]);
    const compared = spawnSync("git", ["diff", "--name-only", result.base_sha, "--", "."], {
      cwd: empty.dir,
      env: testGitEnvironment,
    });
    expect(compared.status).toBe(0);
  });

  it("A review is refused if the branch that a build names is missing", async () => {
    makeDirty();
    const { code, stderr } = await runCli(["review", "--repo", repo.dir], {
      env: { SYSTEM_PULLREQUEST_TARGETBRANCH: "refs/heads/release" },
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^hunkwise: --base is not set, and origin\/release, the branch that SYSTEM_PULLREQ/m,
    );
  });

  it("A review says in every format what was read, and names no commit that does not exist", async () => {
    makeDirty();
    const said = "Working tree of topic against main: 3 commits and the uncommitted changes.";
    for (const format of ["pretty", "markdown", "prompt"]) {
      const { stdout } = await review("--format", format);
      expect(stdout.replaceAll(/\s+/g, " ")).toContain(said);
      const shas = stdout.match(/(?<=since |compared with commit )[0-9a-f]{7,40}\b/g);
      expect(shas?.map((sha) => repo.git("rev-parse", sha))).toEqual([
        repo.git("merge-base", "main", "topic"),
      ]);
      expect(stdout).not.toMatch(/[0-9a-f]{7,}\.\.[0-9a-f]/);
    }
  });

  it("A review says what a merge would change in the configuration, also that it would be invalid", async () => {
    repo.write({ ".github/hunkwise.yml": "minimum_severity: high\n" });
    expect((await json()).warnings).toContainEqual(
      "A merge changes the configuration of reviews: `minimum_severity`: `low` -> `high`.",
    );
    repo.write({ ".github/hunkwise.yml": "nonsense: 1\n" }).git("add", ".github");
    expect((await json("--staged")).warnings).toContainEqual(
      expect.stringMatching(/^A merge .*: `\.github\/hunkwise\.yml` would be invalid, .*line 1, `nonsense`/),
    );
  });

  it("A review leaves out the reports of the same command, which the run before wrote", async () => {
    makeDirty();
    const [report, record] = [join(repo.dir, "my [report]*.json"), join(repo.dir, "src.jsonl")];
    const args = ["review", "--repo", repo.dir, "--output", report, "--trajectory", record];
    const coverage = async () => {
      await runHere(args);
      return ReviewJson.parse(JSON.parse(readFileSync(report, "utf8"))).coverage;
    };
    const first = await coverage();
    expect(await coverage()).toEqual(first);
    expect(repo.git("status", "--porcelain", "src.jsonl")).toBe("?? src.jsonl");
    // Who reviews with another command sees them.
    expect((await json("--only", "*.json*")).coverage.hunks_total).toBe(2);
  });

  it.each<[string[], string]>([
    [["--uncommitted", "--staged"], "'--uncommitted' cannot be used with option '--staged'"],
    [["--committed", "--commit", "HEAD"], "'--committed' cannot be used with option '--commit <REF>'"],
    [["--uncommitted", "--head", "topic"], "'--uncommitted' cannot be used with option '--head <REF>'"],
    [["--staged", "--base", "main"], "'--staged' cannot be used with option '--base <REF>'"],
    [["--commit", "HEAD", "--head", "x"], "'--commit <REF>' cannot be used with option '--head <REF>'"],
  ])("A review refuses the contradictory options %s", async (options, complaint) => {
    const { code, stderr } = await review(...options);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`hunkwise: option ${complaint}. See `)]);
  });

  it("A review predicts what it would read", async () => {
    makeDirty();
    const { stdout, code } = await review("--dry-run", "--uncommitted");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^3 changed files, 3 to be reviewed/);
  });
});

describe("An untracked file that nobody has decided to share", () => {
  const files = {
    ".env": `TOKEN=${key}\nMODE=withheld-words\n`,
    "dump.txt": `${"withheld-words 1234567\n".repeat(60_000)}${key}\n`,
    "cache.dat": Buffer.from(`\0withheld-words\n\0 ${key}\n`),
  };

  it("An untracked file is listed and scanned for secrets, and no model gets a word of it", async () => {
    repo.write({ ...files, "cart.py": fault("total") });
    const finish = { tool_calls: [{ name: "finish_review", arguments: { summary: "Read." } }] };
    const reads = [".env", "dump.txt", "cache.dat"].map((file_path) => ({
      tool_calls: [
        { name: "read_file_part", arguments: { file_path } },
        { name: "diff_file", arguments: { file_path } },
        { name: "search_in_files", arguments: { pattern: "withheld.words" } },
      ],
    }));
    await using fake = await startFakeOpenAi({ script: (_, n) => reads[n] ?? finish });
    const env = {
      ...{ OPENAI_BASE_URL: fake.url, OPENAI_API_KEY: "test-key", HUNKWISE_MODEL: "fake-model" },
      HUNKWISE_PROTOCOL: "native",
    };
    const run = await runCli(["review", "--repo", repo.dir, "--format", "json"], { env });
    const result = ReviewJson.parse(JSON.parse(run.stdout));
    const account = "left_out";
    expect(result.coverage.files_skipped).toEqual([
      { path: ".env", reason: "untracked and named like a secret: only scanned for secrets", account },
      { path: "cache.dat", reason: "untracked and binary: only scanned for secrets", account },
      { path: "dump.txt", reason: "untracked and more than 1 MB: only scanned for secrets", account },
    ]);
    const secrets = result.findings.filter(({ rule }) => rule?.startsWith("secrets/"));
    expect(secrets.map(({ path, line }) => `${path}:${line}`).toSorted()).toEqual([
      ".env:1",
      "cache.dat:2",
      "dump.txt:60001",
    ]);
    expect(fake.requests.length).toBeGreaterThan(3);
    const sent = JSON.stringify(fake.requests.map(({ body }) => body.messages));
    expect(sent).toContain("seen.append");
    expect(sent).not.toMatch(/withheld-words|MODE=/);
    expect(sent).not.toContain(key);
    expect(run.stdout + run.stderr).not.toContain(key);
  });

  it("A file with the name of a secret is unread, unless the base tracks it", async () => {
    repo.commit("settings", { "base.env": "MODE=tracked-words\n" });
    repo.git("branch", "--force", "main");
    repo.git("switch", "--quiet", "--create", "more");
    repo.commit("more settings", {
      "prod.env": "MODE=withheld-words\n",
      "base.env": "MODE=tracked-words-2\n",
    });
    repo.write({ ".env": `TOKEN=${key}\nMODE=withheld-words\n`, ".env.example": "MODE=example-words\n" });
    repo.git("add", "--all");
    const finish = { tool_calls: [{ name: "finish_review", arguments: { summary: "Read." } }] };
    await using fake = await startFakeOpenAi({ script: () => finish });
    const env = {
      ...{ OPENAI_BASE_URL: fake.url, OPENAI_API_KEY: "test-key", HUNKWISE_MODEL: "fake-model" },
      HUNKWISE_PROTOCOL: "native",
    };
    const run = await runCli(["review", "--repo", repo.dir, "--format", "json"], { env });
    const result = ReviewJson.parse(JSON.parse(run.stdout));
    const reason = "named like a secret: only scanned for secrets";
    expect(result.coverage.files_skipped).toEqual([
      { path: ".env", reason, account: "unread" },
      { path: "prod.env", reason, account: "unread" },
    ]);
    expect(result.findings.map(({ path, line, rule }) => `${path}:${line} ${rule}`)).toEqual([
      ".env:1 secrets/github-token",
    ]);
    const sent = JSON.stringify(fake.requests.map(({ body }) => body.messages));
    expect(sent).toContain("tracked-words-2");
    expect(sent).toContain("example-words");
    expect(sent).not.toMatch(/withheld-words/);
  });

  it("An untracked file is scanned without a model too", async () => {
    repo.write({ ".env": files[".env"] });
    const { code, stdout } = await review("--uncommitted");
    expect(code).toBe(1);
    expect(stdout).toContain(".env:1");
    expect(stdout).not.toContain(key);
    const read = await runHere([
      "tool",
      "read_file_part",
      "--repo",
      repo.dir,
      "--args",
      '{"file_path": ".env"}',
    ]);
    expect(read.stdout).toContain("withheld");
    expect(read.stdout).not.toContain("MODE");
  });
});

it("A review names what cannot be captured in the report", async () => {
  repo.write({ "cart.py": null, "new.py": fault("c") });
  spawnSync("mkfifo", [join(repo.dir, "cart.py")]);
  expect((await json("--uncommitted")).warnings).toEqual([
    "Not part of the review, although not committed: cart.py (neither a file nor a link).",
  ]);
});

describe("A submodule with changes inside", () => {
  let inner: GitRepo;
  const allow = ["-c", "protocol.file.allow=always"];
  const unread = { path: "sub", reason: "submodule with uncommitted changes", account: "neutral" };

  beforeEach(() => {
    using deepest = GitRepo.create();
    deepest.commit("Deepest", { "d.txt": "d\n" });
    using source = GitRepo.create();
    source.commit("Inner", { "s.txt": "s\n", ".gitignore": "*.log\n" });
    source.git(...allow, "submodule", "--quiet", "add", deepest.dir, "deep");
    source.git("commit", "-qm", "Deep");
    repo.git(...allow, "submodule", "--quiet", "add", source.dir, "sub");
    repo.git(...allow, "submodule", "--quiet", "update", "--init", "--recursive");
    repo.git("commit", "-qm", "Sub");
    inner = GitRepo.at(join(repo.dir, "sub"));
    // git runs this if it looks for changes with the submodule's own settings.
    inner.write({ "../ran.log": "" });
    inner.git("config", "core.fsmonitor", `echo ran >> ${join(repo.dir, "ran.log")}; false`);
  });

  it.each<[string, () => void]>([
    ["edited", () => inner.write({ "s.txt": "changed\n" })],
    ["untracked", () => inner.write({ "new.txt": "new\n" })],
    ["staged", () => inner.write({ "s.txt": "changed\n" }).git("-c", "core.fsmonitor=", "add", "s.txt")],
    ["in its own submodule", () => inner.write({ "deep/d.txt": "changed\n" })],
    ["unreadable", () => inner.write({ ".git": "gitdir: /nowhere\n" })],
  ])(
    "A submodule (%s) is named as not read, the review is not complete, and no exit code says so",
    async (_, change) => {
      change();
      for (const options of [["--uncommitted"], []]) {
        const { outcome, coverage, exit } = await json(...options);
        expect({ outcome, code: exit?.code }).toEqual({ outcome: "partial", code: 0 });
        expect(coverage.files_skipped).toContainEqual(unread);
      }
      const { stdout, stderr } = await review("--uncommitted");
      expect(stdout).toContain("not read: sub (submodule with uncommitted changes)");
      expect(stderr).not.toContain("nothing is uncommitted");
      expect(readFileSync(join(repo.dir, "ran.log"), "utf8")).toBe("");
    },
  );

  it("A submodule outside of what is selected is not named, and neither is a clean one", async () => {
    expect((await json("--uncommitted")).outcome).toBe("complete");
    inner.write({ "trace.log": "ignored\n" });
    expect((await json("--uncommitted")).outcome).toBe("complete");
    inner.write({ "s.txt": "changed\n" });
    for (const options of [["--staged"], ["--committed"], ["--uncommitted", "--only", "cart.py"]])
      expect(JSON.stringify((await json(...options)).coverage)).not.toContain(unread.reason);
    repo.git("submodule", "--quiet", "deinit", "-f", "sub");
    expect((await json("--uncommitted")).outcome).toBe("complete");
  });

  it("A submodule at another commit is read with its new commit", async () => {
    inner.write({ "s.txt": "changed\n" }).git("-c", "core.fsmonitor=", "commit", "-qam", "Inside");
    const { outcome, coverage } = await json("--uncommitted");
    expect(outcome).toBe("partial");
    expect(coverage.files_skipped).toEqual([{ ...unread, reason: "submodule at another commit" }]);
  });
});

it("A fix refuses the report of uncommitted changes, and says why", async () => {
  makeDirty();
  using folder = new TempFolder("uncommitted");
  const [record, report] = ["run.jsonl", "report.json"].map((name) => join(folder.path, name));
  await review("--uncommitted", "--trajectory", `${record}`, "--output", `${report}`);
  const fixed = await runHere(["fix", "--repo", repo.dir, "--from", `${report}`]);
  expect(fixed.code).toBe(2);
  expect(fixed.stderr).toContain("is about uncommitted changes, but the head is ");
});

describe("The command tool", () => {
  it("A tool reads the working tree as a review does, and only commits on request", async () => {
    repo.write({ "cart.py": "def total(prices):\n    return 7\n" });
    const args = ["tool", "read_file_part", "--repo", repo.dir, "--args", '{"file_path": "cart.py"}'];
    expect((await runHere(args)).stdout).toContain("return 7");
    const committed = await runHere([...args, "--committed"]);
    expect(committed.stdout).toContain("sum(prices)");
    expect(committed.stderr).toContain("are not read, only commits");
    expect(readFileSync(join(repo.dir, "cart.py"), "utf8")).toContain("return 7");
  });
});
