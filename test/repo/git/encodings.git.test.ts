import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseFilePatch } from "../../../src/repo/diff/file-diff.ts";
import { openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import { type LocalRange, openLocalRange } from "../../../src/repo/git/range.ts";
import type { Change, Workspace } from "../../../src/repo/git/workspace.ts";
import { type Content, GitRepo, gitPath } from "../../support/git-repo.ts";
import { needle } from "../../support/needle.ts";

const latin1 = (text: string) => Buffer.from(text, "latin1");
const mixed = Buffer.concat([
  Buffer.from("grün\n"),
  latin1("\xfcber\n"),
  Buffer.from("日本 \ufeff\r\n"),
  latin1("\xff"),
]);
const numbered = (count: number) => Array.from({ length: count }, (_, at) => `line ${at}\n`).join("");

const before: [string, Content][] = [
  ["converted.c", latin1("int gr\xfcn;\nint x;\n")],
  ["far.c", Buffer.concat([Buffer.from("grün\n"), Buffer.from(numbered(30)), latin1("\xfc\n")])],
  ["mixed.c", "plain\n"],
];
const after: [string, Content][] = [
  ["converted.c", "int grün;\nint x;\n"],
  ["far.c", Buffer.concat([Buffer.from("grüner\n"), Buffer.from(numbered(30)), latin1("\xfc\n")])],
  ["mixed.c", mixed],
  ["new.c", mixed],
];

let repo: GitRepo;
let range: LocalRange;
let workspace: Workspace & AsyncDisposable;

beforeAll(async () => {
  repo = GitRepo.create({ bare: true });
  repo.importCommits([
    { branch: "main", files: before },
    { branch: "topic", parents: ["main"], files: after, message: "Grün" },
  ]);
  range = await openLocalRange({ repo: repo.dir, base: "main", head: "topic", gitPath });
  workspace = openWorkspace(range.place);
});
afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
  await range.dispose();
  repo.dispose();
});

const changeOf = async (path: string): Promise<Change> =>
  (await workspace.changes()).find((one) => one.path === path)!;
/** The lines of a blob, the last one's end left out. */
const linesOf = async (oid: string) => (await workspace.readBlob(oid)).text.split("\n");

describe("text that is not all UTF-8", () => {
  it("Text that is not all UTF-8 is decoded line by line, and called Latin-1", async () => {
    const { newOid, oldOid } = await changeOf("mixed.c");
    expect(await workspace.readBlob(newOid)).toMatchObject({
      text: "grün\nüber\n日本 \ufeff\r\nÿ",
      encoding: "latin1",
    });
    expect(await workspace.readBlob(oldOid)).toMatchObject({ text: "plain\n", encoding: "utf8" });
  });

  it("Text that is not all UTF-8 reads the same in a patch, on either side, as in the file", async () => {
    for (const change of await workspace.changes()) {
      const sides = { old: [] as string[], new: await linesOf(change.newOid) };
      if (change.type !== "added") sides.old = await linesOf(change.oldOid);
      for (const width of [0, 3, 50]) {
        const { hunks } = parseFilePatch(await workspace.patch(change, width), change.path, null);
        expect(hunks.length).toBeGreaterThan(0);
        for (const line of hunks.flatMap((hunk) => hunk.lines)) {
          if (line.kind !== "removed") expect(line.text).toBe(sides.new[line.newLine - 1]);
          if (line.kind !== "added") expect(line.text).toBe(sides.old[line.oldLine - 1]);
        }
      }
    }
  });

  it("A conversion to UTF-8 is shown as a change", async () => {
    const patch = await workspace.patch(await changeOf("converted.c"), 3);
    expect(patch).toContain("-int grün;\n+int grün;\n int x;\n");
  });

  it("Text that is not all UTF-8 reads the same in comparisons and searches", async () => {
    const [old, now] = [await workspace.tree("base"), await workspace.tree("head")].map(
      (tree) => tree.get("converted.c")!,
    );
    expect(await workspace.diffBlobs(old!, now!, 0)).toContain("-int grün;\n+int grün;\n");
    const query = { ...needle, pattern: "", path: "mixed.c" };
    const hits = await workspace.search(query, AbortSignal.timeout(20_000));
    const texts = hits.mode === "content" ? hits.matches.map((one) => one.text) : [];
    expect(texts).toEqual(await linesOf((await changeOf("mixed.c")).newOid));
  });
});
