import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { attributeValue, type LinguistAttributes } from "../../../src/repo/diff/origin.ts";
import { decodeName, nameBytes } from "../../../src/repo/git/names.ts";
import {
  baseAttributes,
  MAX_ATTRIBUTES_DEPTH,
  openWorkspace,
} from "../../../src/repo/git/object-workspace.ts";
import { openLocalRange } from "../../../src/repo/git/range.ts";
import { HARDENED_ATTRIBUTES } from "../../../src/repo/git/scratch.ts";
import { type Content, GitRepo, gitPath, TempFolder } from "../../support/git-repo.ts";
import { PullRequestServer } from "../../support/pull-request-server.ts";

type Files = [string | Buffer, Content | null][];

const long = process.env.HUNKWISE_LONG === "1";
const nothing: LinguistAttributes = { generated: null, vendored: null };
const generated: LinguistAttributes = { generated: true, vendored: null };

/** A repository whose base and head have these files, opened as the command line opens it. */
async function rangeOf(base: Files, head: Files = [["head.txt", "head\n"]]) {
  const repo = GitRepo.create({ bare: true });
  repo.importCommits([
    { branch: "main", files: [["root.txt", "root\n"], ...base] },
    { branch: "topic", parents: ["main"], files: head },
  ]);
  const range = await openLocalRange({ repo: repo.dir, base: "main", head: "topic", gitPath });
  return {
    repo,
    place: range.place,
    async [Symbol.asyncDispose]() {
      await range.dispose();
      repo.dispose();
    },
  };
}

async function ask(base: Files, paths: readonly string[], head?: Files) {
  await using range = await rangeOf(base, head);
  return Object.fromEntries(await baseAttributes(range.place, paths));
}

/** The temporary folders of this process; others run beside it. */
function ownTempFolders(): string[] {
  const names = readdirSync(tmpdir()).filter((name) => name.startsWith("hunkwise-range-"));
  return names.filter((name) => {
    try {
      return JSON.parse(readFileSync(join(tmpdir(), name, "owner.json"), "utf8")).pid === process.pid;
    } catch {
      return false;
    }
  });
}

