import { copyFile, mkdir, readdir, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type SimpleGit, simpleGit } from "simple-git";
import { AppError } from "../errors.ts";
import { type Git, gitEnvironment, hardenedConfig, runGit } from "./run-git.ts";
import { createScratchRepository, type ObjectSource } from "./scratch-repository.ts";
import { makeTempFolder, removeFolder } from "./temp-folder.ts";

/** A repository of the machine, looked at without writing to it and without running what it configures. */
export interface LocalRepository extends ObjectSource {
  /** What holds index and HEAD; in a linked worktree not the same as `commonDir`. */
  gitDir: string;
  /** Null when it is bare. */
  workTree: string | null;
}

/** Nobody but the caller of the command line decides which repository is read, so its owner does not matter. */
const anyOwner = [["safe.directory", "*"]] as const;

/** Finds the repository that a folder belongs to. Rejects with `repository_unavailable` when there is none. */
export async function discoverRepository(git: Git, folder: string): Promise<LocalRepository> {
  const baseDir = resolve(folder);
  const stats = await stat(baseDir).catch(() => null);
  if (stats === null) throw noRepository(`There is no folder '${folder}'`);
  if (!stats.isDirectory()) throw noRepository(`'${folder}' is a file, not a folder`);
  const gitDir = (await looksBare(baseDir)) ? baseDir : undefined;
  const client = createGit({ git, baseDir, gitDir, config: anyOwner });
  const asked = [
    "--git-common-dir",
    "--absolute-git-dir",
    "--is-inside-work-tree",
    "--is-shallow-repository",
  ];
  const answer = await client
    .raw(["rev-parse", "--path-format=absolute", ...asked, "--show-object-format"])
    .catch(() => {
      throw noRepository(`There is no git repository at '${folder}'`);
    });
  const [commonDir = "", ownDir = "", inWorkTree, shallow, objectFormat] = answer.split("\n");
  return {
    commonDir,
    gitDir: ownDir,
    workTree: inWorkTree === "true" ? await client.raw(["rev-parse", "--show-toplevel"]) : null,
    shallow: shallow === "true",
    objectFormat: objectFormat === "sha256" ? "sha256" : "sha1",
  };
}

/** A bare repository is used when it is named itself, never when it lies around inside of something else. */
async function looksBare(folder: string): Promise<boolean> {
  const parts = await Promise.all(
    ["HEAD", "objects", "refs"].map((name) => stat(join(folder, name)).catch(() => undefined)),
  );
  return Boolean(parts[0]?.isFile() && parts[1]?.isDirectory() && parts[2]?.isDirectory());
}

function noRepository(message: string): AppError {
  return new AppError("repository_unavailable", message, {
    remedy: "Name a folder inside of a git repository with --repo",
  });
}

export interface CreateGitOptions {
  git: Git;
  /** The folder git runs in; without `gitDir` it looks for a repository from here upwards. */
  baseDir: string;
  gitDir?: string | undefined;
  /** More configuration, outranking the hardened one. */
  config?: readonly (readonly [string, string])[];
  signal?: AbortSignal | undefined;
  /** Every command made with this instance has to be through when it is over. Default 1 minute. */
  timeoutMs?: number | undefined;
}

/**
 * What keeps git from starting a program. simple-git refuses each of these keys, whatever its value is, and its commands here need
 * none: they look up names, and run neither hooks nor filters nor monitors, and fetch nothing (`GIT_NO_LAZY_FETCH`).
 */
const guarded = /^(?:core\.(?:hooksPath|fsmonitor|askPass)|credential\.|filter\.|protocol\.)/;

/**
 * The one constructor of simple-git, for what looks up names: repositories, revisions, refs, settings. Content is read with `runGit`,
 * which keeps bytes as they are; fetches have a function of their own, which ends what git started as well. simple-git's guards stay
 * closed but for the one against program paths with unusual characters: ours is an absolute path that `requireGit` has tried.
 */
