import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { rgPath } from "@vscode/ripgrep";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import { type LocalRange, openLocalRange } from "../../../src/repo/git/range.ts";
import type { SearchHits, SearchQuery, Workspace } from "../../../src/repo/git/workspace.ts";
import { checkedOut } from "../../support/checked-out.ts";
import { GitRepo, gitPath } from "../../support/git-repo.ts";
import { needle } from "../../support/needle.ts";

let repo: GitRepo;
let range: LocalRange;
let workspace: Workspace & AsyncDisposable;

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join("");

beforeAll(async () => {
  repo = GitRepo.create({ bare: true });
  repo.importCommits([
    { branch: "main", files: [["start", ""]] },
    {
      branch: "topic",
      parents: ["main"],
      files: [
        ["a.py", "import os\nneedle = 1\nNEEDLE = 2\nneedles = 3\n"],
        ["src/b.ts", `${numbered(20)}needle\n${numbered(3)}needle again\nend`],
        ["src/deep/c.ts", "const needle = 1;\n"],
        ["crlf.txt", "one\r\nneedle\r\n"],
        ["bom.txt", "\ufeffneedle\n"],
        ["latin.txt", Buffer.from("caf\xe9 needle\n", "latin1")],
        ["binary.bin", Buffer.concat([Buffer.from("needle\n"), Buffer.from([0]), Buffer.from("needle\n")])],
        ["utf16.txt", Buffer.from("needle\n", "utf16le")],
        ["long.txt", `${"x".repeat(10_000)}needle${"y".repeat(100_000)}\n`],
        ["link", { mode: "120000", data: "needle" }],
        ["[odd] name.md", "needle\n"],
      ],
    },
  ]);
  range = await openLocalRange({ repo: repo.dir, base: "main", head: "topic", gitPath });
  // Somebody else's file in the checkout is not part of the tree.
  const place = await checkedOut(range.place);
  writeFileSync(join(place.root, "stray.txt"), "needle\n");
  workspace = openWorkspace(place);
});
afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
  await range.dispose();
  repo.dispose();
});

function search(changes: Partial<SearchQuery>, signal = AbortSignal.timeout(20_000)): Promise<SearchHits> {
  return workspace.search({ ...needle, ...changes }, signal);
}

/** `path:line` of each match. */
async function lines(changes: Partial<SearchQuery>): Promise<string[]> {
  const hits = await search(changes);
  return hits.mode === "content" ? hits.matches.map((one) => `${one.path}:${one.line}`) : [];
}

