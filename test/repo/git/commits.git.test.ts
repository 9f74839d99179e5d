import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { commitFiles } from "../../../src/repo/git/commits.ts";
import { GitRepo, gitPath, TempFolder } from "../../support/git-repo.ts";

const author = { name: "hunkwise[bot]", email: "1+hunkwise[bot]@users.noreply.github.com" };
const at = Date.UTC(2026, 10, 22, 10, 0, 0);
const bytes = (text: string) => Buffer.from(text);

function open() {
  const repo = GitRepo.create();
  const [parent = ""] = repo.importCommits([
    {
      branch: "main",
      files: [
        ["kept.txt", "kept\n"],
        ["folder/a.txt", "a\n"],
        ["folder/b.txt", "b\n"],
      ],
    },
  ]);
  const home = new TempFolder("commit-home");
  const git = { gitPath, emptyHome: home.path };
  const place = { git, gitDir: repo.git("rev-parse", "--absolute-git-dir").trim(), parent, author, at };
  return { repo, place, [Symbol.dispose]: () => [home.dispose(), repo[Symbol.dispose]()] };
}

describe("a commit of files", () => {
  it("A commit of files differs from its parent in these files alone", async () => {
    using opened = open();
    const { repo, place } = opened;
    const sha = await commitFiles({
      ...place,
      message: "Compare with <\n\nOne more line.",
      files: [
        { path: "folder/a.txt", after: { mode: "100644", bytes: bytes("A\r\n") } },
        { path: "folder/b.txt", after: null },
        { path: "new/run.sh", after: { mode: "100755", bytes: bytes("true") } },
      ],
    });
    expect(repo.git("diff-tree", "-r", "--no-commit-id", "--name-status", sha).trim().split("\n")).toEqual([
      "M\tfolder/a.txt",
      "D\tfolder/b.txt",
      "A\tnew/run.sh",
    ]);
    expect(repo.git("cat-file", "-p", `${sha}:folder/a.txt`)).toBe("A\r");
    expect(repo.git("ls-tree", sha, "new/run.sh")).toMatch(/^100755 blob/);
    expect(repo.git("log", "-1", "--format=%P|%an|%ae|%cn|%aI|%B", sha).trim()).toBe(
      `${place.parent}|hunkwise[bot]|${author.email}|hunkwise[bot]|2026-11-22T10:00:00+00:00|Compare with <\n\nOne more line.`,
    );
    expect(repo.git("fsck", "--strict", "--no-dangling")).toBe("");
  });

  it("A commit of files is the same for the same files at the same time", async () => {
    using opened = open();
    const files = [{ path: "kept.txt", after: { mode: "100644" as const, bytes: bytes("x") } }];
    const make = () => commitFiles({ ...opened.place, message: "One", files });
    expect(await make()).toBe(await make());
  });

  it("A commit of files has any bytes and names", async () => {
    using opened = open();
    const name = fc.stringMatching(/^[-a-zé"\t ]{1,8}$/).filter((text) => text.trim() !== "");
    await fc.assert(
      fc.asyncProperty(name, fc.uint8Array({ maxLength: 40 }), async (path, content) => {
        const after = { mode: "100644" as const, bytes: Buffer.from(content) };
        const sha = await commitFiles({ ...opened.place, message: "Any", files: [{ path, after }] });
        const [entry = ""] = opened.repo.git("ls-tree", "-z", sha, "--", `:(literal)${path}`).split("\0");
        expect(entry.split("\t").slice(1).join("\t")).toBe(path);
        const oid = entry.split(/\s/)[2] ?? "";
        expect(opened.repo.git("cat-file", "-s", oid).trim()).toBe(String(content.length));
      }),
      { numRuns: 10 },
    );
  });

  it.each([".git/config", "../out", "/etc/passwd", "a/.GIT/x"])(
    "A commit of files never has a file at %s",
    async (path) => {
      using opened = open();
      const files = [{ path, after: { mode: "100644" as const, bytes: bytes("x") } }];
      await expect(commitFiles({ ...opened.place, message: "Bad", files })).rejects.toMatchObject({
        code: "usage",
      });
    },
  );

  it("A commit of files has an author of one line, whatever its name is", async () => {
    using opened = open();
    const sha = await commitFiles({
      ...{ ...opened.place, author: { name: "a\nparent x <b>", email: "c>\n" }, message: "One" },
      files: [],
    });
    expect(opened.repo.git("log", "-1", "--format=%an|%ae|%P", sha).trim()).toBe(
      `aparent x b|c|${opened.place.parent}`,
    );
  });
});
