import fc from "fast-check";
import { expect, it } from "vitest";
import { openObjects } from "../../../src/repo/git/object-workspace.ts";
import { openOverlay } from "../../../src/repo/git/overlay-workspace.ts";
import { openLocalRange } from "../../../src/repo/git/range.ts";
import type { Change, Shas, TreeEntry } from "../../../src/repo/git/workspace.ts";
import { type GitRepo, gitPath } from "../../support/git-repo.ts";
import { buildRepository } from "../../support/hostile-repository.ts";
import { repositorySpec } from "../../support/repo-arbitrary.ts";
import { editToBe } from "./edit-to-be.ts";

const long = process.env.HUNKWISE_LONG === "1";

/** Modes, names and sides of a change in git's raw format, one record each. */
const raw = (change: Change) =>
  `:${change.oldMode} ${change.newMode} ${change.oldOid} ${change.newOid} ${change.type === "type_changed" ? "T" : change.type.charAt(0).toUpperCase()} ${change.path}`;

const isPlain = (entry: TreeEntry | undefined) => entry === undefined || entry.mode.startsWith("100");

it("An overlay edited to equal a commit has git's diff to the merge base, and patches that make that commit", {
  timeout: long ? 1_800_000 : 300_000,
}, async () => {
  let compared = 0;
  const claim = fc.asyncProperty(repositorySpec, async (spec) => {
    using made = buildRepository(spec);
    await using range = await openLocalRange({ repo: made.repo.dir, base: "main", head: "topic", gitPath });
    const { shas } = range.place;
    await using wanted = openObjects(range.place);
    await using below = openObjects({ ...range.place, shas: { ...shas, head: shas.mergeBase } });
    const [head, before] = [await wanted.tree("head"), await below.tree("head")];
    const paths = [...head.keys(), ...before.keys()];
    // Edits cannot write links and submodules.
    if (!paths.every((path) => isPlain(head.get(path)) && isPlain(before.get(path)))) return;
    await using overlay = openOverlay(below, range.place);
    await editToBe(overlay, wanted);
    expect([...(await overlay.tree("head")).values()]).toEqual([...head.values()]);

    const changes = await overlay.changes();
    const args = ["diff", "--raw", "-z", "-M", "-l1000", "--no-abbrev", shas.mergeBase, shas.head];
    expect(changes.map(raw)).toEqual(recordsOf(made.repo.bytes(args).toString("utf8")));

    // A text patch can hold only UTF-8.
    const sides = changes
      .flatMap(({ oldOid, newOid }) => [oldOid, newOid])
      .filter((oid) => !/^0+$/.test(oid));
    const files = await Promise.all(sides.map((oid) => overlay.readBlob(oid)));
    if (!files.every(({ binary, encoding }) => !binary && encoding === "utf8")) return;
    for (const contextLines of [3, 0]) {
      const patches = await Promise.all(changes.map((change) => overlay.patch(change, contextLines)));
      const patch = patches.join("");
      expect(patch).toBe(patchOf(made.repo, shas, contextLines));
      const applied = treeWith(made.repo, shas.mergeBase, patch);
      // Where a folder's name ends with a space, git refuses what it prints itself of an empty file.
      if (applied === null && changes.some(({ path }) => path.includes(" /"))) continue;
      expect(applied).toBe(made.repo.git("rev-parse", `${shas.head}^{tree}`));
    }
    compared += 1;
  });
  await fc.assert(claim, { numRuns: long ? 300 : 9, ...(long ? {} : { seed: 20_261_124 }) });
  expect(compared).toBeGreaterThan(long ? 60 : 1);
});

/** For a rename, git prints the similarity, the old name and the new one. */
function recordsOf(raw: string): string[] {
  const records: string[] = [];
  const fields = raw.split("\0").slice(0, -1);
  for (let field = fields.shift(); field !== undefined; field = fields.shift()) {
    if (/ R\d+$/.test(field)) fields.shift();
    records.push(`${field.replace(/ R\d+$/, " R")} ${fields.shift()}`);
  }
  return records;
}

/** The whole patch as git prints it. */
function patchOf(repo: GitRepo, { mergeBase, head }: Shas, contextLines: number): string {
  const args = ["-c", "core.quotePath=false", "diff", `-U${contextLines}`, "-M", "-l1000", mergeBase, head];
  return repo.bytes(args).toString("utf8");
}

/** The tree that results from applying a patch to a commit with git; null if git refuses it. */
function treeWith(repo: GitRepo, commit: string, patch: string): string | null {
  repo.git("read-tree", commit);
  try {
    if (patch !== "") repo.bytes(["apply", "--cached", "--unidiff-zero", "--whitespace=nowarn"], patch);
  } catch {
    return null;
  }
  return repo.git("write-tree");
}
