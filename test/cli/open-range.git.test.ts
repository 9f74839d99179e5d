import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Content, GitRepo, TempFolder } from "../support/git-repo.ts";
import { runCli } from "../support/run-cli.ts";
import { runHere } from "../support/run-program.ts";
import { faultyRepo } from "./sample-repo.ts";

const file = ".github/hunkwise.yml";

async function show(content: Content) {
  using repo = faultyRepo({ [file]: content, "other.yml": "paths: { private: [a/] }\n" });
  return await runHere(["config", "show", "--repo", repo.dir, "--base", "main"]);
}

describe("A local range", () => {
  it.each<[string, Content, RegExp]>([
    ["is broken", "paths:\n  private: [a", /hunkwise\.yml:2: /],
    [
      "has a misspelled key",
      "privat: [secrets/]\nlanguag: German\n",
      /yml:1: privat is .*yml:2: languag is not a known key \(did you mean language\?\)/,
    ],
    [
      "has a wrong value",
      "max_comments: many\n",
      /yml:1: max_comments must be a number, not "many"\. Correct it/,
    ],
    ["is a symbolic link", { mode: "120000", data: "../other.yml" }, /is not a regular file/],
  ])("A range is not reviewed with defaults if its configuration %s", async (_, content, reason) => {
    const { code, stdout, stderr } = await show(content);
    expect(code).not.toBe(0);
    expect(stdout).toBe("");
    expect(stderr).toMatch(reason);
    expect(stderr).toContain(`hunkwise: The configuration cannot be used: ${file}:`);
  });
});

describe("The command config check", () => {
  it.each([
    ["that is too large", `# ${"x".repeat(70_000)}`, /hunkwise\.yml: is larger than 64 KB/],
    ["that is broken", "paths:\n  private: [a", /hunkwise\.yml:2: Flow sequence/],
    [
      "with private paths out of place",
      "Paths:\n  private: [a]",
      /hunkwise\.yml:1: Paths is not a known key \(did you mean paths\?\)/,
    ],
  ])("The check reports a file %s as a problem", async (_, text, problem) => {
    const folder = new TempFolder("config-check");
    try {
      const path = join(folder.path, "hunkwise.yml");
      writeFileSync(path, text);
      const { code, stdout } = await runHere(["config", "check", path]);
      expect(code).toBe(1);
      expect(stdout).toMatch(problem);
    } finally {
      folder.dispose();
    }
  });
});

