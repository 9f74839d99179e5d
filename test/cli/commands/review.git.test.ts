import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startReviewProcess } from "../../../src/border/start-process.ts";
import { ReviewJson } from "../../../src/report/json.ts";
import { GitRepo, TempFolder } from "../../support/git-repo.ts";
import { type CliRun, runCli } from "../../support/run-cli.ts";
import { runHere } from "../../support/run-program.ts";
import { faultyRepo, fingerprintOf, soundRepo } from "../sample-repo.ts";

const long = process.env.HUNKWISE_LONG === "1";

const escapeCharacter = "\u001b";
let faulty: GitRepo;
let sound: GitRepo;
let folder: TempFolder;

beforeAll(() => {
  faulty = faultyRepo();
  sound = soundRepo();
  folder = new TempFolder("cli");
});
afterAll(() => {
  faulty.dispose();
  sound.dispose();
  folder.dispose();
});

const review = (repo: GitRepo, ...args: string[]) => runHere(["review", "--repo", repo.dir, ...args]);

describe("An offline review from the command line", () => {
  let run: CliRun;
  let before: string[];

  beforeAll(async () => {
    before = fingerprintOf(faulty.dir);
    run = await runCli(["review", "--repo", faulty.dir, "--base", "main"]);
  });

  it("A review exits with 1 at a finding as severe as the default threshold", () => {
    expect(run.code).toBe(1);
  });

  it("A review prints on stdout first that no model read it, then the finding with its code", () => {
    expect(run.stdout).toMatch(/^hunkwise-\S+ · Offline: no model read this change; [\s\S]*checked it\.\n/);
    expect(run.stdout).toContain("main...topic\n");
    expect(run.stdout).toContain("1 commit · 2 files · 1 hunk · offline\n");
    expect(run.stdout).toMatch(
      / {2}HIGH {2}.*\n {2}cart\.py:1 · correctness · ast-grep\/py-mutable-default\n/,
    );
    expect(run.stdout).toContain("  > 1 │ def total(items, seen=[]):\n");
    expect(run.stdout).toContain("Skipped   package-lock.json: lock file\n");
    expect(run.stdout).not.toContain("not read:");
  });

  it("A review prints its progress on stderr, in plain lines without colors", () => {
    expect(run.stderr).toMatch(/^\d:\d\d · reading the change$/m);
    expect(run.stderr).toMatch(/running the analyzers/);
    expect(run.stdout + run.stderr).not.toContain(escapeCharacter);
  });

  it("A review leaves the repository as it was, to the last time stamp", () => {
    expect(fingerprintOf(faulty.dir)).toEqual(before);
  });
});

