import { AppError } from "../errors.ts";
import { type Git, isObjectName } from "./git-environment.ts";
import { SHALLOW_REMEDY } from "./resolve-revision.ts";
import { runGit } from "./run-git.ts";

export interface MergeBaseOptions {
  git: Git;
  gitDir: string;
  base: string;
  head: string;
  /** Whether the history was cut, which is the usual reason for there being no common commit. */
  shallow?: boolean;
  signal?: AbortSignal | undefined;
}

/** The commit that a pull request is compared with. Rejects with `revision_unknown` when the histories share none. */
export async function mergeBase(options: MergeBaseOptions): Promise<string> {
  const { git, gitDir, base, head, signal } = options;
  const { stdout, exitCode } = await runGit({
    git,
    gitDir,
    what: "merge-base",
    args: ["merge-base", "--end-of-options", base, head],
    expectedExits: [0, 1],
    signal,
  });
  const sha = stdout.toString("latin1").trim();
  if (exitCode === 0 && isObjectName(sha)) return sha;
  const remedy = options.shallow ? SHALLOW_REMEDY : "Name a base that the head was branched off from";
  throw new AppError(
    "revision_unknown",
    `${base.slice(0, 12)} and ${head.slice(0, 12)} have no common ancestor`,
    { remedy },
  );
}
