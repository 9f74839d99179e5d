import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openLocalRange } from "../../../src/repo/git/range.ts";
import { runGit } from "../../../src/repo/git/run-git.ts";
import { GitRepo, gitPath } from "../../support/git-repo.ts";

/** The trees of both ends of what is staged. */
async function treesOf(repo: GitRepo, indexFile = join(repo.dir, ".git/index")) {
  await using range = await openLocalRange({
    repo: repo.dir,
    base: "HEAD",
    head: "HEAD",
    scope: "staged",
    indexFile,
    gitPath,
  });
  const { place } = range;
  const treeOf = async (sha: string) => {
    const command = { git: place, gitDir: place.gitDir, what: "rev-parse" };
    return (await runGit({ ...command, args: ["rev-parse", `${sha}^{tree}`] })).stdout.toString().trim();
  };
  return { base: await treeOf(place.shas.base), head: await treeOf(place.shas.head), names: range.names };
}

/** A repository with a commit, a staged change, a staged file, and another change that is not staged. */
function staged(objectFormat: "sha1" | "sha256" = "sha1"): GitRepo {
  const repo = GitRepo.create({ objectFormat });
  repo.commit("Start", { "a.txt": "1\n", "lib/b.txt": "1\n", "docs/c.txt": "1\n" });
  repo.write({ "a.txt": "2\n", "new.txt": "1\n" }).git("add", ".");
  repo.write({ "a.txt": "3\n" });
  return repo;
}

describe("a staged capture", () => {
  const kinds: [string, () => GitRepo][] = [
    ["as usual", staged],
    ["in a repository with SHA-256", () => staged("sha256")],
    [
      "in an index that is split",
      () => {
        const repo = staged();
        repo.git("update-index", "--split-index");
        return repo;
      },
    ],
    [
      "in a sparse index",
      () => {
        const repo = staged();
        repo.git("checkout", "--quiet", "--", "a.txt");
        repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "lib");
        return repo;
      },
    ],
    [
      "in an index in another format, with flags that hide changes",
      () => {
        const repo = staged();
        repo.git("update-index", "--index-version", "4", "--assume-unchanged", "a.txt");
        return repo;
      },
    ],
  ];
  it.each(kinds)("A staged capture is the tree that git would commit: %s", async (_, make) => {
    using repo = make();
    const state = () => [repo.git("count-objects", "-v"), readFileSync(join(repo.dir, ".git/index"), "hex")];
    const before = state();
    const { base, head, names } = await treesOf(repo);
    expect(state()).toEqual(before);
    expect(head).toBe(repo.git("write-tree"));
    expect(base).toBe(repo.git("rev-parse", "HEAD^{tree}"));
    expect(names).toEqual({ base: "HEAD", head: "index" });
  });

  it("A staged capture before the first commit is compared with nothing", async () => {
    using repo = GitRepo.create();
    repo.write({ "a.txt": "1\n" }).git("add", ".");
    const { base, head } = await treesOf(repo);
    expect(head).toBe(repo.git("write-tree"));
    expect(base).toBe("4b825dc642cb6eb9a060e54bf8d69288fbee4904");
  });

  it("A staged capture reads another index, as git gives one to a hook", async () => {
    using repo = staged();
    const other = join(repo.dir, ".git/other");
    copyFileSync(join(repo.dir, ".git/index"), other);
    repo.git("rm", "--quiet", "--cached", "new.txt");
    const { head } = await treesOf(repo, other);
    expect(head).not.toBe(repo.git("write-tree"));
    repo.git("add", "new.txt");
    expect(head).toBe(repo.git("write-tree"));
  });
});
