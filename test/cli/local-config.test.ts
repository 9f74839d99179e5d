import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Content, TempFolder } from "../support/git-repo.ts";
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
