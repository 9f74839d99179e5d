import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { OLDEST_GIT, requireGit } from "../../src/git/git-version.ts";
import { gitPath, TempFolder } from "../support/git-repo.ts";

/** A PATH with a program called git that prints this. */
function fakeGit(folder: TempFolder, script: string): string {
  const bin = join(folder.path, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "git"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return bin;
}

describe("git", () => {
  it("is found on PATH with its version", async () => {
    const found = await requireGit({ searchPath: `relative:/nonexistent:${join(gitPath, "..")}` });
    expect(found.path).toBe(gitPath);
    expect(found.version).toMatch(/^2\.\d+\.\d+/);
  });

  it("that is missing is asked for", async () => {
    for (const searchPath of [undefined, "", "/nonexistent", "."]) {
      await expect(requireGit({ searchPath })).rejects.toMatchObject({
        code: "git_missing",
        remedy: `Install git ${OLDEST_GIT} or newer`,
      });
    }
  });

  it.each(["2.39.4", "2.9.5", "1.9", "2.38.99"])(
    "%s is too old, and the message says so",
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
    "%s is accepted",
    async (version) => {
      using folder = new TempFolder();
      const searchPath = fakeGit(folder, `echo "git version ${version}"`);
      expect((await requireGit({ searchPath })).path).toBe(join(searchPath, "git"));
    },
  );

  it("that does not answer like git is no git", async () => {
    using folder = new TempFolder();
    const searchPath = fakeGit(folder, "echo xcode-select: no developer tools >&2; exit 1");
    await expect(requireGit({ searchPath })).rejects.toMatchObject({ code: "git_missing" });
    await expect(requireGit({ program: join(folder.path, "nothing") })).rejects.toMatchObject({
      code: "git_missing",
    });
  });
});