describe("the base's attributes", () => {
  it("The base's attributes are those of linguist, in every way to write them", async () => {
    const lines = [
      "a linguist-generated",
      "b -linguist-generated",
      "c linguist-generated=true",
      "d linguist-generated=false",
      "e linguist-generated",
      "e !linguist-generated",
      "f linguist-vendored linguist-generated=yes",
      "g linguist-documentation linguist-detectable",
      "[attr]made linguist-generated -linguist-vendored",
      "h made",
    ];
    const answers = await ask([[".gitattributes", `${lines.join("\n")}\n`]], [..."abcdefghi"]);
    expect(answers).toEqual({
      a: generated,
      b: { generated: false, vendored: null },
      c: generated,
      d: { generated: false, vendored: null },
      e: nothing,
      f: { generated: true, vendored: true },
      g: nothing,
      h: { generated: true, vendored: false },
      i: nothing,
    });
  });

  it("The base's attributes come from every folder above a path, the nearest one last", async () => {
    const answers = await ask(
      [
        [".gitattributes", "*.js linguist-generated\nmacro.txt made\n"],
        ["web/.gitattributes", "*.js -linguist-generated\n[attr]made linguist-generated\n"],
        ["web/lib/.gitattributes", "/a.js linguist-vendored\n"],
        ["other/.gitattributes", "*.js !linguist-generated\n"],
      ],
      ["a.js", "web/a.js", "web/lib/a.js", "web/lib/deep/er/a.js", "other/a.js", "macro.txt"],
    );
    expect(answers).toEqual({
      "a.js": generated,
      "web/a.js": { generated: false, vendored: null },
      "web/lib/a.js": { generated: false, vendored: true },
      "web/lib/deep/er/a.js": { generated: false, vendored: null },
      "other/a.js": nothing,
      "macro.txt": nothing,
    });
  });

  it("The base's attributes do not depend on the head's", async () => {
    const base: Files = [[".gitattributes", "gen/** linguist-generated\nours/** -linguist-generated\n"]];
    const paths = ["src/a.ts", "gen/a.ts", "ours/a.ts"];
    const expected = {
      "src/a.ts": nothing,
      "gen/a.ts": generated,
      "ours/a.ts": { generated: false, vendored: null },
    };
    const heads: Files[] = [
      [[".gitattributes", "src/** linguist-generated\nours/** linguist-generated\n"]],
      [["src/.gitattributes", "* linguist-generated linguist-vendored\n"]],
      [[".gitattributes", null]],
      [[".gitattributes", { mode: "120000", data: "elsewhere" }]],
      [[".gitattributes/a", "* linguist-generated\n"]],
    ];
    for (const head of heads) expect(await ask(base, paths, head)).toEqual(expected);
    expect(await ask([], paths, heads[0])).toEqual({
      "src/a.ts": nothing,
      "gen/a.ts": nothing,
      "ours/a.ts": nothing,
    });
  });

  it("The base's attributes hold for names with any byte", async () => {
    const keys = [
      "a\nb/x\n.js",
      "café/é",
      "\\351/\\351.js",
      "\\134351",
      '"q"\t',
      "a b ",
      "-dash",
      ":(glob)x",
      "!no",
    ];
    for (const key of keys) expect(decodeName(nameBytes(key))).toBe(key);
    const files: Files = keys
      .filter((key) => key.includes("/"))
      .map((key) => [nameBytes(`${key.slice(0, key.indexOf("/"))}/.gitattributes`), "* linguist-vendored\n"]);
    const answers = await ask([...files, [".gitattributes", "* linguist-generated\n"]], keys);
    expect(answers).toEqual(
      Object.fromEntries(
        keys.map((key) => [key, { generated: true, vendored: key.includes("/") ? true : null }]),
      ),
    );
  });

  it("The attributes that keep a checkout safe do not outrank the base's", async () => {
    await using range = await rangeOf([[".gitattributes", "* linguist-generated -diff text\n"]]);
    expect(HARDENED_ATTRIBUTES).not.toContain("linguist");
    expect(Object.fromEntries(await baseAttributes(range.place, ["a.ts"]))).toEqual({ "a.ts": generated });
    writeFileSync(join(range.place.gitDir, "info", "attributes"), "* !linguist-generated\n");
    expect(Object.fromEntries(await baseAttributes(range.place, ["a.ts"]))).toEqual({ "a.ts": nothing });
  });

  it("The base's attributes come from no folder, submodule or link of that name", async () => {
    const answers = await ask(
      [
        [".gitattributes", "* linguist-generated\n"],
        ["a/.gitattributes/x", "* -linguist-generated\n"],
        ["b/.gitattributes", { mode: "160000", data: "1".repeat(40) }],
        ["c", "a file\n"],
        ["d/.gitattributes", { mode: "120000", data: "../rules" }],
        ["rules", "* -linguist-generated\n"],
      ],
      ["a/x.js", "b/x.js", "c/x.js", "d/x.js"],
    );
    expect(answers).toEqual(Object.fromEntries(Object.keys(answers).map((path) => [path, generated])));
    expect(Object.keys(answers)).toHaveLength(4);
  });

  it("The base's attributes are read for 3,000 paths and from files of megabytes", async () => {
    const folders = Array.from({ length: 300 }, (_, at) => `packages/p${at}`);
    const many = Array.from({ length: 60_000 }, (_, at) => `/generated-${at}.ts linguist-generated`).join(
      "\n",
    );
    const paths = folders.flatMap((folder) => Array.from({ length: 10 }, (_, at) => `${folder}/f${at}.ts`));
    const answers = await ask(
      [
        ["big/.gitattributes", `${many}\n`],
        ...folders.map((folder): [string, string] => [
          `${folder}/.gitattributes`,
          "f[0-4].ts linguist-generated\n",
        ]),
      ],
      [...paths, "big/generated-59999.ts", "big/other.ts"],
    );
    expect(Object.keys(answers)).toHaveLength(3_002);
    expect(Object.values(answers).filter((one) => one.generated)).toHaveLength(1_501);
    expect(answers["big/other.ts"]).toEqual(nothing);
  });

  it("The base's attributes leave out paths that are too deep for its rules", async () => {
    const slow = [
      [".gitattributes", `${"**/a/".repeat(12)}b linguist-generated\n* linguist-vendored\n`],
    ] as Files;
    const [deep, edge] = [
      `${"a/".repeat(MAX_ATTRIBUTES_DEPTH + 1)}c`,
      `${"x/".repeat(MAX_ATTRIBUTES_DEPTH)}c`,
    ];
    const answers = await ask(slow, [deep, `${"a/".repeat(2_000)}c`, edge]);
    expect(answers).toEqual({ [edge]: { generated: null, vendored: true } });
    expect(await ask([], [deep])).toEqual({ [deep]: nothing });
  });

  it("The base's attributes are given up if they are too slow, and nothing is left behind", async () => {
    await using range = await rangeOf([[".gitattributes", `${"**/a/".repeat(12)}b linguist-generated\n`]]);
    const before = ownTempFolders();
    const asked = baseAttributes(range.place, [`${"a/".repeat(MAX_ATTRIBUTES_DEPTH)}c`], 300);
    await expect(asked).rejects.toMatchObject({ code: "git_timeout" });
    expect(ownTempFolders()).toEqual(before);
  });

  it("The base's attributes are those of a repository with SHA-256 names", async () => {
    using repo = GitRepo.create({ objectFormat: "sha256" });
    repo.commit("base", { ".gitattributes": "*.js linguist-generated\n" });
    repo.branch("topic").commit("head", { ".gitattributes": "" });
    await using range = await openLocalRange({ repo: repo.dir, base: "main", head: "topic", gitPath });
    expect(Object.fromEntries(await baseAttributes(range.place, ["a.js"]))).toEqual({ "a.js": generated });
  });
});

