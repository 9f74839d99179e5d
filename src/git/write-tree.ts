import { rm } from "node:fs/promises";
import { AppError } from "../errors.ts";
import type { Git } from "./git-environment.ts";
import { runGit } from "./run-git.ts";
import { writableTree } from "./writable-tree.ts";

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
 * way is overwritten. Files that no disk takes (`isWritable`) are left out.
 */
export async function writeTree(options: WriteTreeOptions): Promise<void> {
  try {
    await writeWhole(options);
  } catch (error) {
    const tree = isOfGit(error) ? await writablePart(options) : undefined;
    if (tree === undefined) throw error;
    // Of too deep a folder git dies with its lock in its hand.
    await rm(`${options.indexFile}.lock`, { force: true });
    await readTree({ ...options, sha: tree }, ["--reset", "-u"]);
  }
}

async function writeWhole(options: WriteTreeOptions): Promise<void> {
  const overwriting = () => readTree(options, ["--reset", "-u"]);
  // A merge leaves unchanged files unlooked at, but refuses when a file to be changed is not as git left it.
  if (options.settled) await readTree(options, ["-m", "-u"]).catch(retryUnlessAborted(options, overwriting));
  else await overwriting();
}

const isOfGit = (error: unknown) => error instanceof AppError && error.code === "git_failed";

const writablePart = ({ git, gitDir, signal, sha, indexFile }: WriteTreeOptions) =>
  writableTree({ git, gitDir, signal }, sha, `${indexFile}.writable`);

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
