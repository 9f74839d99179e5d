import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Content, TempFolder } from "../support/git-repo.ts";
import { runCli } from "../support/run-cli.ts";
import { runHere } from "../support/run-program.ts";
import { faultyRepo } from "./sample-repo.ts";

const file = ".github/hunkwise.yml";

async function show(content: Content) {
  using repo = faultyRepo({ [file]: content, "other.yml": "paths: { private: [a/] }\n" });
  return await runHere(["config", "show", "--repo", repo.dir, "--base", "main"]);
}

describe("a local range", () => {
  it("keeps misplaced private paths private and does not claim that a default holds", async () => {
    const { code, stdout, stderr } = await show("private: [secrets/]\nlanguag: German\n");
    expect(code).toBe(0);
    expect(stdout).toMatch(/private:\n\s+- secrets\/\n/);
    expect(stderr).toMatch(/hunkwise\.yml:1: private is out of place.*kept private(?!.*default)/);
    expect(stderr).toMatch(/hunkwise\.yml:2: languag .*Its default holds/);
  });

  it.each<[string, Content, RegExp]>([
    ["is broken around private paths", "paths:\n  private: [a", /is broken YAML .*line 2/],
    ["is a symbolic link", { mode: "120000", data: "../other.yml" }, /is not a regular file/],
  ])("is not reviewed with defaults when its configuration %s", async (_, content, reason) => {
    const { code, stdout, stderr } = await show(content);
    expect(code).not.toBe(0);
    expect(stdout).toBe("");
    expect(stderr).toMatch(reason);
    expect(stderr).toContain(`hunkwise: ${file} `);
  });
});

describe("hunkwise config check", () => {
  it.each([
    ["that is too large", `# ${"x".repeat(70_000)}`, /hunkwise\.yml: is larger than 64 KB/],
    ["that may hide private paths", "paths:\n  private: [a", /hunkwise\.yml:2: is broken YAML/],
    [
      "with private paths out of place",
      "Paths:\n  private: [a]",
      /hunkwise\.yml:2: Paths\.private is out of place/,
    ],
  ])("reports a file %s as a problem", async (_, text, problem) => {
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

describe("nested files of a working tree", () => {
  const withFiles = async (files: Record<string, string>, args: readonly string[] = []) => {
    const folder = new TempFolder("config-check");
    try {
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(join(folder.path, dirname(path)), { recursive: true });
        writeFileSync(join(folder.path, path), text);
      }
      return await runCli(["config", "check", ...args], { cwd: folder.path });
    } finally {
      folder.dispose();
    }
  };

  it("are checked together with the one of the repository", async () => {
    const wrong = await withFiles({
      [file]: "max_comment: 3\n",
      "a/.hunkwise.yml": "minimum_severity: high\neffort: low\n",
      "node_modules/x/.hunkwise.yml": "effort: low\n",
    });
    expect(wrong.code).toBe(1);
    expect(wrong.stdout.split("\n")).toEqual([
      `${file}:1: max_comment is not known; did you mean max_comments?`,
      "a/.hunkwise.yml:2: effort is not known; known are paths, instructions, minimum_severity",
      "",
    ]);
    const sound = await withFiles({ "a/.hunkwise.yml": "minimum_severity: high\n" });
    expect(sound).toMatchObject({ code: 0, stdout: expect.stringMatching(/1 nested file is valid/) });
  });

  it("are known by their name", async () => {
    const checked = await withFiles({ "a/.hunkwise.yml": "effort: low\n" }, ["a/.hunkwise.yml"]);
    expect(checked).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^a\/\.hunkwise\.yml:1: effort/),
    });
  });
});

describe("nested files at the base of a range", () => {
  it("hold for what is shown and for tools, and are told when they are wrong", async () => {
    using repo = faultyRepo({
      "lib/.hunkwise.yml": "paths: { private: ['*.py'] }\ncolour: blue\n",
      "lib/secret.py": "key = 1\n",
    });
    repo.commit("Take it away", { "lib/.hunkwise.yml": null, "lib/secret.py": "key = 2\n" });
    const shown = await runHere(["config", "show", "--repo", repo.dir, "--base", "main"]);
    expect(shown.stdout).toMatch(/private:\n\s+- \/lib\/\*\*\/\*\.py\n/);
    expect(shown.stderr).toMatch(/lib\/\.hunkwise\.yml:2: colour is not known/);
    const args = ["--args", '{"file_path": "lib/secret.py"}'];
    const read = await runHere(["tool", "read_file_part", "--repo", repo.dir, "--base", "main", ...args]);
    expect(read.stdout).toMatch(/withheld/);
    expect(read.stdout).not.toContain("key = ");
  });

  it("refuse a range where they may hide what is private", async () => {
    using repo = faultyRepo({ "lib/.hunkwise.yml": "paths:\n  private: [a" });
    const { code, stderr } = await runHere(["review", "--repo", repo.dir, "--base", "main"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/lib\/\.hunkwise\.yml is broken YAML/);
  });
});

it("a folder's minimum severity holds for its own findings, and what it leaves out is counted", async () => {
  using repo = faultyRepo({ "lib/.hunkwise.yml": "minimum_severity: critical\n" });
  repo.commit("The same below lib", {
    "lib/cart.py": "def total(items, seen=[]):\n    seen.append(items)\n    return sum(seen)\n",
  });
  const args = ["review", "--repo", repo.dir, "--base", "main", "--format", "json"];
  const { findings, warnings } = JSON.parse((await runHere(args)).stdout);
  expect(findings.map(({ path }: { path: string }) => path)).toEqual(["cart.py"]);
  expect(warnings).toContainEqual(
    "1 finding is milder than the minimum severity of its folder and not reported.",
  );
});