describe("The formats of a review", () => {
  it("A review prints JSON of the documented shape", async () => {
    const { stdout, code } = await review(faulty, "--base", "main", "--format", "json");
    const json = ReviewJson.parse(JSON.parse(stdout));
    expect(code).toBe(1);
    expect(json).toMatchObject({
      mode: "offline",
      stop_reason: "no_model",
      head_sha: faulty.sha("topic"),
      merge_base_sha: faulty.sha("main"),
      coverage: { hunks_total: 1, hunks_served: 0 },
      usage: { requests: 0 },
      outcome: "offline",
      exit: { code: 1, reason: "findings", threshold: "high" },
    });
    expect(json.findings[0]).toMatchObject({
      ...{ path: "cart.py", line: 1, side: "RIGHT", placement: "inline" },
      ...{ rule: "ast-grep/py-mutable-default", quote: "def total(items, seen=[]):" },
    });
    const lock = { path: "package-lock.json", reason: "lock file", account: "parsed" };
    expect(json.coverage.files_skipped).toEqual([lock]);
  });

  it("A review names the files in languages without rules if no model reads them", async () => {
    using repo = soundRepo();
    repo.commit("Own rule", {
      ".github/hunkwise/rules/a.yml": "id: a\nlanguage: rs\nmessage: m\nrule: { kind: macro_invocation }\n",
    });
    repo.branch("more");
    const without = ["Dockerfile", "c.sh", "e.php", "f.rb", "main.tf", "q.sql", "r.kt", "s.cs", "u.lua"];
    const withRules = [
      ".gitattributes",
      "a.json",
      "a.py",
      "b.tsx",
      "c.go",
      "d.rs",
      "t.toml",
      "w.yaml",
      "D.java",
    ];
    const all = [...without, ...withRules, "package-lock.json"];
    repo.commit("Many", Object.fromEntries(all.map((path) => [path, "\n"])));
    const args = ["--base", "topic"];
    const { coverage } = JSON.parse((await review(repo, ...args, "--format", "json")).stdout);
    expect(coverage.without_rules).toEqual(without);
    const said = "no rules for: Dockerfile, c.sh, e.php, f.rb, main.tf, q.sql, r.kt, s.cs and 1 more";
    const pretty = (await review(repo, ...args)).stdout.replaceAll(/\s+/g, " ");
    expect(pretty).toMatch(new RegExp(`Coverage analyzers only, \\d+ hunks; ${said} Skipped`));
    const { stdout } = await review(repo, ...args, "--format", "markdown");
    expect(stdout.replaceAll("`", "")).toContain(`analyzers only; ${said}\n`);
  });

  it("A review writes to a file instead of stdout", async () => {
    const file = join(folder.path, "review.sarif");
    const { stdout, stderr } = await review(faulty, "--base", "main", "--format", "sarif", "--output", file);
    expect(stdout).toBe("");
    expect(stderr).toContain(`written to ${file}\n`);
    expect(JSON.parse(readFileSync(file, "utf8")).runs[0].results).toHaveLength(1);
  });

  it("A review takes the format from the file's name, unless --format names another one", async () => {
    const write = async (name: string, ...args: string[]) => {
      const file = join(folder.path, name);
      await review(sound, "--base", "main", "--output", file, ...args);
      return readFileSync(file, "utf8");
    };
    expect(JSON.parse(await write("a.sarif")).version).toBe("2.1.0");
    expect(await write("a.md")).toMatch(/^## Hunkwise/);
    expect(await write("a.txt")).toMatch(/^hunkwise-\S+ · Offline: /);
    expect(JSON.parse(await write("b.sarif", "--format", "json")).mode).toBe("offline");
  });

  it("A review refuses an unwritable file before it begins", async () => {
    const file = join(folder.path, "no", "such", "folder", "x");
    const { code, stderr } = await review(faulty, "--base", "main", "--output", file);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^hunkwise: the output cannot be written: .*\n$/);
  });

  it("A review wraps prose at COLUMNS through a pipe, and cuts no code", async () => {
    using repo = soundRepo();
    const call = `def total(prices, ${"very_long_name, ".repeat(10)}seen=[]):`;
    repo.commit("Long", { "cart.py": `${call}\n    seen.append(1)\n` });
    const args = ["review", "--repo", repo.dir, "--base", "main"];
    const widest = async (env: Record<string, string>) => {
      const { stdout } = await runCli(args, { env });
      expect(stdout).toContain(call);
      return Math.max(...stdout.split("\n").map((line) => (line.includes("very_long") ? 0 : line.length)));
    };
    expect(await widest({ COLUMNS: "40" })).toBeLessThanOrEqual(40);
    expect(await widest({})).toBeGreaterThan(40);
  });

  it("A review uses colors if they are forced, also through a pipe", async () => {
    const { stdout } = await runCli(
      ["review", "--repo", faulty.dir, "--base", "main", "--format", "pretty"],
      {
        env: { FORCE_COLOR: "1" },
      },
    );
    expect(stdout).toContain(`${escapeCharacter}[`);
  });
});

describe("The exit code of a review", () => {
  it("An offline review that found nothing exits with 0, and says that no model read it", async () => {
    const { code, stdout } = await review(sound, "--base", "main");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^hunkwise-\S+ · Offline: no model read this change; [\s\S]*checked it/);
    expect(stdout).not.toContain("no problems found");
  });

  it("A review with --require-model exits with 2 without a model, before anything is read", async () => {
    const { code, stdout, stderr } = await review(faulty, "--base", "no-such", "--require-model");
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr.replace(" HUNKWISE_LONG is not a known variable.", "")).toBe(
      "hunkwise: --require-model is set, but no model is configured. " +
        "Set OPENAI_API_KEY, ANTHROPIC_API_KEY, or OPENAI_BASE_URL and HUNKWISE_MODEL. An empty variable counts as unset.\n",
    );
  });

  it("A review whose process died exits with 3", async () => {
    const startProcess = () => {
      const started = startReviewProcess();
      started.child.kill("SIGKILL");
      return started;
    };
    const args = ["review", "--repo", sound.dir, "--base", "main"];
    const { code, stdout, stderr } = await runHere(args, { startProcess });
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toMatch(/^hunkwise: the review process .*SIGKILL/m);
  });

  it("A review of a range without changes exits with 0", async () => {
    const { code, stdout } = await review(sound, "--base", "topic");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^hunkwise-\S+ · topic\.\.\.topic: nothing to review · offline · \d+\.\d s\n$/);
  });

  it("A review follows the configured threshold without --fail-on", async () => {
    using repo = faultyRepo({ ".github/hunkwise.yml": "check:\n  threshold: critical\n" });
    expect((await review(repo, "--base", "main")).code).toBe(0);
  });
});