describe("the base's attributes in a partial clone", () => {
  it("The base's attributes are present in each kind of checkout without the server", async () => {
    await using server = await PullRequestServer.start();
    const { head } = server.publish();
    const mirror = await server.mirror();
    for (const rule of ["linguist-generated", "-linguist-vendored"]) {
      server.repo.importCommits([
        {
          branch: "main",
          files: [
            [".gitattributes", `new/* ${rule}\n`],
            ["new/.gitattributes", "*.txt text\n"],
          ],
        },
      ]);
      const base = server.repo.sha("main");
      const { place, release } = await server.checkout({ head, base }, { mirror });
      if (rule.startsWith("-")) await server.http.close();
      await using workspace = openWorkspace(place);
      const answers = await workspace.linguistAttributes(["old.txt", "new/file.txt"]);
      expect(Object.fromEntries(answers)).toEqual({
        "old.txt": nothing,
        "new/file.txt": rule.startsWith("-") ? { generated: null, vendored: false } : generated,
      });
      await release();
    }
  });
});

describe("the base's attributes, with git in a work tree of the base as the oracle", () => {
  const name = fc.constantFrom("a", "b", "gen", "x.ts", "é", "sp ace", "new\nline", "[x]", "back\\slash");
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
  const pattern = fc.oneof(
    fc.constantFrom("*", "**"),
    name.filter((one) => !/[\n ]/.test(one)),
    fc.constantFrom("*", "*.ts", "/gen", "gen/**", "**/a", "a/**/b", "/*", "gen/", "[ab]", "?", "!a", "#x"),
    fc.constantFrom('"sp ace"', '"new\\nline"', "\\[x]", "/a/b", "é/*", "**/x.ts"),
  );
  const state = fc.constantFrom(
    ...["linguist-generated", "-linguist-generated", "!linguist-generated", "linguist-generated=false"],
    ...["linguist-vendored", "-linguist-vendored", "linguist-vendored=1", "made", "-made", "text -diff"],
  );
  const line = fc.oneof(
    { weight: 8, arbitrary: fc.tuple(pattern, state).map((parts) => parts.join(" ")) },
    { weight: 1, arbitrary: fc.constantFrom("[attr]made linguist-generated linguist-vendored", "", "a") },
  );
  const rules = fc.array(line, { minLength: 1, maxLength: 5 }).map((lines) => `${lines.join("\n")}\n`);
  /** Some paths, and rules in the root and in folders above them. */
  const sample = fc.uniqueArray(path, { minLength: 1, maxLength: 8 }).chain((paths) => {
    const above = paths.flatMap((one) => {
      const parts = one.split("/").slice(0, -1);
      return parts.map((_, at) => `${parts.slice(0, at + 1).join("/")}/`);
    });
    const folder = fc.constantFrom("", ...above);
    return fc.record({
      paths: fc.constant(paths),
      files: fc.array(fc.tuple(folder, rules), { minLength: 1, maxLength: 4 }),
    });
  });

  it("The base's attributes agree with git in a work tree of the base", {
    timeout: long ? 1_800_000 : 300_000,
  }, async () => {
    using repo = GitRepo.create({ bare: true });
    using home = new TempFolder("home");
    let told = 0;
    let runs = 0;
    const property = fc.asyncProperty(sample, async ({ paths, files }) => {
      const base = files.map(([folder, text]): [string, string] => [`${folder}.gitattributes`, text]);
      const [sha = ""] = repo.importCommits([{ branch: `run${runs++}`, parents: [], files: base }]);
      const shas = { head: sha, base: sha, mergeBase: sha };
      const place = { gitPath, gitDir: repo.dir, root: repo.dir, emptyHome: home.path, shas };
      using folder = new TempFolder("oracle");
      const oracle = inWorkTree(repo, sha, folder.path, paths);
      expect(Object.fromEntries(await baseAttributes(place, paths))).toEqual(oracle);
      told += Object.values(oracle).filter((one) => one.generated !== null || one.vendored !== null).length;
    });
    await fc.assert(property, { numRuns: long ? 1_000 : 40, ...(long ? {} : { seed: 20_260_102 }) });
    expect(told).toBeGreaterThan(40);
  });

  /** What `git check-attr` says in a work tree that holds the base. */
  function inWorkTree(repo: GitRepo, base: string, folder: string, paths: readonly string[]) {
    const place = [`--git-dir=${repo.dir}`, `--work-tree=${folder}`];
    // git would fall back on what an index of an earlier run holds.
    rmSync(join(repo.dir, "index"), { force: true });
    GitRepo.at(folder).git(...place, "-c", "core.bare=false", "checkout", "--force", base, "--", ".");
    const input = paths.map((path) => `${path}\0`).join("");
    const asked = ["check-attr", "--stdin", "-z", "linguist-generated", "linguist-vendored"];
    const output = GitRepo.at(folder).bytes([...place, "-c", "core.bare=false", ...asked], input);
    const fields = output.toString("utf8").split("\0");
    return Object.fromEntries(
      paths.map((path, at) => {
        const [named, , one = "", , , two = ""] = fields.slice(6 * at);
        expect(named).toBe(path);
        return [path, { generated: attributeValue(one), vendored: attributeValue(two) }];
      }),
    );
  }
});
