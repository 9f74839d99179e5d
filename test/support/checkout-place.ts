import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { requireGit } from "../../src/git/run-git.ts";
import type { CheckoutPlace } from "../../src/git/workspace.ts";
import { type GitRepo, TempFolder } from "./git-repo.ts";

/** A test repository as a review process takes it: the work tree itself serves as the checkout of its head. */
export async function placeOf(
  repo: GitRepo,
  base: string,
  head = "HEAD",
): Promise<Disposable & { place: CheckoutPlace }> {
  const git = await requireGit({ searchPath: process.env.PATH });
  const folder = new TempFolder("home");
  const emptyHome = join(folder.path, "home");
  mkdirSync(emptyHome);
  const sha = (revision: string) => repo.git("rev-parse", `${revision}^{commit}`);
  repo.git("checkout", "--quiet", "--detach", sha(head));
  return {
    place: {
      gitPath: git.path,
      gitDir: join(repo.dir, ".git"),
      root: repo.dir,
      emptyHome,
      shas: { head: sha(head), base: sha(base), mergeBase: repo.git("merge-base", base, head) },
    },
    [Symbol.dispose]: () => folder.dispose(),
  };
}
