import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openObjects, openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import { type LocalRange, openLocalRange } from "../../../src/repo/git/range.ts";
import type { SearchQuery, Workspace } from "../../../src/repo/git/workspace.ts";
import { type Content, GitRepo, gitPath, TempFolder } from "../../support/git-repo.ts";
import { needle } from "../../support/needle.ts";

const long = process.env.HUNKWISE_LONG === "1";
const signal = () => AbortSignal.timeout(60_000);
let folder: TempFolder;
let repo: GitRepo;

beforeEach(() => {
  folder = new TempFolder("lent");
  repo = GitRepo.create({ dir: join(folder.path, "source") });
  repo.commit("base", { "a.txt": "one\n", "b/c.txt": "two\n", "d.bin": Buffer.from([110, 0, 10]) });
  repo.branch("topic");
  repo.commit("head", { "a.txt": "one needle\n", "b/c.txt": "two needle\n" });
});
afterEach(() => folder.dispose());

const open = (own = repo) =>
  openLocalRange({ repo: own.dir, base: "main", head: "topic", gitPath, tempDir: folder.path });

async function found(workspace: Workspace, query: Partial<SearchQuery> = {}): Promise<string[]> {
  const hits = await workspace.search({ ...needle, mode: "files_with_matches", ...query }, signal());
  return hits.mode === "files_with_matches" ? hits.paths : [];
}

/** What a search finds in the work tree, and what it finds in git's objects alone, which nobody can edit. */
async function both({ place }: LocalRange, query: Partial<SearchQuery>) {
  await using workspace = openWorkspace(place);
  await using objects = openObjects(place);
  const of = async (one: Workspace) => {
    const { program: _, ...hits } = await one.search({ ...needle, ...query }, signal());
    return hits;
  };
  return [await of(workspace), await of(objects)];
}