export function createGit(options: CreateGitOptions): SimpleGit {
  // HOME is empty, so there is no global configuration; simple-git guards the variable that says so once more.
  const { GIT_CONFIG_GLOBAL: _, ...own } = gitEnvironment(options.git);
  const environment = { ...own, ...(options.gitDir ? { GIT_DIR: options.gitDir } : {}) };
  const config = [...hardenedConfig().filter(([key]) => !guarded.test(key)), ...(options.config ?? [])];
  // simple-git's own time-out starts anew with every byte; a signal does not.
  const deadline = AbortSignal.timeout(options.timeoutMs ?? 60_000);
  return simpleGit({
    baseDir: options.baseDir,
    binary: options.git.gitPath,
    config: config.map(([key, value]) => `${key}=${value}`),
    abort: options.signal ? AbortSignal.any([options.signal, deadline]) : deadline,
    maxConcurrentProcesses: 4,
    trimmed: true,
    unsafe: { allowUnsafeCustomBinary: true },
    allowEnvironment: Object.keys(environment),
  }).env(environment);
}

export interface WorkingFiles {
  /** Absolute path of the top folder. */
  workTree: string;
  /** From there. One that was deleted and is not committed yet is among them. */
  paths: string[];
}

/**
 * The files of the repository that a folder belongs to: tracked, or neither tracked nor ignored. Nothing that the repository configures
 * is run. Rejects with `repository_unavailable` where there is none, or no work tree.
 */
export async function listWorkingFiles(
  folder: string,
  { gitPath, signal }: { gitPath: string; signal: AbortSignal },
): Promise<WorkingFiles> {
  const temp = await makeTempFolder(tmpdir());
  try {
    const git = { gitPath, emptyHome: join(temp, "home") };
    await mkdir(git.emptyHome);
    const { gitDir, workTree } = await discoverRepository(git, folder);
    if (workTree === null) {
      throw new AppError("repository_unavailable", `The repository at '${folder}' has no work tree`, {
        remedy: "Name a folder of a clone that is not bare with --repo",
      });
    }
    const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"];
    const { stdout } = await runGit({ git, gitDir, workTree, what: "list files", args, signal });
    return { workTree, paths: stdout.toString("utf8").split("\0").slice(0, -1) };
  } finally {
    await removeFolder(temp);
  }
}

/** Keys of the repository's configuration that decide how files compare and can run nothing. */
const harmless = "^core\\.(filemode|autocrlf|eol|ignorecase)$";

/**
 * Whether tracked files of the work tree differ from its HEAD, staged or not. Runs on a copy of the index in `folder` and
 * without the repository's configuration, so it writes nothing there and starts nothing that is configured there.
 */
export async function hasUncommittedChanges(
  git: Git,
  source: LocalRepository,
  folder: string,
): Promise<boolean> {
  if (source.workTree === null) return false;
  const client = createGit({
    git,
    baseDir: source.gitDir,
    gitDir: source.gitDir,
    config: [["safe.directory", "*"]],
  });
  const headSha = await client.raw(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).catch(() => "");
  const index = join(source.gitDir, "index");
  const indexStats = await stat(index).catch(() => undefined);
  if (headSha === "" || indexStats === undefined) return false;

  await createScratchRepository(folder, source, { headSha, attributes: false });
  const copies = (await readdir(source.gitDir)).filter((name) => name.startsWith("sharedindex."));
  await Promise.all(
    ["index", ...copies].map((name) => copyFile(join(source.gitDir, name), join(folder, name))),
  );
  // git trusts an entry only if it is older than the index; rounding down makes it look twice, never too seldom.
  const seconds = Math.floor(indexStats.mtimeMs / 1000);
  await utimes(join(folder, "index"), seconds, seconds);

  const { stdout } = await runGit({
    git,
    gitDir: folder,
    workTree: source.workTree,
    what: "status",
    config: await harmlessConfig(git, source),
    args: [
      "status",
      "--porcelain=v1",
      "-z",
      "--untracked-files=no",
      "--ignore-submodules=all",
      "--no-renames",
    ],
  });
  return stdout.length > 0;
}

async function harmlessConfig(git: Git, source: LocalRepository): Promise<(readonly [string, string])[]> {
  const client = createGit({ git, baseDir: source.commonDir, gitDir: source.gitDir });
  const file = join(source.commonDir, "config");
  const text = await client.raw(["config", "--file", file, "--get-regexp", harmless]).catch(() => "");
  const pairs = text.split("\n").map((line) => line.split(" "));
  return pairs.flatMap(([key, value]) =>
    key && value && /^[a-z]+$/i.test(value) ? [[key, value] as const] : [],
  );
}
