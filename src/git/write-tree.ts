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
  /** Whether folder and index are known to agree; then only what differs from the index is looked at. */
  settled: boolean;
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
}

/**
 * Makes a folder hold a commit's files: no `.git` in it, no symlink, no submodule, nothing executed. What stands in the
 * way is overwritten.
 */
export async function writeTree(options: WriteTreeOptions): Promise<void> {
  const overwriting = () => readTree(options, ["--reset", "-u"]);
  // A merge leaves unchanged files unlooked at, but refuses when a file to be changed is not as git left it.
  if (options.settled) await readTree(options, ["-m", "-u"]).catch(retryUnlessAborted(options, overwriting));
  else await overwriting();
}

function retryUnlessAborted({ signal }: WriteTreeOptions, retry: () => Promise<void>) {
  return async (error: unknown): Promise<void> => {
    if (signal?.aborted) throw error;
    await retry();
  };
}

async function readTree(options: WriteTreeOptions, mode: readonly string[]): Promise<void> {
  await runGit({
    git: options.git,
    gitDir: options.gitDir,
    workTree: options.root,
    indexFile: options.indexFile,
    what: "checkout",
    args: ["read-tree", ...mode, "--no-recurse-submodules", options.sha],
    signal: options.signal,
    timeoutMs: options.timeoutMs ?? 600_000,
  });
}
