import { copyFile, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Git, runGit } from "./run-git.ts";
import { createScratchRepository } from "./scratch.ts";
import type { LocalRepository } from "./work-tree.ts";
import type { Shas } from "./workspace.ts";

interface StagedOptions {
  git: Git;
  source: LocalRepository;
  /** The scratch repository to create. */
  gitDir: string;
  /** Absolute path of the index: for `git commit -a` and `git commit PATH`, git gives its hooks another one than the repository's. */
  indexFile: string;
  /** The last commit; null if there is none yet. */
  headSha: string | null;
  signal?: AbortSignal | undefined;
}

const author = [
  ["user.name", "Hunkwise"],
  ["user.email", "hunkwise@localhost"],
] as const;

/**
 * Makes a scratch repository with a commit of what an index holds, on top of the last commit or of an empty one. Works on a copy of the index:
 * the repository gets no object, and nobody's index changes. Rejects with `git_failed` if the index holds a conflict.
 */
export async function commitIndex(options: StagedOptions): Promise<Shas> {
  const { git, source, gitDir, indexFile, headSha, signal } = options;
  const nothing = "0".repeat(source.objectFormat === "sha256" ? 64 : 40);
  await createScratchRepository(gitDir, source, { headSha: headSha ?? nothing, attributes: true });
  const shared = (await readdir(source.gitDir)).filter((name) => name.startsWith("sharedindex."));
  await Promise.all(shared.map((name) => copyFile(join(source.gitDir, name), join(gitDir, name))));
  const copied = join(gitDir, "index");
  // Without an index, nothing was ever added.
  if ((await stat(indexFile).catch(() => null)) !== null) await copyFile(indexFile, copied);
  const run = async (what: string, args: readonly string[], from = copied) => {
    const command = { git, gitDir, indexFile: from, config: author, what, args, signal };
    return (await runGit(command)).stdout.toString("latin1").trim();
  };
  const commit = (tree: string, ...parent: string[]) =>
    run("make a commit", ["commit-tree", tree, ...parent, "-m", "What is staged"]);
  const base = headSha ?? (await commit(await run("write a tree", ["write-tree"], join(gitDir, "no-index"))));
  const head = await commit(await run("write a tree", ["write-tree"]), "-p", base);
  await writeFile(join(gitDir, "HEAD"), `${head}\n`);
  return { base, head, mergeBase: base };
}
