import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openObjects, openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import { openLocalRange } from "../../../src/repo/git/range.ts";
import type { SearchQuery, Workspace } from "../../../src/repo/git/workspace.ts";
import { type Content, GitRepo, gitPath, TempFolder } from "../../support/git-repo.ts";
import { needle } from "../../support/needle.ts";

let folder: TempFolder;
let repo: GitRepo;

beforeEach(() => {
  folder = new TempFolder("work-tree");
  repo = GitRepo.create({ dir: join(folder.path, "source") });
  repo.commit("base", { "a.txt": "one\n", "b/c.txt": "two\n", "d.bin": Buffer.from([110, 0, 10]) });
  repo.branch("topic");
  repo.commit("head", { "a.txt": "one needle\n", "b/c.txt": "two needle\n" });
});
afterEach(() => folder.dispose());

const open = (head = "topic") =>
  openLocalRange({ repo: repo.dir, base: "main", head, gitPath, tempDir: folder.path });

async function filesOf(head?: string) {
  await using range = await open(head);
  return range.place.files;
}

async function found(workspace: Workspace, query: Partial<SearchQuery> = {}): Promise<string[]> {
  const hits = await workspace.search(
    { ...needle, mode: "files_with_matches", ...query },
    AbortSignal.timeout(60_000),
  );
  return hits.mode === "files_with_matches" ? hits.paths : [];
}

describe("a work tree is searched in place of a checkout", () => {
  it("if it is clean and has the head", async () => {
    expect(await filesOf()).toMatchObject({ kind: "work_tree", root: repo.dir, differing: [] });
  });

  it("except for what was edited, removed, staged, or made another type", async () => {
    repo.write({ "a.txt": "else\n", "b/c.txt": null, "d.bin": { mode: "120000", data: "a.txt" } });
    repo.write({ "new.txt": "needle\n" }).git("add", "new.txt");
    const files = await filesOf();
    const differing = ["a.txt", "b/c.txt", "d.bin", "new.txt"];
    expect(files).toMatchObject({ kind: "work_tree", differing });
    await using range = await open();
    await using workspace = openWorkspace(range.place);
    expect(await found(workspace)).toEqual(["a.txt", "b/c.txt"]);
  });

  it("except for what differs between the head and the commit that is checked out", async () => {
    repo.checkout("main");
    expect(await filesOf()).toMatchObject({ kind: "work_tree", differing: ["a.txt", "b/c.txt"] });
  });

  it("also if a file was written again with the same content", async () => {
    repo.write({ "a.txt": "one needle\n" });
    expect(await filesOf()).toMatchObject({ kind: "work_tree", differing: [] });
  });

  it("also with attributes that convert nothing here", async () => {
    repo.commit("attributes", { ".gitattributes": "* text=auto eol=lf -ident\n*.bin binary\n# filter=x\n" });
    expect(await filesOf()).toMatchObject({ kind: "work_tree" });
  });

  it("and nothing is written to the repository", async () => {
    const index = join(repo.dir, ".git/index");
    const before = [readFileSync(index), statSync(index).mtimeMs];
    writeFileSync(join(repo.dir, "a.txt"), "one needle\n");
    await using range = await open();
    await using workspace = openWorkspace(range.place);
    await found(workspace);
    expect([readFileSync(index), statSync(index).mtimeMs]).toEqual(before);
  });
});

