import { copyFile, mkdir, readdir, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type SimpleGit, simpleGit } from "simple-git";
import { AppError } from "../errors.ts";
import { type Git, gitEnvironment, hardenedConfig, runGit, isObjectName } from "./run-git.ts";
import { createScratchRepository, type ObjectSource } from "./scratch-repository.ts";
import { makeTempFolder, removeFolder } from "./temp-folder.ts";
import { distance } from "fastest-levenshtein";
import type { Shas } from "./workspace.ts";
import type { CheckoutPlace } from "./checkout-place.ts";
import { blobSizes, listOldSide } from "./object-listing.ts";
import { defaultLimits, planCheckout, plannedBytes, writeTree } from "./write-tree.ts";

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

interface CreateGitOptions {
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

interface WorkingFiles {
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

interface Revision {
  sha: string;
  /** The branch or tag that was meant, without `refs/heads/`; else what was asked for. */
  name: string;
}

/** Bases to choose from when none was named: the first that exists counts. */
export interface BaseChoice {
  names: readonly string[];
  /** What to say if none of them exists. */
  complaint: string;
}

/** What to do about history that was cut off. */
export const SHALLOW_REMEDY =
  "The clone is shallow: run git fetch --unshallow, or in CI check out with fetch-depth: 0 (GitLab: GIT_DEPTH: 0)";

/**
 * Resolves whatever git takes for a commit. Rejects with `revision_unknown`, saying why there is none: branches that are spelt
 * alike, a range, history that was cut off, no commits at all.
 */
async function resolveRevision(
  git: Git,
  repository: LocalRepository,
  text: string,
): Promise<Revision> {
  const client = clientOf(git, repository);
  const found = await find(client, text);
  if (found !== null) return found;
  const [message, remedy] = await whyUnknown(client, repository, text);
  throw new AppError("revision_unknown", message, { remedy });
}

/** The same for several to choose from, with the one that was chosen; null if there is none of them. */
async function resolveFirst(
  git: Git,
  repository: LocalRepository,
  texts: readonly string[],
): Promise<(Revision & { asked: string }) | null> {
  const client = clientOf(git, repository);
  for (const asked of texts) {
    const found = await find(client, asked);
    if (found !== null) return { ...found, asked };
  }
  return null;
}

/** Both ends of a range. Rejects as `resolveRevision` does; an unknown head is reported before a missing base. */
export async function resolveEnds(
  git: Git,
  repository: LocalRepository,
  ends: { base: string | BaseChoice; head: string },
): Promise<{ base: Revision & { asked: string }; head: Revision }> {
  const named = ends.base;
  const [base, head] = await Promise.all([
    typeof named === "string"
      ? resolveRevision(git, repository, named).then((found) => ({ ...found, asked: named }))
      : resolveFirst(git, repository, named.names),
    resolveRevision(git, repository, ends.head),
  ]);
  if (base !== null) return { base, head };
  throw new AppError("revision_unknown", (named as BaseChoice).complaint, {
    remedy: repository.shallow
      ? SHALLOW_REMEDY
      : "Fetch it, or name what the change is to be merged into with --base",
  });
}

function clientOf(git: Git, { gitDir }: LocalRepository): SimpleGit {
  return createGit({ git, baseDir: gitDir, gitDir, config: [["safe.directory", "*"]] });
}

async function find(client: SimpleGit, text: string): Promise<Revision | null> {
  const verify = (one: string) => client.raw(["rev-parse", "--verify", "--quiet", one]).catch(() => "");
  // No ref begins with a dash, and what does is an option to git.
  const usable = text !== "" && !text.startsWith("-") && !text.includes("\0");
  const object = usable ? await verify(text) : "";
  // Only now comes the way from a tag to its commit: behind `:/words` it would be taken for more words.
  const sha = isObjectName(object) ? await verify(`${object}^{commit}`) : "";
  if (!isObjectName(sha)) return null;
  const full = await client.raw(["rev-parse", "--symbolic-full-name", text]).catch(() => "");
  return { sha, name: full.replace(/^refs\/(?:heads|tags|remotes)\//, "") || text };
}

/** What to say of a revision that is not there, and what to do about it. */
async function whyUnknown(
  client: SimpleGit,
  { shallow }: LocalRepository,
  text: string,
): Promise<[message: string, remedy: string]> {
  const refs = await client
    .raw(["for-each-ref", "--format=%(refname:short)", "--count=5000"])
    .catch(() => "");
  if (refs === "" && (await find(client, "HEAD")) === null) {
    return ["This repository has no commits yet", "Commit something first"];
  }
  if (text === "HEAD") {
    return ["The checked-out branch has no commits yet", "Commit something first, or name a --head"];
  }
  const message = `There is no commit '${text}' in this repository`;
  const near = nearest(text, refs.split("\n").filter(Boolean));
  const descendant = /^([^~^]+)[~^]/.exec(text)?.[1];
  const isBeyond = descendant !== undefined && (await find(client, descendant)) !== null;
  // A name that is right resembles itself.
  const isMisspelt = !isBeyond && near.length > 0;
  const remedy =
    rangeRemedy(text) ??
    (isMisspelt ? `Did you mean ${near.map((name) => `'${name}'`).join(" or ")}?` : null) ??
    (shallow ? SHALLOW_REMEDY : null) ??
    (isBeyond ? `The history of '${descendant}' does not go back that far` : "Fetch it first");
  return [message, remedy];
}

/** For `main..feature`, which git commands take: here its ends are two options. */
function rangeRemedy(text: string): string | null {
  const [, base, head] = /^(.*?)\.{2,3}(.*)$/.exec(text) ?? [];
  const options = [base && `--base ${base}`, head && `--head ${head}`].filter(Boolean);
  return options.length === 0 ? null : `Name the two ends of a range separately: ${options.join(" ")}`;
}

/** The names that need the fewest changes, at most two and only when they are really alike. */
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

interface MergeBaseOptions {
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

export interface LocalRangeOptions {
  /** Any folder of a repository, or a bare repository. */
  repo: string;
  /** What the change is to be merged into: anything git takes for a commit, or several to choose from. */
  base: string | BaseChoice;
  head: string;
  /** Absolute path of git. */
  gitPath: string;
  /** Where the temporary folder is made; the system's when left out. */
  tempDir?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** `none`: the head is the first commit; `cut_off`: the clone is shallow and lacks it. */
export type Parent = "present" | "none" | "cut_off";

export interface LocalRange extends AsyncDisposable {
  readonly place: CheckoutPlace;
  /** Names for people: the branch or tag where the revision is one, else what was asked for. */
  readonly names: { base: string; head: string };
  /** The top folder of the repository's work tree; null when it is bare. */
  readonly workTree: string | null;
  /** Whether the work tree has changes of tracked files that no commit holds, so that the review does not see them. */
  readonly dirty: boolean;
  /** How many commits of the base the head lacks, where the head has none of its own; else 0. */
  readonly behind: number;
  /** Whether the commit before the head is there, looked for only if both ends are one commit. */
  readonly parent: Parent;
  /** Removes the temporary folder. */
  dispose(): Promise<void>;
}

/**
 * Opens commits of a repository on this machine for reading. Nothing is written to that repository and nothing that it
 * configures is run: a scratch repository borrows its objects, and the head is checked out beside it.
 *
 * Rejects with `repository_unavailable` (none here, or objects missing), `revision_unknown` (no such commit, no common
 * ancestor), `too_large` (before a file is written).
 */
export async function openLocalRange(options: LocalRangeOptions): Promise<LocalRange> {
  const folder = await makeTempFolder(resolve(options.tempDir ?? tmpdir()));
  const dispose = () => removeFolder(folder);
  try {
    const opened = await open(options, folder);
    return { ...opened, dispose, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

async function open(options: LocalRangeOptions, folder: string) {
  const { signal } = options;
  const git: Git = { gitPath: options.gitPath, emptyHome: join(folder, "home") };
  const [gitDir, root] = [join(folder, "repository.git"), join(folder, "head")];
  await Promise.all([mkdir(git.emptyHome), mkdir(root)]);
  const source = await discoverRepository(git, options.repo);
  const { base, head } = await resolveEnds(git, source, options);
  await createScratchRepository(gitDir, source, { headSha: head.sha, attributes: true });
  const shas = {
    head: head.sha,
    base: base.sha,
    ...(await findMergeBase({
      git,
      gitDir,
      base: base.sha,
      head: head.sha,
      shallow: source.shallow,
      signal,
    })),
  };
  const place: CheckoutPlace = { ...git, gitDir, root, shas };
  await requireReadable(place, source, signal);
  const [dirty, behind, parent] = await Promise.all([
    hasUncommittedChanges(git, source, join(folder, "status.git")),
    commitsBehind(place, signal),
    base.sha === head.sha ? parentOf(git, source, head.sha) : ("present" as const),
    writeTree({ git, gitDir, root, indexFile: join(folder, "index"), sha: head.sha, settled: false, signal }),
  ]);
  const names = { base: base.name, head: head.name };
  return { place, dirty, behind, parent, workTree: source.workTree, names };
}

async function parentOf(git: Git, source: LocalRepository, sha: string): Promise<Parent> {
  if ((await resolveFirst(git, source, [`${sha}~1`])) !== null) return "present";
  return source.shallow ? "cut_off" : "none";
}

async function commitsBehind(place: CheckoutPlace, signal: AbortSignal | undefined): Promise<number> {
  const { base, head, mergeBase: ancestor } = place.shas;
  if (ancestor !== head || base === head) return 0;
  const { stdout } = await runGit({
    git: place,
    gitDir: place.gitDir,
    what: "rev-list",
    args: ["rev-list", "--count", base, `^${head}`],
    signal,
  });
  return Number(stdout.toString("latin1"));
}

/**
 * Refuses what would hurt the machine, before a file is written, and what cannot be read: a partial clone may lack content that
 * we must not fetch, for the way to its remote is the owner's.
 */
async function requireReadable(
  place: CheckoutPlace,
  source: LocalRepository,
  signal: AbortSignal | undefined,
): Promise<void> {
  const listing = { git: place, gitDir: place.gitDir, signal };
  const { head, base, mergeBase: ancestor } = place.shas;
  const plan = await planCheckout(listing, undefined, head, defaultLimits);
  plannedBytes(plan, await blobSizes(listing, plan.come), defaultLimits);
  const packs = await readdir(join(source.commonDir, "objects", "pack")).catch(() => []);
  if (!packs.some((name) => name.endsWith(".promisor"))) return;
  const oldSides = await Promise.all([
    listOldSide(listing, base, head),
    listOldSide(listing, ancestor, head),
  ]);
  const needed = new Set([...plan.come, ...oldSides.flat()]);
  const missing = needed.size - (await blobSizes(listing, needed)).size;
  if (missing === 0) return;
  throw new AppError(
    "repository_unavailable",
    `${missing} files of this range are missing, because the repository is a partial clone`,
    { remedy: "Run git fetch --refetch --no-filter in it" },
  );
}
