import { AppError } from "../errors.ts";
import { type Git, isObjectName } from "./git-environment.ts";
import { SHALLOW_REMEDY } from "./resolve-revision.ts";
import { runGit } from "./run-git.ts";
import type { Shas } from "./workspace.ts";

export interface MergeBaseOptions {
  git: Git;
  gitDir: string;
  base: string;
  head: string;
  /** Whether the history was cut, which is the usual reason for there being no common commit. */
  shallow?: boolean;
  signal?: AbortSignal | undefined;
}

/**
 * The commit that a pull request is compared with, and how many others would do as well. Branches that were merged into each other
 * crosswise have several, of which git picks one; an author can have it pick the one since which nothing changed. Rejects with
 * `revision_unknown` if the histories share no commit.
 */
export async function findMergeBase(
  options: MergeBaseOptions,
): Promise<Pick<Shas, "mergeBase" | "mergeBases">> {
  const { git, gitDir, base, head, signal } = options;
  const { stdout, exitCode } = await runGit({
    git,
    gitDir,
    what: "merge-base",
    args: ["merge-base", "--all", "--end-of-options", base, head],
    expectedExits: [0, 1],
    signal,
  });
  const [mergeBase = "", ...others] = stdout.toString("latin1").trim().split("\n");
  if (exitCode === 0 && isObjectName(mergeBase))
    return { mergeBase, ...(others.length > 0 ? { mergeBases: 1 + others.length } : {}) };
  const remedy = options.shallow ? SHALLOW_REMEDY : "Name a base that the head was branched off from";
  throw new AppError(
    "revision_unknown",
    `${base.slice(0, 12)} and ${head.slice(0, 12)} have no common ancestor`,
    { remedy },
  );
}