describe("The revisions of a review", () => {
  it("A review compares the checked-out head with main by default", async () => {
    const { code, stdout } = await review(faulty, "--fail-on", "never");
    expect(code).toBe(0);
    expect(stdout).toContain("main...topic\n");
  });

  it("A review compares with origin's default branch if there is one", async () => {
    using clone = new TempFolder("clone");
    sound.git("clone", "--quiet", "--branch", "topic", sound.dir, clone.path);
    const { stdout, code } = await runHere(["review", "--repo", clone.path, "--format", "json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).head_sha).toBe(sound.sha("topic"));
  });

  it("A review needs a base if none can be guessed", async () => {
    using repo = soundRepo();
    repo.git("branch", "-m", "main", "trunk");
    const { code, stderr } = await review(repo);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^hunkwise: --base is not set.* name the target branch with --base\.\n$/);
  });

  it("A remedy names no commit before the first one, nor one that a shallow clone lacks", async () => {
    using first = GitRepo.create();
    first.commit("Start", { "a.txt": "a\n" });
    const both = /^warning: main\.\.\.main contains no commits: both ends are [0-9a-f]{12}\. /m;
    const onFirst = await review(first, "--base", "main", "--head", "main");
    expect(onFirst.stderr).toMatch(both);
    expect(onFirst.stderr).toContain("It is the first commit; to review it: --commit main\n");
    using clone = new TempFolder("clone");
    sound.git("clone", "--quiet", "--depth", "1", "--branch", "topic", `file://${sound.dir}`, clone.path);
    const onShallow = await runHere(["review", "--repo", clone.path, "--base", "topic"]);
    expect(onShallow.stderr).toContain("The clone is shallow: run git fetch --unshallow; in CI");
    expect(onShallow).toMatchObject({ code: 3, stdout: "" });
    sound.git(
      "clone",
      "--quiet",
      "--depth",
      "2",
      "--branch",
      "topic",
      `file://${sound.dir}`,
      `${clone.path}/2`,
    );
    for (const more of [[], ["--dry-run"], ["--committed", "--format", "json"]])
      expect(
        await runHere(["review", "--repo", `${clone.path}/2`, "--base", "topic", ...more]),
      ).toMatchObject({
        ...{ code: 3, stdout: "" },
        stderr: expect.stringMatching(
          /^hunkwise: topic\.\.\.topic contains no commits: .*GitHub fetch-depth: 0,/,
        ),
      });
    expect(onFirst.code).toBe(0);
    for (const { stderr } of [onFirst, onShallow]) expect(stderr).not.toContain("~1");
  });

  it("A review asks about revisions that look swapped", async () => {
    const { stdout, stderr } = await review(sound, "--base", "topic", "--head", "main");
    expect(stdout).toContain("nothing to review");
    expect(stderr).toContain(
      "warning: topic has 1 commit that main lacks, and main has no commits of its own. Did you swap --base and --head?\n",
    );
  });

  it("A review in CI compares with the pull request's target, and with nothing else", async () => {
    using clone = new TempFolder("clone");
    sound.git("clone", "--quiet", "--branch", "topic", sound.dir, clone.path);
    const inCi = (name: string) =>
      runCli(["review", "--repo", clone.path], { env: { GITHUB_BASE_REF: name } });
    GitRepo.at(clone.path).git("update-ref", "refs/remotes/origin/release", sound.sha("topic"));
    expect((await inCi("release")).stdout).toMatch(
      /^hunkwise-\S+ · origin\/release\.\.\.topic: nothing to review/,
    );
    expect(await inCi("gone")).toMatchObject({
      code: 2,
      stdout: "",
      stderr:
        "hunkwise: --base is not set, and origin/gone, the branch that GITHUB_BASE_REF names, does not exist. " +
        "Fetch it (git fetch origin +refs/heads/gone:refs/remotes/origin/gone), or name the target branch with --base.\n",
    });
  });
});

describe("The repository configuration in a review", () => {
  it("A change cannot switch its own review off: the configuration is the base's", async () => {
    using repo = faultyRepo();
    repo.commit("Hide", { ".github/hunkwise.yml": "paths:\n  ignore: ['*']\n" });
    const { code, stdout } = await review(repo, "--base", "main");
    expect(code).toBe(1);
    expect(stdout).toContain("cart.py:1");
  });

  it("An invalid configuration is refused by file, line and key, and nothing is reviewed", async () => {
    using repo = faultyRepo({ ".github/hunkwise.yml": "review:\n  draft: true\n" });
    const { code, stderr, stdout } = await review(repo, "--base", "main", "--format", "json");
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(
      /\.github\/hunkwise\.yml:2: review\.draft is not a known key \(did you mean drafts\?\)\. Correct/,
    );
  });
});

describe("The surroundings of a review", () => {
  it("A dry run lists files, hunks, what is skipped and the predicted tokens", async () => {
    const { code, stdout } = await review(faulty, "--base", "main", "--dry-run");
    expect(code).toBe(0);
    expect(stdout).toContain("2 changed files, 1 to be reviewed with 1 hunk\n");
    expect(stdout).toMatch(/^ {2}1 {2}cart\.py$/m);
    expect(stdout).toMatch(/^ {2}- {2}package-lock\.json {2}\(skipped: lock file\)$/m);
    expect(stdout).toMatch(/No model is configured[\s\S]*about\s\d+\srequests\swith\s[\d,]+\stokens/);
  });

  it("A dry run prints JSON, and no other format", async () => {
    const { stdout } = await review(faulty, "--base", "main", "--dry-run", "--format", "json");
    expect(JSON.parse(stdout)).toMatchObject({
      model: null,
      hunks_total: 1,
      files: [{ path: "cart.py" }, {}],
    });
    const { code, stderr } = await review(faulty, "--base", "main", "--dry-run", "--format", "sarif");
    expect(code).toBe(2);
    expect(stderr).toMatch(/^hunkwise: --dry-run cannot print sarif/);
  });

  it.runIf(long)(
    "A review without a home folder leaves no record in the repository, and says so once",
    async () => {
      const args = ["review", "--base", "main"];
      for (const HOME of ["", "here"]) {
        const { code, stderr } = await runCli(args, { cwd: sound.dir, env: { HOME } });
        expect(code).toBe(0);
        expect(
          stderr.match(/^warning: no record of this run is kept: there is no home folder\. .*/gm),
        ).toHaveLength(1);
        expect(readdirSync(sound.dir).sort()).toEqual([".git", "cart.py"]);
      }
      const silent = await runCli([...args, "--no-record"], { cwd: sound.dir, env: { HOME: "" } });
      expect(silent.stderr).not.toContain("no record");
    },
  );

  it("A review leaves no folder behind, also if it is interrupted", async () => {
    using scratch = new TempFolder("scratch");
    const { code, signal } = await runCli(["review", "--repo", faulty.dir, "--base", "main"], {
      env: { TMPDIR: scratch.path },
      onStart: (child) => child.stderr?.once("data", () => child.kill("SIGINT")),
    });
    expect({ code, signal }).toEqual({ code: 130, signal: null });
    expect(readdirSync(scratch.path)).toEqual([]);
  });

  it("A reader that goes away is no failure of the review", async () => {
    const { code, stderr } = await runCli(["review", "--repo", faulty.dir, "--base", "main"], {
      onStart: (child) => child.stdout?.destroy(),
    });
    expect(code).toBe(1);
    expect(stderr).not.toMatch(/EPIPE|Error/);
  });

  it("A trajectory is readable only by its owner, and offline it has no turn", async () => {
    const file = join(folder.path, "run.jsonl");
    writeFileSync(file, "old", { mode: 0o644 });
    await review(sound, "--base", "main", "--trajectory", file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const kinds = readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).kind);
    expect(kinds).toEqual(["record", "run", "result", "ended"]);
  });
});
