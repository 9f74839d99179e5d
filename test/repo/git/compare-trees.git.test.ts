import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { requireComparable } from "../../../src/repo/git/compare-trees.ts";
import { GitRepo, gitPath, TempFolder } from "../../support/git-repo.ts";
import { buildRepository } from "../../support/hostile-repository.ts";
import { repositorySpec } from "../../support/repo-arbitrary.ts";

let home: TempFolder;
beforeAll(() => {
  home = new TempFolder("home");
});
afterAll(() => home.dispose());

const placeOf = ({ dir }: GitRepo) => ({ git: { gitPath, emptyHome: home.path }, gitDir: dir });

/** Requires that exactly as many differing files or folders are counted as git finds. */
async function countsAsGit(repo: GitRepo, from: string, to: string): Promise<number> {
  const output = repo.bytes(["diff-tree", "-r", "-t", "-z", "--raw", "--no-renames", from, to]);
  const records = output
    .toString("latin1")
    .split("\0")
    .filter((_, at) => at % 2 === 0);
  const found = records.filter((one) => one !== "");
  const folders = found.filter((one) => / ?:?040000 /.test(one)).length;
  const most = Math.max(folders, found.length - folders);
  await requireComparable(placeOf(repo), [[from, to]], most);
  if (most === 0) return 0;
  const fewer = requireComparable(placeOf(repo), [[from, to]], most - 1);
  await expect(fewer, `${from} ${to}`).rejects.toMatchObject({ code: "too_large" });
  return most;
}

describe("the differences of two commits", () => {
  it("The differences of two commits are counted as git finds them", async () => {
    let counted = 0;
    const claim = fc.asyncProperty(repositorySpec, async (spec) => {
      using made = buildRepository(spec);
      const { base, head, mergeBase } = made.shas;
      for (const [from, to] of [
        [base, head],
        [mergeBase, head],
        [head, base],
      ] as const)
        counted += await countsAsGit(made.repo, from, to);
    });
    await fc.assert(claim, { numRuns: process.env.HUNKWISE_LONG === "1" ? 300 : 6 });
    expect(counted).toBeGreaterThan(3);
  });

  it("The differences are counted as in git, also in unsorted trees and with names twice", async () => {
    using repo = GitRepo.create({ bare: true });
    const write = (type: string, content: Buffer) =>
      repo
        .bytes(["hash-object", "-w", "--literally", "-t", type, "--stdin"], content)
        .toString("latin1")
        .trim();
    const blob = write("blob", Buffer.from("1\n"));
    const tree = (...entries: [mode: string, name: string, oid: string][]) =>
      write(
        "tree",
        Buffer.concat(
          entries.flatMap(([mode, name, oid]) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(oid, "hex")]),
        ),
      );
    const folder = tree(["100644", "x", blob], ["100644", "y", blob]);
    const [a, b, c] = [
      ["40000", "a", folder],
      ["40000", "b", folder],
      ["100644", "a", blob],
    ] as [string, string, string][];
    const trees = [tree(a!, b!), tree(b!, a!), tree(a!, a!, a!), tree(c!, a!), tree(a!, c!, b!), tree()];
    const commits = trees.map((one) => repo.git("commit-tree", one, "-m", "x"));
    let counted = 0;
    for (const from of commits) for (const to of commits) counted += await countsAsGit(repo, from, to);
    expect(counted).toBeGreaterThan(60);
  });

  it("The differences are left to git where an object is missing", async () => {
    using repo = GitRepo.create({ bare: true });
    const [from = "", to = ""] = repo.importCommits([
      { branch: "main", files: [["a/b", "1\n"]] },
      { branch: "main", files: [["a/b", "2\n"]] },
    ]);
    const counted = (other: string) => requireComparable(placeOf(repo), [[from, other]], 0);
    await expect(counted("1".repeat(40))).resolves.toBeUndefined();
    await expect(counted(to)).rejects.toMatchObject({ code: "too_large" });
  });
});
