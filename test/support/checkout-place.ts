import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { RevisionPlace } from "../../src/repo/git/workspace.ts";
import { type GitRepo, gitPath, TempFolder } from "./git-repo.ts";

/** A test repository as the input of a review process: the work tree itself is the checkout of its head. */
export async function placeOf(
  repo: GitRepo,
  base: string,
  head = "HEAD",
): Promise<Disposable & { place: RevisionPlace }> {
  const folder = new TempFolder("home");
  const emptyHome = join(folder.path, "home");
  mkdirSync(emptyHome);
  const shas = { head: repo.sha(head), base: repo.sha(base) };
  repo.git("checkout", "--quiet", "--detach", shas.head);
  const mergeBase = shas.base === shas.head ? shas.head : repo.git("merge-base", shas.base, shas.head);
  return {
    place: {
      gitPath,
      gitDir: join(repo.dir, ".git"),
      root: repo.dir,
      isCheckedOut: true,
      emptyHome,
      shas: { ...shas, mergeBase },
    },
    [Symbol.dispose]: () => folder.dispose(),
  };
}
