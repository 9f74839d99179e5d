import { createGit } from "../git/create-git.ts";
import { discoverRepository, type LocalRepository } from "../git/discover-repository.ts";
import type { Git } from "../git/git-environment.ts";
import { resolveEnds } from "../git/resolve-revision.ts";
import { usualBase } from "./open-range.ts";

/** What the revisions of a range are at this moment. */
export interface RangeNow {
  source: LocalRepository;
  /** What the base was asked for by: anything git takes for a commit. */
  base: string;
  baseSha: string;
  headSha: string;
}

export interface RangeToLookUp {
  repo: string;
  /** Undefined: `usualBase`. */
  base: string | undefined;
  head: string;
}

/**
 * Resolves both revisions without making a checkout: some runs of git. Rejects with `repository_unavailable` or
 * `revision_unknown`.
 */
export async function lookUpRange(git: Git, { repo, base, head }: RangeToLookUp): Promise<RangeNow> {
  const source = await discoverRepository(git, repo);
  const ends = await resolveEnds(git, source, { base: base ?? usualBase(), head });
  return { source, base: ends.base.asked, baseSha: ends.base.sha, headSha: ends.head.sha };
}

/**
 * Whether both revisions are still what they were: one run of git. False also where that takes more to tell, as for `:/words`, to
 * which nothing can be added.
 */
export async function isStill(
  git: Git,
  { source, base, baseSha, headSha }: RangeNow,
  head: string,
): Promise<boolean> {
  // What begins with a dash is an option to git.
  if ([base, head].some((text) => text.startsWith("-"))) return false;
  const { gitDir } = source;
  const commits = [base, head].map((text) => `${text}^{commit}`);
  try {
    const client = createGit({ git, baseDir: gitDir, gitDir, config: [["safe.directory", "*"]] });
    return (await client.raw(["rev-parse", ...commits])) === `${baseSha}\n${headSha}`;
  } catch {
    // One of them is no more, or the repository is not.
    return false;
  }
}
