import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openLocalRange } from "../../src/git/range.ts";
import { isWritable } from "../../src/git/names.ts";
import { openWorkspace } from "../../src/git/object-workspace.ts";
import { GitRepo, gitPath } from "../support/git-repo.ts";

const longName = `${"n".repeat(300)}.js`;
const deepPath = `${"d/".repeat(1_500)}f.js`;

describe("a name that no disk takes", () => {
  it.each([
    ["longer than 255 bytes", "n".repeat(256)],
    ["longer than 255 bytes in UTF-8", "é".repeat(128)],
    ["in too deep a folder", deepPath],
    ["in too long a path", `${"d".repeat(200)}/`.repeat(20)],
    ["into .git", "a/.git/config"],
  ])("is told: %s", (_, path) => expect(isWritable(path)).toBe(false));

  it.each(["a", "a/b.ts", "n".repeat(255), `${"d/".repeat(900)}f`, "é".repeat(127)])("is not %s", (path) =>
    expect(isWritable(path)).toBe(true),
  );
});

describe("a checkout of a tree with names that no disk takes", () => {
  it("holds all others, and the few are read from their blobs", async () => {
    using repo = GitRepo.create({ bare: true });
    const files = [
      ["a.js", "new\n"],
      [longName, "first line\nsecond\n"],
      [deepPath, "deep\n"],
    ] as const;
    repo.importCommits([
      { branch: "main", files: [["a.js", "old\n"]] },
      { branch: "topic", parents: ["main"], files },
    ]);
    await using range = await openLocalRange({ repo: repo.dir, base: "main", head: "topic", gitPath });
    expect(readdirSync(range.place.root)).not.toContain(longName);
    expect(readFileSync(join(range.place.root, "a.js"), "utf8")).toBe("new\n");
    expect(existsSync(join(range.place.root, "..", "index.lock"))).toBe(false);
    await using workspace = openWorkspace(range.place);
    expect((await workspace.changes()).map(({ path }) => path)).toEqual(["a.js", deepPath, longName]);
    expect(await workspace.headStart(longName, 5)).toMatchObject({ text: "first" });
  });
});
