import type { Git } from "./git-environment.ts";
import { runGit } from "./run-git.ts";

export interface WriteTreeOptions {
  git: Git;
  gitDir: string;
  /** The folder whose files become those of the commit. */
  root: string;
  /** Remembers what stands in the folder, so that the next call writes what differs. */
  indexFile: string;
  sha: string;
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
}

/**
 * Makes a folder hold a commit's files: no `.git` in it, no symlink, no submodule, nothing executed. Files that do not
 * match the index any more are written again.
 */
export async function writeTree(options: WriteTreeOptions): Promise<void> {
  await runGit({
    git: options.git,
    gitDir: options.gitDir,
    workTree: options.root,
    indexFile: options.indexFile,
    what: "checkout",
    args: ["read-tree", "--reset", "-u", "--no-recurse-submodules", options.sha],
    signal: options.signal,
    timeoutMs: options.timeoutMs ?? 600_000,
  });
}