describe("a search", () => {
  it("A search finds every text file of the tree, in order, and no binary, link or stray file", async () => {
    expect(await lines({})).toEqual([
      "[odd] name.md:1",
      "a.py:2",
      "a.py:4",
      "bom.txt:1",
      "crlf.txt:2",
      "latin.txt:1",
      "long.txt:1",
      "src/b.ts:21",
      "src/b.ts:25",
      "src/deep/c.ts:1",
    ]);
  });

  it("A search confuses no part of a name or line with another match", async () => {
    using odd = GitRepo.create();
    const forged = ["x\n./a.py", "1:needle", "a.py\n2:needle forged\n./b.py", "-- \n--"];
    const files = forged.map((name, at): [string, string] => [`odd/${name}`, `needle ${at}\n`]);
    odd.importCommits([
      { branch: "main", files: [["start", ""]] },
      {
        branch: "topic",
        parents: ["main"],
        files: [
          ...files,
          ["a.py", "one\n2\0./b.py\x003:needle in a line\n-- needle\n"],
          ["b.py", `${"b".repeat(8_000)}\0needle beside a NUL\n`],
        ],
      },
    ]);
    odd.git("checkout", "--quiet", "topic");
    await using place = await openLocalRange({ repo: odd.dir, base: "main", head: "topic", gitPath });
    for (const one of [place.place, await checkedOut(place.place)]) {
      await using opened = openWorkspace(one);
      for (const contextLines of [0, 1]) {
        const hits = await opened.search({ ...needle, contextLines }, AbortSignal.timeout(20_000));
        const found = hits.mode === "content" ? hits.matches.map(({ path, line }) => `${path}:${line}`) : [];
        expect(found.toSorted()).toEqual(["b.py:1", ...files.map(([path]) => `${path}:1`)].toSorted());
        const counts = await opened.search({ ...needle, mode: "count" }, AbortSignal.timeout(20_000));
        expect(counts).toMatchObject({
          counts: found.map((path) => ({ path: path.slice(0, -2), count: 1 })),
        });
      }
    }
  });

  it("A search keeps lines as they are and cuts only what is too long", async () => {
    const hits = await search({});
    if (hits.mode !== "content") throw new Error("wrong mode");
    const text = Object.fromEntries(hits.matches.map((one) => [one.path, one.text]));
    expect(text["crlf.txt"]).toBe("needle\r");
    expect(text["bom.txt"]).toBe("\ufeffneedle");
    expect(text["latin.txt"]).toBe("café needle");
    expect(text["long.txt"]).toBe(`${"x".repeat(2000)} [... 108006 more characters]`);
  });

  it("A search shows context before and after, shared by neighboring matches", async () => {
    const hits = await search({ path: "src/b.ts", contextLines: 4 });
    expect(hits).toEqual({
      mode: "content",
      limited: false,
      program: { command: expect.stringMatching(/^rg /), returnCode: 0, stderr: "" },
      matches: [
        {
          path: "src/b.ts",
          line: 21,
          text: "needle",
          before: [17, 18, 19, 20].map((line) => ({ line, text: `line ${line}` })),
          after: [
            ...[1, 2, 3].map((number) => ({ line: 21 + number, text: `line ${number}` })),
            { line: 25, text: "needle again" },
          ],
          hasLatin1: false,
        },
        {
          path: "src/b.ts",
          line: 25,
          text: "needle again",
          before: [
            { line: 21, text: "needle" },
            ...[1, 2, 3].map((number) => ({ line: 21 + number, text: `line ${number}` })),
          ],
          after: [{ line: 26, text: "end" }],
          hasLatin1: false,
        },
      ],
    });
  });

  it("A search stops when it has enough, with the context of the last match complete", async () => {
    const hits = await search({ path: "src", contextLines: 2, maxResults: 1 });
    expect(hits).toMatchObject({
      limited: true,
      matches: [{ line: 21, after: [{ line: 22 }, { line: 23 }] }],
    });
    expect(await search({ mode: "files_with_matches", maxResults: 2 })).toEqual({
      mode: "files_with_matches",
      paths: ["[odd] name.md", "a.py"],
      limited: true,
      program: { command: expect.stringContaining("needle"), returnCode: null, stderr: "" },
    });
  });

  it("A search does not count a binary file in which it stopped", async () => {
    expect(await search({ path: "binary.bin", maxResults: 1 })).toMatchObject({ matches: [] });
  });

  it("A search supports words, case, inversion, literals and regular expressions", async () => {
    const inPython = { path: "a.py" };
    expect(await lines({ ...inPython, wholeWord: true })).toEqual(["a.py:2"]);
    expect(await lines({ ...inPython, ignoreCase: true })).toEqual(["a.py:2", "a.py:3", "a.py:4"]);
    expect(await lines({ ...inPython, invertMatch: true })).toEqual(["a.py:1", "a.py:3"]);
    expect(await lines({ ...inPython, pattern: "^n.*[12]$" })).toEqual(["a.py:2"]);
    expect(await lines({ ...inPython, pattern: "n.e", fixedString: true })).toEqual([]);
    expect(await lines({ ...inPython, pattern: "-e" })).toEqual([]);
    expect(await lines({ ...inPython, pattern: "--pre=sh", fixedString: true })).toEqual([]);
  });

  it("A search stays below its path", async () => {
    expect(await lines({ path: "src" })).toEqual(["src/b.ts:21", "src/b.ts:25", "src/deep/c.ts:1"]);
    expect(await lines({ path: "src/" })).toHaveLength(3);
    expect(await lines({ path: "." })).toHaveLength(10);
    expect(await lines({ filePattern: "*.ts" })).toHaveLength(3);
    expect(await lines({ filePattern: "src/*.ts" })).toEqual(["src/b.ts:21", "src/b.ts:25"]);
    expect(await lines({ filePattern: "!*.ts" })).not.toContain("src/b.ts:21");
    expect(await lines({ fileType: "py" })).toEqual(["a.py:2", "a.py:4"]);
    expect(await lines({ path: "[odd] name.md" })).toEqual(["[odd] name.md:1"]);
    expect(await lines({ path: "src/b.ts", filePattern: "*.py" })).toEqual([]);
    expect(await lines({ path: "src/b.ts", fileType: "ts" })).toEqual(["src/b.ts:21", "src/b.ts:25"]);
  });

  it("A search neither counts nor keeps matches of unwanted files", async () => {
    const wants = (path: string) => path.startsWith("src/");
    for (const mode of ["files_with_matches", "count", "content"] as const) {
      const hits = await search({ wants, mode, maxResults: 2 });
      expect(JSON.stringify(hits)).not.toContain("a.py");
      expect(hits.limited).toBe(true);
    }
    expect(await lines({ wants, maxResults: 3 })).toEqual(["src/b.ts:21", "src/b.ts:25", "src/deep/c.ts:1"]);
    expect(await lines({ wants: () => false })).toEqual([]);
  });

  it("A search holds a great many matches", async () => {
    using bulky = GitRepo.create({ bare: true });
    const files = [["many.txt", "needle\n".repeat(160_000)]] as const;
    bulky.importCommits([{ branch: "main", files }]);
    await using opened = await openLocalRange({ repo: bulky.dir, base: "main", head: "main", gitPath });
    await using reading = openWorkspace(opened.place);
    for (const maxResults of [150_000, 1_000_000]) {
      const hits = await reading.search({ ...needle, maxResults }, AbortSignal.timeout(50_000));
      expect(hits).toMatchObject({ matches: { length: Math.min(maxResults, 160_000) } });
    }
  });

  it("A search counts lines and names files", async () => {
    expect(await search({ mode: "count", path: "src" })).toEqual({
      mode: "count",
      counts: [
        { path: "src/b.ts", count: 2 },
        { path: "src/deep/c.ts", count: 1 },
      ],
      limited: false,
      program: expect.objectContaining({ returnCode: 0 }),
    });
    expect(await search({ mode: "files_with_matches", filePattern: "*.py" })).toEqual({
      mode: "files_with_matches",
      paths: ["a.py"],
      limited: false,
      program: expect.objectContaining({ returnCode: 0 }),
    });
  });

  it.each([
    ["a broken pattern", { pattern: "(" }, /unclosed group/],
    ["a newline in the pattern", { pattern: "a\nb" }, /literal/],
    ["a NUL", { pattern: "a\0b" }, /NUL/],
    ["an unknown type", { fileType: "cobol85" }, /unrecognized file type/],
    ["a broken glob", { filePattern: "[" }, /error parsing glob/],
    ["a path that is not in the tree", { path: "stray.txt" }, /no file or folder 'stray.txt'/],
    ["a path that leads out", { path: "../../etc" }, /no file or folder/],
    ["an absolute path", { path: "/etc/passwd" }, /no file or folder/],
    ["the folder of git", { path: ".git/config" }, /no file or folder/],
  ])("A search refuses %s, saying why", async (_, changes, message) => {
    await expect(search(changes)).rejects.toMatchObject({
      code: "usage",
      message: expect.stringMatching(message),
    });
  });

  it("A search ends when it is aborted", async () => {
    await expect(search({}, AbortSignal.abort())).rejects.toMatchObject({ code: "aborted" });
  });

  it("A search of many files answers in order, whatever thread is faster", async () => {
    using many = GitRepo.create();
    const folders = ["a", "a-b", "a.b", "a/b", "aé", "Z", "z/y/x"];
    const paths = Array.from({ length: 5_050 }, (_, at) => `${folders[at % folders.length]}/${at}.txt`);
    many.importCommits([
      { branch: "main", files: [["start", ""]] },
      { branch: "topic", parents: ["main"], files: paths.map((path) => [path, "needle 1\nneedle 2\n"]) },
    ]);
    many.git("checkout", "--quiet", "topic");
    const listed = execFileSync(rgPath, ["--files", "--sort=path", "--null"], { cwd: many.dir });
    const sorted = listed
      .toString("utf8")
      .split("\0")
      .filter((path) => path.endsWith(".txt"));
    await using place = await openLocalRange({ repo: many.dir, base: "main", head: "topic", gitPath });
    for (const one of [place.place, await checkedOut(place.place)]) {
      await using files = openWorkspace(one);
      const pathsOf = async (changes: Partial<SearchQuery>) => {
        const hits = await files.search({ ...needle, ...changes }, AbortSignal.timeout(30_000));
        if (hits.mode === "count") return hits.counts.map(({ path }) => path);
        return hits.mode === "content" ? hits.matches.map(({ path }) => path) : hits.paths;
      };
      expect(sorted).toHaveLength(5_050);
      for (const mode of ["count", "files_with_matches"] as const) {
        expect(await pathsOf({ mode, maxResults: 100_000 })).toEqual(sorted);
        expect(await pathsOf({ mode, maxResults: 77 })).toEqual(sorted.slice(0, 77));
      }
      const twice = sorted.flatMap((path) => [path, path]);
      expect(await pathsOf({ maxResults: 100_000 })).toEqual(twice);
      expect(await pathsOf({ maxResults: 77 })).toEqual(twice.slice(0, 77));
    }
  });
});