describe("Nested files of a working tree", () => {
  const withFiles = async (
    files: Record<string, string>,
    args: readonly string[] = [],
    { committed = {}, from = "." }: { committed?: Record<string, Content>; from?: string } = {},
  ) => {
    using repo = GitRepo.create();
    repo.commit("First", { "tracked.txt": "", ".gitignore": "node_modules/\n", ...committed });
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(repo.dir, dirname(path)), { recursive: true });
      writeFileSync(join(repo.dir, path), text);
    }
    return await runCli(["config", "check", ...args], { cwd: join(repo.dir, from) });
  };

  it("Nested files are checked together with the file of the repository", async () => {
    const wrong = await withFiles({
      [file]: "max_comment: 3\n",
      "a/.hunkwise.yml": "minimum_severity: high\neffort: low\n",
      "node_modules/x/.hunkwise.yml": "effort: low\n",
    });
    expect(wrong.code).toBe(1);
    expect(wrong.stdout.split("\n")).toEqual([
      `${file}:1: max_comment is not a known key (did you mean max_comments?)`,
      "a/.hunkwise.yml:2: effort is not a known key (known keys: paths, instructions, minimum_severity)",
      "",
    ]);
    const sound = await withFiles({ "a/.hunkwise.yml": "minimum_severity: high\n" });
    expect(sound).toMatchObject({ code: 0, stdout: expect.stringMatching(/1 nested file is valid/) });
  });

  it("Nested files are the same from any folder of the repository, and named as seen from there", async () => {
    const files = { [file]: "max_comment: 3\n", "a/.hunkwise.yml": "effort: low\n", "b/c.txt": "" };
    const { code, stdout } = await withFiles(files, [], { from: "b" });
    expect(code).toBe(1);
    expect(stdout.split("\n").map((line) => line.split(" ")[0])).toEqual([
      `../${file}:1:`,
      "../a/.hunkwise.yml:1:",
      "",
    ]);
  });

  it("Nested files are those that git knows: tracked and new ones, none that is ignored or gone", async () => {
    const wrong = "effort: low\n";
    const checked = await withFiles({ "new/.hunkwise.yml": wrong, "node_modules/.hunkwise.yml": wrong }, [], {
      committed: {
        "old/.hunkwise.yml": wrong,
        "link/.hunkwise.yml": { mode: "120000", data: "../tracked.txt" },
      },
    });
    expect(checked.stdout.split("\n").map((line) => line.split(" ").slice(0, 3).join(" "))).toEqual([
      "link/.hunkwise.yml: is not",
      "new/.hunkwise.yml:1: effort is",
      "old/.hunkwise.yml:1: effort is",
      "",
    ]);
  });

  it("Nested files are not searched outside of a repository", async () => {
    using outside = new TempFolder("outside");
    mkdirSync(join(outside.path, "a"));
    writeFileSync(join(outside.path, "a/.hunkwise.yml"), "effort: low\n");
    const { code, stdout, stderr } = await runCli(["config", "check"], { cwd: outside.path });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^hunkwise: There is no git repository at '\.'\. Name a folder inside /);
  });

  it("Problems of nested files are in the order of their lines, each once", async () => {
    const text = "max_comment: 3\nreview:\n  drafts: perhaps\npaths:\n  ingore: []\nlanguag: x\n";
    const { stdout } = await withFiles({ [file]: text });
    const lines = [...stdout.matchAll(/yml:(\d+): (.*)$/gm)].map(([, line, says]) => `${line} ${says}`);
    expect(lines).toEqual([
      "1 max_comment is not a known key (did you mean max_comments?)",
      '3 review.drafts must be true or false, not "perhaps"',
      "5 paths.ingore is not a known key (did you mean ignore?)",
      "6 languag is not a known key (did you mean language?)",
    ]);
  });

  it("Nested files are known by their name", async () => {
    const checked = await withFiles({ "a/.hunkwise.yml": "effort: low\n" }, ["a/.hunkwise.yml"]);
    expect(checked).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^a\/\.hunkwise\.yml:1: effort/),
    });
  });
});

describe("Nested files at the base of a range", () => {
  it("Nested files hold for what is shown and for tools", async () => {
    using repo = faultyRepo({
      "lib/.hunkwise.yml": "paths: { private: ['*.py'] }\n",
      "lib/secret.py": "key = 1\n",
    });
    repo.commit("Take it away", { "lib/.hunkwise.yml": null, "lib/secret.py": "key = 2\n" });
    const shown = await runHere(["config", "show", "--repo", repo.dir, "--base", "main"]);
    expect(shown.stdout).toMatch(/private:\n\s+# files of folders\n\s+- \/lib\/\*\*\/\*\.py\n/);
    const args = ["--args", '{"file_path": "lib/secret.py"}'];
    const read = await runHere(["tool", "read_file_part", "--repo", repo.dir, "--base", "main", ...args]);
    expect(read.stdout).toMatch(/withheld/);
    expect(read.stdout).not.toContain("key = ");
  });

  it("A broken nested file refuses the range", async () => {
    using repo = faultyRepo({ "lib/.hunkwise.yml": "paths:\n  private: [a" });
    const { code, stderr } = await runHere(["review", "--repo", repo.dir, "--base", "main"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/lib\/\.hunkwise\.yml:2: /);
  });
});

it("A folder's minimum severity holds for its own findings, and what it leaves out is counted", async () => {
  using repo = faultyRepo({ "lib/.hunkwise.yml": "minimum_severity: critical\n" });
  repo.commit("The same below lib", {
    "lib/cart.py": "def total(items, seen=[]):\n    seen.append(items)\n    return sum(seen)\n",
  });
  const args = ["review", "--repo", repo.dir, "--base", "main", "--format", "json"];
  const { findings, warnings } = JSON.parse((await runHere(args)).stdout);
  expect(findings.map(({ path }: { path: string }) => path)).toEqual(["cart.py"]);
  expect(warnings).toContainEqual("1 finding is below the minimum severity of its folder and not reported.");
});