describe("a work tree is not used", () => {
  it.each<[string, (own: GitRepo) => unknown]>([
    ["without an index", (own) => rmSync(join(own.dir, ".git/index"))],
    ["if git was told to ignore changes", (own) => own.git("update-index", "--assume-unchanged", "a.txt")],
    ["if files are left out of it", (own) => own.git("sparse-checkout", "set", "--no-cone", "/a.txt")],
    ["if the configuration converts line ends", (own) => own.git("config", "core.autocrlf", "true")],
    ["if the configuration demands CRLF", (own) => own.git("config", "core.eol", "crlf")],
    ["if a filter may convert files", (own) => own.commit("lfs", { ".gitattributes": "*.bin filter=lfs\n" })],
    ["if CRLF is demanded", (own) => own.commit("crlf", { "b/.gitattributes": "c.txt text eol=crlf\n" })],
    ["if keywords are expanded", (own) => own.commit("ident", { ".gitattributes": "*.txt ident\n" })],
    [
      "if its own attributes convert files",
      ({ dir }) => writeFileSync(join(dir, ".git/info/attributes"), "*.txt working-tree-encoding=UTF-16\n"),
    ],
    [
      "if attributes were edited",
      (own) => own.commit("none", { ".gitattributes": "" }) && own.write({ ".gitattributes": "* text\n" }),
    ],
  ])("%s", async (_, prepare) => {
    prepare(repo);
    expect(await filesOf()).toEqual({ kind: "objects" });
    await using range = await open();
    await using workspace = openWorkspace(range.place);
    expect(await found(workspace)).toEqual(["a.txt", "b/c.txt"]);
  });

  it("if configuration that is not read converts line ends", async () => {
    repo.git("rm", "--quiet", "--cached", "-r", ".");
    repo.git("-c", "core.autocrlf=true", "reset", "--quiet", "--hard");
    expect(readFileSync(join(repo.dir, "a.txt"), "utf8")).toBe("one needle\r\n");
    // git reads files again that are as new as the index.
    for (const path of ["a.txt", "b/c.txt", "d.bin"])
      utimesSync(join(repo.dir, path), 1_700_000_000, 1_700_000_000);
    repo.git("-c", "core.autocrlf=true", "update-index", "--refresh");
    expect(await filesOf()).toEqual({ kind: "objects" });
  });

  it("during a merge with conflicts", async () => {
    repo.checkout("main").commit("other", { "a.txt": "two needles\n" });
    repo.bytes(["merge", "--quiet", "topic"], "", [1]);
    expect(await filesOf()).toEqual({ kind: "objects" });
  });
});

describe("a search in a work tree", () => {
  it("finds the head's files although they are edited between two searches", async () => {
    await using range = await open();
    await using workspace = openWorkspace(range.place);
    expect(await found(workspace)).toEqual(["a.txt", "b/c.txt"]);
    repo.write({ "a.txt": "gone\n", "b/c.txt": null, "b/e.txt": "needle\n" });
    expect(await found(workspace)).toEqual(["a.txt", "b/c.txt"]);
    repo.write({ "d.bin": "needle\n" });
    expect(await found(workspace)).toEqual(["a.txt", "b/c.txt"]);
    repo.checkout("--force").checkout("main");
    expect(await found(workspace)).toEqual(["a.txt", "b/c.txt"]);
  });

  it("counts no binary file towards the maximum", async () => {
    const binary = (at: number): [string, Content] => [`0/${at}.bin`, Buffer.from(`needle ${at}\n\0\n`)];
    const files = Object.fromEntries(Array.from({ length: 20 }, (_, at) => binary(at)));
    repo.commit("images", { ...files, "0/z.txt": "needle\n" });
    await using range = await open();
    await using workspace = openWorkspace(range.place);
    expect(await found(workspace, { maxResults: 2 })).toEqual(["0/z.txt", "a.txt"]);
    expect(await found(workspace, { maxResults: 1 })).toEqual(["0/z.txt"]);
  });

  it("opens nothing that git does not track", async () => {
    repo.write({ "node_modules/x/y.js": "needle\n", "b/.env": "needle\n", ".git-secrets": "needle\n" });
    await using range = await open();
    const { files } = range.place;
    expect(
      files.kind === "work_tree" && readFileSync(files.ignoreFile, "utf8").split("\n").toSorted(),
    ).toEqual(["", "/.git-secrets", "/b/.env", "/node_modules/"]);
  });

  const name = fc
    .string({ unit: fc.constantFrom(..."ab *?[]{}!#\\-~$é'\"".split("")), minLength: 1, maxLength: 6 })
    .filter((text) => text.trim() !== "");

  it("finds each tracked file, however similar the names of others are", { timeout: 120_000 }, async () => {
    const claim = fc.asyncProperty(fc.uniqueArray(name, { minLength: 4, maxLength: 12 }), async (names) => {
      using own = GitRepo.create();
      const files = names.map((path): [string, string] => [`${path}.txt`, "needle\n"]);
      const half = Math.ceil(files.length / 2);
      own.commit("base", Object.fromEntries(files.slice(0, half)));
      own.write(Object.fromEntries(files.slice(half)));
      await using range = await openLocalRange({ repo: own.dir, base: "main", head: "main", gitPath });
      expect(range.place.files.kind).toBe("work_tree");
      await using workspace = openWorkspace(range.place);
      await using objects = openObjects(range.place);
      const expected = await found(objects);
      expect(expected).toHaveLength(half);
      expect(await found(workspace)).toEqual(expected);
    });
    await fc.assert(claim, { numRuns: process.env.HUNKWISE_LONG === "1" ? 200 : 6, seed: 21 });
  });
});
