import { isUtf8 } from "node:buffer";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeName, isWritable, nameBytes, quotePath } from "../../../src/repo/git/names.ts";
import { openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import { type LocalRange, openLocalRange } from "../../../src/repo/git/range.ts";
import type { SearchQuery, Workspace } from "../../../src/repo/git/workspace.ts";
import { GitRepo, gitPath } from "../../support/git-repo.ts";
import { needle } from "../../support/needle.ts";

const latin1 = (text: string) => Buffer.from(text, "latin1");
const name = fc.oneof(
  fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
  fc
    .array(fc.constantFrom("\\", "1", "3", "4", "\\351", "\\134", "/", "é", "日", "\ud83d\ude00", "\xe9"), {
      maxLength: 8,
    })
    .chain((parts) => fc.constantFrom(Buffer.from(parts.join("")), latin1(parts.join("")))),
);

describe("a name's key", () => {
  it("A name's key gives the name back, whatever bytes it has", () => {
    fc.assert(
      fc.property(name, (bytes) => {
        expect(nameBytes(decodeName(bytes))).toEqual(bytes);
      }),
    );
  });

  it("A name's key is the name itself where that is UTF-8 and holds no escape", () => {
    const text = fc.string({ unit: "grapheme" }).filter((one) => !/\\\d{3}/.test(one));
    fc.assert(
      fc.property(text, (one) => {
        expect(decodeName(Buffer.from(one))).toBe(one);
      }),
    );
  });

  it("A name's key has the name's folders", () => {
    const joined = fc
      .tuple(name, name)
      .map(([left, right]) => [left, right, Buffer.concat([left, Buffer.from("/"), right])]);
    fc.assert(
      fc.property(joined, ([left, right, whole]) => {
        expect(decodeName(whole!)).toBe(`${decodeName(left!)}/${decodeName(right!)}`);
      }),
    );
  });

  it.each([
    ["é.py", Buffer.from("é.py")],
    ["\\351.py", latin1("\xe9.py")],
    ["\\134351.py", Buffer.from("\\351.py")],
    ["é/\\351\\200", Buffer.concat([Buffer.from("é/"), latin1("\xe9\x80")])],
    ["back\\slash\\1", Buffer.from("back\\slash\\1")],
    ["\\355\\240\\200", latin1("\xed\xa0\x80")],
  ])("A name's key is %s", (key, bytes) => expect(decodeName(bytes)).toBe(key));

  it("A name's key is quoted as git quotes the name, except bytes beyond ASCII", () => {
    using repo = GitRepo.create({ bare: true });
    for (const bytes of [
      latin1("a\xe9"),
      Buffer.from("\\351"),
      Buffer.from('"\t\u007fé'),
      Buffer.from("a b"),
    ]) {
      repo.importCommits([{ branch: "main", parents: [], files: [[bytes, ""]] }]);
      const listed = repo.git("-c", `core.quotePath=${!isUtf8(bytes)}`, "ls-tree", "--name-only", "main");
      expect(quotePath(decodeName(bytes))).toBe(listed);
    }
  });
});

describe("paths that are not UTF-8", () => {
  const names = [latin1("dir\xe9/\xe9.py"), Buffer.from("é.py"), Buffer.from("\\351.py"), latin1("\xe9.py")];
  const keys = ["\\134351.py", "dir\\351/\\351.py", "\\351.py", "é.py"];
  let repo: GitRepo;
  let range: LocalRange;
  let workspace: Workspace & AsyncDisposable;

  beforeAll(async () => {
    repo = GitRepo.create();
    repo.importCommits([
      {
        branch: "main",
        files: [
          [latin1("old\xe9"), "1\n2\n3\n4\n"],
          [latin1("gone\xe9"), "x\n"],
        ],
      },
      {
        branch: "topic",
        parents: ["main"],
        files: [
          ...names.map((one, at) => [one, `needle ${at}\n`] as const),
          [latin1("old\xe9"), null],
          [latin1("gone\xe9"), null],
          [latin1("new\xe9"), "1\n2\n3\n4\nfive\n"],
          [latin1("bin\xe9"), Buffer.from([0, 1])],
        ],
      },
    ]);
    range = await openLocalRange({ repo: repo.dir, base: "main", head: "topic", gitPath });
    workspace = openWorkspace(range.place);
  });
  afterAll(async () => {
    await workspace[Symbol.asyncDispose]();
    await range.dispose();
    repo.dispose();
  });

  it("Paths that are not UTF-8 are keys of their own in changes, trees and patches", async () => {
    const changes = await workspace.changes();
    const all = ["bin\\351", ...keys.slice(0, 2), "gone\\351", "new\\351", ...keys.slice(2)];
    expect(changes.map((one) => one.path).toSorted()).toEqual(all.toSorted());
    expect(changes.find((one) => one.type === "renamed")?.oldPath).toBe("old\\351");
    const tree = await workspace.tree("head");
    for (const change of changes.filter((one) => keys.includes(one.path))) {
      const { text } = await workspace.readBlob(tree.get(change.path)!.oid);
      expect(await workspace.patch(change, 3)).toContain(`\n+${text}`);
    }
  });

  it("Paths that are not UTF-8 are in patches in a form that git applies", async () => {
    repo.git("read-tree", "main");
    for (const change of await workspace.changes()) {
      const patch = await workspace.patch(change, 3);
      expect(patch.split("\n")[0]).toBe(
        `diff --git ${quotePath(`a/${change.oldPath ?? change.path}`)} ${quotePath(`b/${change.path}`)}`,
      );
      if (!change.path.startsWith("bin")) repo.bytes(["apply", "--cached", "-"], patch);
    }
    const left = repo.bytes(["diff-index", "--cached", "--name-only", "-z", "topic"]);
    expect(left).toEqual(latin1("bin\xe9\0"));
  });

  const found = async (over: Partial<SearchQuery>) => {
    const hits = await workspace.search({ ...needle, ...over }, AbortSignal.timeout(20_000));
    if (hits.mode === "content") return hits.matches.map((one) => one.path).toSorted();
    return hits.mode === "count" ? hits.counts.map((one) => one.path).toSorted() : hits.paths.toSorted();
  };

  it("Paths that are not UTF-8 are found by a search in every mode, also where it stops in such a file", async () => {
    for (const mode of ["content", "count", "files_with_matches"] as const)
      expect(await found({ mode })).toEqual(keys.toSorted());
    expect(await found({ maxResults: 1, pattern: "needle 0" })).toEqual(["dir\\351/\\351.py"]);
  });

  it("Paths that are not UTF-8 are searched below, alone and by glob", async () => {
    for (const path of keys) {
      expect(await found({ path })).toEqual([path]);
      expect(await found({ path, filePattern: "*.py" })).toEqual([path]);
    }
    expect(await found({ path: "dir\\351" })).toEqual(["dir\\351/\\351.py"]);
    expect(await found({ path: "dir\\351", filePattern: "*.ts" })).toEqual([]);
  });
});

const deepPath = `${"d/".repeat(1_500)}f.js`;

describe("a name that no disk takes", () => {
  it.each([
    ["longer than 255 bytes", "n".repeat(256)],
    ["longer than 255 bytes in UTF-8", "é".repeat(128)],
    ["in too deep a folder", deepPath],
    ["in too long a path", `${"d".repeat(200)}/`.repeat(20)],
    ["into .git", "a/.git/config"],
  ])("A disk takes no file named %s", (_, path) => expect(isWritable(path)).toBe(false));

  it.each(["a", "a/b.ts", "n".repeat(255), `${"d/".repeat(900)}f`, "é".repeat(127)])(
    "A disk takes a file named %s",
    (path) => expect(isWritable(path)).toBe(true),
  );
});