describe("a search in a work tree", () => {
  it.each<[string, (own: GitRepo) => unknown]>([
    ["is clean", () => {}],
    [
      "has edited, removed and retyped files",
      (own) =>
        own.write({
          "a.txt": "else\n",
          "b/c.txt": null,
          "d.bin": { mode: "120000", data: "a.txt" },
          "n.txt": "needle\n",
        }),
    ],
    ["has another commit", (own) => own.checkout("main")],
    ["has no index", (own) => rmSync(join(own.dir, ".git/index"))],
    [
      "has a folder that became a link",
      ({ dir }) => {
        renameSync(join(dir, "b"), join(dir, "elsewhere"));
        symlinkSync("elsewhere", join(dir, "b"));
      },
    ],
    [
      "has a pipe in the place of a file",
      ({ dir }) => {
        rmSync(join(dir, "a.txt"));
        execFileSync("mkfifo", [join(dir, "a.txt")]);
      },
    ],
    [
      "hides changes from git",
      (own) => {
        own.git("update-index", "--assume-unchanged", "a.txt");
        own.write({ "a.txt": "none\n" });
      },
    ],
    [
      "has converted line ends",
      (own) => {
        own.git("config", "core.autocrlf", "true");
        own.git("rm", "--quiet", "--cached", "-r", ".");
        own.git("reset", "--quiet", "--hard");
      },
    ],
    [
      "has other bytes by attributes",
      (own) => {
        writeFileSync(join(own.dir, ".git/info/attributes"), "*.txt working-tree-encoding=UTF-16LE\n");
        own.git("rm", "--quiet", "--cached", "-r", ".");
        own.git("reset", "--quiet", "--hard");
      },
    ],
  ])("A search finds the head's lines if the work tree %s", async (_, prepare) => {
    prepare(repo);
    await using range = await open();
    for (const path of [undefined, "b", "a.txt", "b/c.txt"]) {
      const [ours, expected] = await both(range, { path });
      expect(ours).toEqual(expected);
    }
    await using workspace = openWorkspace(range.place);
    expect(await found(workspace)).toEqual(["a.txt", "b/c.txt"]);
  });

  it("A search finds the head's files although the user edits them between two searches", async () => {
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

  it("A search finds the head's files although the work tree is removed after the first search", async () => {
    await using range = await open();
    await using workspace = openWorkspace(range.place);
    expect(await found(workspace)).toEqual(["a.txt", "b/c.txt"]);
    for (const name of ["a.txt", "b", "d.bin"]) rmSync(join(repo.dir, name), { recursive: true });
    renameSync(repo.dir, `${repo.dir}-moved`);
    const moved = join(folder.path, "source-moved", ".git");
    mkdirSync(repo.dir);
    renameSync(moved, join(repo.dir, ".git"));
    expect(await found(workspace)).toEqual(["a.txt", "b/c.txt"]);
  });

  it("A folder with a file that is too large to be searched is searched", async () => {
    repo.commit("large", { "b/large.txt": `needle\n${"x".repeat(21 * 1024 * 1024)}` });
    await using range = await open();
    await using workspace = openWorkspace(range.place);
    expect(await found(workspace, { path: "b" })).toEqual(["b/c.txt"]);
  });

  it("A search counts no binary file towards the maximum, and only NUL near the start makes one", async () => {
    const binary = (at: number): [string, Content] => [`0/${at}.bin`, Buffer.from(`needle ${at}\n\0\0\n\0`)];
    const files = Object.fromEntries(Array.from({ length: 20 }, (_, at) => binary(at)));
    const late = Buffer.from(`needle\n${"x".repeat(9_000)}\0\n`);
    repo.commit("images", { ...files, "0/y.txt": late, "0/z.txt": "needle\n" });
    await using range = await open();
    await using workspace = openWorkspace(range.place);
    expect(await found(workspace, { maxResults: 2 })).toEqual(["0/y.txt", "0/z.txt"]);
    expect(await found(workspace, { maxResults: 1 })).toEqual(["0/y.txt"]);
  });

  it("A search writes nothing to the repository, and no copy of a file that the work tree has", async () => {
    const index = join(repo.dir, ".git/index");
    const before = [readFileSync(index), statSync(index).mtimeMs];
    repo.write({ "a.txt": "one needle\n" });
    await using range = await open();
    await using workspace = openWorkspace(range.place);
    await found(workspace);
    expect([readFileSync(index), statSync(index).mtimeMs]).toEqual(before);
    const copies = execFileSync("find", [folder.path, "-path", "*range-*", "-name", "*.txt"], {
      encoding: "utf8",
    });
    expect(copies).toBe("");
  });

  const name = fc
    .string({ unit: fc.constantFrom(..."ab *?[]{}!#\\-~$é'\"".split("")), minLength: 1, maxLength: 6 })
    .filter((text) => text.trim() !== "");
  const content = fc.constantFrom("needle\n", "a needle\r\nneedle", "none\n", "needle\n\0", "");

  it("A search agrees with git's objects for any names and any edits", { timeout: 120_000 }, async () => {
    const file = fc.record({ name, was: content, is: fc.option(content), isFolder: fc.boolean() });
    const files = fc.uniqueArray(file, { selector: (one) => one.name, minLength: 4, maxLength: 12 });
    const mode = fc.constantFrom("content", "count", "files_with_matches");
    const claim = fc.asyncProperty(
      files,
      mode,
      fc.integer({ min: 1, max: 9 }),
      async (made, how, maxResults) => {
        using own = GitRepo.create();
        const half = Math.ceil(made.length / 2);
        own.commit(
          "base",
          Object.fromEntries(made.slice(0, half).map((one) => [`${one.name}.txt`, one.was])),
        );
        own.branch("topic");
        for (const one of made) {
          own.write({ [`${one.name}.txt`]: one.isFolder ? null : one.is });
          if (one.isFolder) mkdirSync(join(own.dir, `${one.name}.txt`, "x"), { recursive: true });
        }
        await using range = await open(own);
        const [ours, expected] = await both(range, { mode: how, maxResults });
        expect({ ...ours, limited: null }).toEqual({ ...expected, limited: null });
      },
    );
    await fc.assert(claim, { numRuns: long ? 200 : 8, seed: 21 });
  });
});
