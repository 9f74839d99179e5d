import { realpath, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { distance } from "fastest-levenshtein";
import { type SimpleGit, simpleGit } from "simple-git";
import { AppError } from "../../core/errors.ts";
import { type Git, gitEnvironment, hardenedConfig, requireObjectNames, runGit } from "./run-git.ts";
import { runProcess } from "./run-process.ts";
import { type ObjectSource, openTempGit } from "./scratch.ts";

/** A repository on this machine, read without writing to it or running anything from its configuration. */
export interface LocalRepository extends ObjectSource {
  /** Contains HEAD; not `commonDir` in a linked worktree. */
  gitDir: string;
  /** Absolute path of its index. For `git commit -a` and `git commit PATH`, git gives its hooks another one. */
  indexFile: string;
  /** Null if it is bare. */
  workTree: string | null;
}

/** Only the caller of the command line decides which repository is read, so its owner does not matter. */
const anyOwner = ["safe.directory", "*"] as const;

/** Finds the repository of a folder. Rejects with `repository_unavailable` if there is none. */
export async function discoverRepository(git: Git, folder: string): Promise<LocalRepository> {
  const baseDir = resolve(folder);
  const stats = await stat(baseDir).catch(() => null);
  if (stats === null) throw noRepository(`There is no folder '${folder}'`);
  if (!stats.isDirectory()) throw noRepository(`'${folder}' is a file, not a folder`);
  const gitDir = (await looksBare(baseDir)) ? baseDir : undefined;
  const client = createGit({ git, baseDir, gitDir });
  const facts = [
    "--git-common-dir",
    "--absolute-git-dir",
    "--is-inside-work-tree",
    "--is-shallow-repository",
  ];
  const answer = await client
    .raw(["rev-parse", "--path-format=absolute", ...facts, "--show-object-format", "--show-cdup"])
    .catch(() => {
      throw noRepository(`There is no git repository at '${folder}'`);
    });
  const [commonDir = "", ownDir = "", inWorkTree, shallow, objectFormat, upwards = ""] = answer.split("\n");
  return {
    commonDir,
    gitDir: ownDir,
    indexFile: join(ownDir, "index"),
    // `--show-toplevel` fails in a bare repository, and needs a separate process.
    workTree: inWorkTree === "true" ? join(await realpath(baseDir), upwards) : null,
    shallow: shallow === "true",
    objectFormat: objectFormat === "sha256" ? "sha256" : "sha1",
  };
}

/** A bare repository is used only if it is named itself, never if it is only in another folder. */
async function looksBare(folder: string): Promise<boolean> {
  const parts = await Promise.all(
    ["HEAD", "objects", "refs"].map((name) => stat(join(folder, name)).catch(() => undefined)),
  );
  return Boolean(parts[0]?.isFile() && parts[1]?.isDirectory() && parts[2]?.isDirectory());
}

function noRepository(message: string): AppError {
  return new AppError("repository_unavailable", message, {
    remedy: "Name a folder inside a git repository with --repo",
  });
}

interface CreateGitOptions {
  git: Git;
  /** The folder that git runs in; without `gitDir` it searches for a repository from here upwards. */
  baseDir: string;
  gitDir?: string | undefined;
  /** Every command of this instance must finish within this time. Default 1 minute. */
  timeoutMs?: number | undefined;
}

/** Keys that prevent git from starting a program. simple-git refuses each of them with any value; the lookups here start none. */
const guarded = /^(?:core\.(?:hooksPath|fsmonitor|askPass)|credential\.|filter\.|protocol\.)/;

/**
 * The only constructor of simple-git, for lookups of names. Its guards stay active except the one against program paths with unusual
 * characters: ours is an absolute path that `requireGit` has tried.
 */
export function createGit({ git, baseDir, gitDir, timeoutMs = 60_000 }: CreateGitOptions): SimpleGit {
  // HOME is empty, so there is no global configuration; simple-git also refuses the variable that sets this.
  const { GIT_CONFIG_GLOBAL: _, ...own } = gitEnvironment(git);
  const environment = { ...own, ...(gitDir ? { GIT_DIR: gitDir } : {}) };
  const config = [...hardenedConfig().filter(([key]) => !guarded.test(key)), anyOwner];
  return simpleGit({
    baseDir,
    binary: git.gitPath,
    config: config.map(([key, value]) => `${key}=${value}`),
    // simple-git's own time-out restarts with every byte; a signal does not.
    abort: AbortSignal.timeout(timeoutMs),
    maxConcurrentProcesses: 4,
    trimmed: true,
    unsafe: { allowUnsafeCustomBinary: true },
    allowEnvironment: Object.keys(environment),
  }).env(environment);
}

interface WorkingFiles {
  /** Absolute path of the top folder. */
  workTree: string;
  /** Relative to that folder. Deleted files without a commit of the deletion are included. */
  paths: string[];
}

/** The files of a folder's repository that are tracked or not ignored. Rejects with `repository_unavailable`, also without a work tree. */
export async function listWorkingFiles(
  folder: string,
  { gitPath, signal }: { gitPath: string; signal: AbortSignal },
): Promise<WorkingFiles> {
  await using temp = await openTempGit(gitPath);
  const { gitDir, workTree } = await discoverRepository(temp.git, folder);
  if (workTree === null) {
    throw new AppError("repository_unavailable", `The repository at '${folder}' has no working tree`, {
      remedy: "Name a folder of a clone that is not bare with --repo",
    });
  }
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"];
  const { stdout } = await runGit({ git: temp.git, gitDir, workTree, what: "list files", args, signal });
  return { workTree, paths: stdout.toString("utf8").split("\0").slice(0, -1) };
}

/** The address of the remote "origin", as it is written in the repository's configuration; null if there is none. */
export async function originAddress(folder: string, gitPath: string): Promise<string | null> {
  await using temp = await openTempGit(gitPath);
  const { commonDir, gitDir } = await discoverRepository(temp.git, folder);
  const args = ["config", "--file", join(commonDir, "config"), "--get", "remote.origin.url"];
  const asked = { git: temp.git, gitDir, what: "read the configuration", args, expectedExits: [0, 1] };
  return (await runGit(asked)).stdout.toString("utf8").trim() || null;
}

export interface Revision {
  sha: string;
  /** The branch or tag without `refs/heads/`; else the requested text. */
  name: string;
}

/** Candidates for the base if none was named: the first existing one is used. */
export interface BaseChoice {
  /** Full names of branches. */
  names: readonly string[];
  /** The message if none of them exists. */
  complaint: string;
  /** What to do if none exists; default: fetch it. */
  remedy?: string | undefined;
  /** Whether the change certainly has this base, also if there are uncommitted changes to read without one. */
  isCertain?: boolean;
}

/** The remedy for a shallow history. */
export const SHALLOW_REMEDY =
  "The clone is shallow: run git fetch --unshallow; in CI, check out the whole history (GitHub fetch-depth: 0, GitLab GIT_DEPTH: 0, " +
  "Azure fetchDepth: 0, Bitbucket clone depth: full, Travis git depth: false, Woodpecker partial: false)";

const FETCH_REMEDY = "Fetch it, or name the target branch with --base";

export const noBase = ({ complaint, remedy = FETCH_REMEDY }: BaseChoice, { shallow }: LocalRepository) =>
  new AppError("revision_unknown", complaint, { remedy: shallow ? SHALLOW_REMEDY : remedy });

/** "OID TYPE", the requested format of `cat-file`. For a missing object it repeats the text, with "missing". */
const foundObject = /^([0-9a-f]{40}|[0-9a-f]{64}) (commit|tag)$/;

/** The commits of the texts, which are only data for git; null for a text that names none. A branch goes before a tag of the same name. */
export async function findCommits(
  git: Git,
  repository: LocalRepository,
  texts: readonly string[],
): Promise<(string | null)[]> {
  const objects = await findObjects(git, repository, await withBranches(git, repository, texts));
  // Only now the tag is resolved to its commit: after `:/words`, the suffix would count as more words.
  const tags = objects.flatMap((object) => (object?.type === "tag" ? [`${object.oid}^{commit}`] : []));
  const targets = tags.length === 0 ? [] : await findObjects(git, repository, tags);
  const peeled = objects.map((object) => (object?.type === "tag" ? targets.shift() : object));
  return peeled.map((object) => (object?.type === "commit" ? object.oid : null));
}

/** The name with which a text begins, before `~2`, `^{commit}` or `@{1}`. No match for full names, and for what is no branch: HEAD, object names. */
const refName =
  /^(?!-|@(?:[~^:{]|$)|(?:refs|heads|tags|remotes)\/|(?:(?:[A-Z]+_)?HEAD|[0-9a-f]{40}(?:[0-9a-f]{24})?)(?:[~^:@]|$))(?:[^~^:@]|@(?!\{))+/;

/** The texts, with the full names of branches. git takes a tag of the same name; a person means the branch, and with a slash the remote's. */
async function withBranches(
  git: Git,
  repository: LocalRepository,
  texts: readonly string[],
): Promise<string[]> {
  const names = texts.map((text) => refName.exec(text)?.[0] ?? null);
  const places = names.map((name) => {
    const [local, remote] = [`refs/heads/${name}`, `refs/remotes/${name}`];
    const pair = name?.includes("/") ? [remote, local] : [local, remote];
    return name === null ? [] : [...pair, `${remote}/HEAD`, `refs/tags/${name}`];
  });
  if (places.flat().length === 0) return [...texts];
  const found = await findObjects(git, repository, places.flat());
  const full = texts.map((text, at) => {
    const known = found.splice(0, places[at]?.length).findIndex((one) => one !== null);
    return known < 0 ? text : `${places[at]?.[known]}${text.slice(names[at]?.length)}`;
  });
  for (const [at, name] of names.entries()) {
    if (name === null || !full[at]?.startsWith("refs/tags/")) continue;
    const args = ["for-each-ref", "--format=%(refname:lstrip=2)", `refs/remotes/*/${name}`];
    const [branch] = (await clientOf(git, repository).raw(args)).split("\n");
    if (!branch) continue;
    throw new AppError("revision_unknown", `'${name}' is a tag here, and a branch only at a remote`, {
      remedy: `Write which one you mean: ${branch} or tags/${name}`,
    });
  }
  return full;
}

/** The first of the texts that names a commit, with its commit; null if none does. */
export async function firstCommit(
  git: Git,
  repository: LocalRepository,
  texts: readonly string[],
): Promise<Revision | null> {
  const found = await findCommits(git, repository, texts);
  const named = texts.map((name, at) => ({ name, sha: found[at] ?? null }));
  return named.find((one): one is Revision => one.sha !== null) ?? null;
}

type FoundObject = { oid: string; type: string } | null;

async function findObjects(
  git: Git,
  repository: LocalRepository,
  texts: readonly string[],
): Promise<FoundObject[]> {
  // No ref begins with a dash, and such a text would be an option for git. A line feed would make it two requests.
  const usable = texts.map((text) => (/^(?!-)[^\n\0]+$/.test(text) ? text : "-"));
  const { stdout, exitCode } = await runGit({
    git,
    gitDir: repository.gitDir,
    what: "look up revisions",
    args: ["cat-file", "--batch-check=%(objectname) %(objecttype)"],
    input: `${usable.join("\n")}\n`,
    expectedExits: [0, FATAL_EXIT],
  });
  // git exits if a text names the upstream of a branch without one, or an entry beyond the end of a reflog.
  if (exitCode === FATAL_EXIT) {
    if (texts.length === 1) return [null];
    return (await Promise.all(texts.map((text) => findObjects(git, repository, [text])))).flat();
  }
  const answers = stdout.toString("latin1").split("\n");
  return texts.map((_, at) => {
    const [, oid, type] = foundObject.exec(answers[at] ?? "") ?? [];
    return oid && type ? { oid, type } : null;
  });
}

const FATAL_EXIT = 128;

/** The branch or tag that each text names, without `refs/heads/`; the text itself if it names another commit. */
export async function namesOf(
  git: Git,
  repository: LocalRepository,
  texts: readonly string[],
): Promise<string[]> {
  // git prints nothing for a text that is not a ref, so the answers need a separator.
  const full = await withBranches(git, repository, texts);
  const separated = full.flatMap((text) => ["--is-shallow-repository", text]);
  const printed = await clientOf(git, repository)
    .raw(["rev-parse", "--symbolic-full-name", ...separated])
    .catch(() => "");
  const answers = printed.split(/^(?:true|false)$/m).slice(1);
  return texts.map(
    (text, at) => /^\nrefs\/(?:heads|tags|remotes)\/(.+)\n?$/.exec(answers[at] ?? "")?.[1] ?? text,
  );
}

const clientOf = (git: Git, { gitDir }: LocalRepository) => createGit({ git, baseDir: gitDir, gitDir });

export async function unknownRevision(
  git: Git,
  repository: LocalRepository,
  text: string,
): Promise<AppError> {
  if (text === "HEAD")
    return new AppError("revision_unknown", "The checked-out branch has no commits yet", {
      remedy: "Commit something first, or name a --head",
    });
  const refs = await clientOf(git, repository)
    .raw(["for-each-ref", "--format=%(refname:short)", "--count=5000"])
    .catch(() => "");
  const near = /[~^]/.test(text) ? [] : nearest(text, refs.split("\n").filter(Boolean));
  const remedy =
    rangeRemedy(text) ??
    (near.length > 0 ? `Did you mean ${near.map((name) => `'${name}'`).join(" or ")}?` : null) ??
    (repository.shallow ? SHALLOW_REMEDY : "Fetch it first");
  return new AppError("revision_unknown", `There is no commit '${text}' in this repository`, { remedy });
}

/** For `main..feature`, which git commands accept: here its ends are two options. */
function rangeRemedy(text: string): string | null {
  const [, base, head] = /^(.*?)\.{2,3}(.*)$/.exec(text) ?? [];
  const options = [base && `--base ${base}`, head && `--head ${head}`].filter(Boolean);
  return options.length === 0 ? null : `Name the two ends of a range separately: ${options.join(" ")}`;
}

/** The names that need the fewest changes, at most two and only if they are really similar. */
function nearest(text: string, names: readonly string[]): string[] {
  const limit = Math.max(2, Math.floor(text.length / 3));
  return names
    .filter((name) => Math.abs(name.length - text.length) <= limit || name.endsWith(`/${text}`))
    .map((name) => ({ name, edits: name.endsWith(`/${text}`) ? 1 : distance(text, name) }))
    .filter(({ edits }) => edits <= limit)
    .sort((a, b) => a.edits - b.edits)
    .slice(0, 2)
    .map(({ name }) => name);
}

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
  const end = await runProcess({ program: gitPath, args, cwd, env, signal, timeoutMs: 60_000 });
  const printed = end.stdout.toString("utf8").replace(/\n$/, "");
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
  const temp = await openTempGit(gitPath);
  const { git } = temp;
  try {
    const repository = await discoverRepository(git, folder);
    const { gitDir } = repository;
    const firstOf = (revisions: readonly string[]) => firstCommit(git, repository, revisions);
    const isAncestor = async (older: string, newer: string) => {
      requireObjectNames(older, newer);
      const args = ["merge-base", "--is-ancestor", older, newer];
      const asked = { git, gitDir, what: "merge-base", args, signal, expectedExits: [0, 1, 128] };
      return (await runGit(asked)).exitCode === 0;
    };
    return { gitDir, isAncestor, firstOf, [Symbol.asyncDispose]: temp[Symbol.asyncDispose] };
  } catch (error) {
    await temp[Symbol.asyncDispose]();
    throw error;
  }
}
