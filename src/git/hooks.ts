import { mkdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { discoverRepository, firstCommit, noRepository } from "./range.ts";
import { requireObjectNames, runGit } from "./run-git.ts";
import { runProcess } from "./run-process.ts";
import { makeTempFolder, removeFolder } from "./scratch.ts";

/** Where git looks for the hooks of a repository. */
export interface HooksPlace {
  /** Absolute. It may not exist yet. All worktrees of a repository share it. */
  folder: string;
  /** `core.hooksPath` as it is set, if it names another folder than git's own; else null. */
  configured: string | null;
  /** The top folder of the work tree; null in a bare repository. */
  workTree: string | null;
}

interface AskOptions {
  gitPath: string;
  /** The whole environment of git, with the user's home: `core.hooksPath` is often set for all repositories. */
  env: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

/** Asks git itself, with the user's configuration, because that decides which hooks run. Rejects with `repository_unavailable`. */
export async function findHooks(repo: string, options: AskOptions): Promise<HooksPlace> {
  const cwd = resolve(repo);
  if (!(await stat(cwd).catch(() => null))?.isDirectory()) throw noRepository(`There is no folder '${repo}'`);
  const ask = (...args: string[]) => answerOf(cwd, args, options);
  const absolute = ["rev-parse", "--path-format=absolute"];
  const folder = await ask(...absolute, "--git-path", "hooks");
  const common = await ask(...absolute, "--git-common-dir");
  if (folder === null || common === null) throw noRepository(`There is no git repository at '${repo}'`);
  const isOwn = resolve(folder) === join(resolve(common), "hooks");
  return {
    folder: resolve(folder),
    configured: isOwn ? null : ((await ask("config", "--get", "core.hooksPath")) ?? folder),
    workTree: await ask(...absolute, "--show-toplevel"),
  };
}

/** What git prints, without the last line feed; null if it fails or prints nothing. */
async function answerOf(
  cwd: string,
  args: readonly string[],
  { gitPath, env, signal }: AskOptions,
): Promise<string | null> {
  const chunks: Buffer[] = [];
  const end = await runProcess({
    ...{ program: gitPath, args, cwd, env, signal, timeoutMs: 60_000 },
    onStdout: (chunk) => {
      chunks.push(chunk);
      return undefined;
    },
  });
  const printed = Buffer.concat(chunks).toString("utf8").replace(/\n$/, "");
  return end.exitCode === 0 && printed !== "" ? printed : null;
}

/** The repository that a hook runs in. Its temporary folder is removed with it. */
export interface HookRepository extends AsyncDisposable {
  /** Absolute path of the folder with HEAD and the index. */
  gitDir: string;
  /** Whether a commit is there and is an ancestor of another one. */
  isAncestor(older: string, newer: string): Promise<boolean>;
  /** The first revision that names a commit, with its commit; null if none does. */
  firstOf(revisions: readonly string[]): Promise<{ name: string; sha: string } | null>;
}

/** Finds the repository of a folder. Rejects with `repository_unavailable`. */
export async function openHookRepository(
  folder: string,
  { gitPath, signal }: Pick<AskOptions, "gitPath" | "signal">,
): Promise<HookRepository> {
  const temp = await makeTempFolder(tmpdir());
  const dispose = () => removeFolder(temp);
  try {
    const git = { gitPath, emptyHome: join(temp, "home") };
    await mkdir(git.emptyHome);
    const repository = await discoverRepository(git, folder);
    const { gitDir } = repository;
    const firstOf = (revisions: readonly string[]) => firstCommit(git, repository, revisions);
    const isAncestor = async (older: string, newer: string) => {
      requireObjectNames(older, newer);
      const args = ["merge-base", "--is-ancestor", older, newer];
      const asked = { git, gitDir, what: "merge-base", args, signal, expectedExits: [0, 1, 128] };
      return (await runGit(asked)).exitCode === 0;
    };
    return { gitDir, isAncestor, firstOf, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}
