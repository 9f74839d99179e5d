import { mkdir, readdir, realpath, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { distance } from "fastest-levenshtein";
import { type SimpleGit, simpleGit } from "simple-git";
import { AppError } from "../errors.ts";
import { isNamedLikeSecret, NAMED_LIKE_SECRET } from "../secrets/file-names.ts";
import { splitRecords } from "../text/decode.ts";
import {
  type Capture,
  captureChanges,
  emptyCommit,
  emptyTree,
  indexStamp,
  openForCapture,
  workTreeStamp,
} from "./capture.ts";
import { requireComparable } from "./compare-trees.ts";
import { decodeName } from "./names.ts";
import { type Git, gitEnvironment, hardenedConfig, isObjectName, runGit } from "./run-git.ts";
import { createScratchRepository, makeTempFolder, removeFolder } from "./scratch.ts";
import {
  type CopiedIndex,
  copyIndex,
  isDirty,
  type LocalRepository,
  lendWorkTree,
  type UserHome,
} from "./work-tree.ts";
import type { RevisionPlace, Shas } from "./workspace.ts";

/** Only the caller of the command line decides which repository is read, so its owner does not matter. */
const anyOwner = [["safe.directory", "*"]] as const;

/** Finds the repository of a folder. Rejects with `repository_unavailable` if there is none. */
export async function discoverRepository(git: Git, folder: string): Promise<LocalRepository> {
  const baseDir = resolve(folder);
  const stats = await stat(baseDir).catch(() => null);
  if (stats === null) throw noRepository(`There is no folder '${folder}'`);
  if (!stats.isDirectory()) throw noRepository(`'${folder}' is a file, not a folder`);
  const gitDir = (await looksBare(baseDir)) ? baseDir : undefined;
  const client = createGit({ git, baseDir, gitDir, config: anyOwner });
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

/** The error for a folder without a repository. */
export function noRepository(message: string): AppError {
  return new AppError("repository_unavailable", message, {
    remedy: "Name a folder inside a git repository with --repo",
  });
}

interface CreateGitOptions {
  git: Git;
  /** The folder that git runs in; without `gitDir` it searches for a repository from here upwards. */
  baseDir: string;
  gitDir?: string | undefined;
  /** More configuration, which overrides the hardened one. */
  config?: readonly (readonly [string, string])[];
  signal?: AbortSignal | undefined;
  /** Every command of this instance must finish within this time. Default 1 minute. */
  timeoutMs?: number | undefined;
}

/**
 * Keys that prevent git from starting a program. simple-git refuses each of them with any value, and its commands here do not need them:
 * they look up names, run no hooks, filters or monitors, and fetch nothing (`GIT_NO_LAZY_FETCH`).
 */
const guarded = /^(?:core\.(?:hooksPath|fsmonitor|askPass)|credential\.|filter\.|protocol\.)/;

/**
 * The only constructor of simple-git, for lookups of names: repositories, revisions, refs, settings. Content is read with `runGit`, which
 * preserves bytes; fetches have a function of their own, which also ends git's children. simple-git's guards stay active except the one
 * against program paths with unusual characters: ours is an absolute path that `requireGit` has tried.
 */
export function createGit(options: CreateGitOptions): SimpleGit {
  // HOME is empty, so there is no global configuration; simple-git also refuses the variable that sets this.
  const { GIT_CONFIG_GLOBAL: _, ...own } = gitEnvironment(options.git);
  const environment = { ...own, ...(options.gitDir ? { GIT_DIR: options.gitDir } : {}) };
  const config = [...hardenedConfig().filter(([key]) => !guarded.test(key)), ...(options.config ?? [])];
  // simple-git's own time-out restarts with every byte; a signal does not.
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
  /** Relative to that folder. Deleted files without a commit of the deletion are included. */
  paths: string[];
}

/**
 * The files of the repository of a folder: tracked, or neither tracked nor ignored. Runs nothing from the repository's configuration.
 * Rejects with `repository_unavailable` if there is no repository, or no work tree.
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
      throw new AppError("repository_unavailable", `The repository at '${folder}' has no working tree`, {
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

/** The address of the remote "origin", as it is written in the repository's configuration; null if there is none. */
export async function originAddress(folder: string, gitPath: string): Promise<string | null> {
  const temp = await makeTempFolder(tmpdir());
  try {
    const git = { gitPath, emptyHome: join(temp, "home") };
    await mkdir(git.emptyHome);
    const { commonDir, gitDir } = await discoverRepository(git, folder);
    const args = ["config", "--file", join(commonDir, "config"), "--get", "remote.origin.url"];
    const asked = { git, gitDir, what: "read the configuration", args, expectedExits: [0, 1] };
    return (await runGit(asked)).stdout.toString("utf8").trim() || null;
  } finally {
    await removeFolder(temp);
  }
}

/**
 * A text that changes with every edit of a work tree or its index; null if they are as in HEAD, or if there is no work tree. Writes only to
 * `folder`, and runs nothing from the repository's configuration.
 */
export async function uncommittedStamp(
  git: Git,
  source: LocalRepository,
  { folder: indexDir, user }: { folder: string; user: UserHome | null },
): Promise<string | null> {
  if (source.workTree === null) return null;
  const [headSha = null] = await findCommits(git, source, ["HEAD"]);
  const stampOf = stampsOf(git, user);
  return await workTreeStamp(await openForCapture(git, source, { indexDir, headSha, user, stampOf }));
}

const stampsOf = (git: Git, user: UserHome | null) => async (folder: string, indexDir: string) =>
  uncommittedStamp(git, await discoverRepository(git, folder), { folder: indexDir, user });

interface Revision {
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

/** The two ends of a range. */
interface RangeEnds {
  base: Revision;
  head: Revision;
  /** The commit of HEAD; null if there is none. */
  checkedOut: string | null;
}

/**
 * Resolves both ends of a range; each may be anything that git resolves to a commit. Rejects with `revision_unknown` and the reason:
 * branches with a similar name, a range, shallow history, no commits at all. An unknown head is reported first.
 */
export async function resolveEnds(
  git: Git,
  repository: LocalRepository,
  ends: { base: string | BaseChoice; head: string },
): Promise<RangeEnds> {
  const bases = typeof ends.base === "string" ? [ends.base] : ends.base.names;
  const [head, checkedOut = null, ...found] = await findCommits(git, repository, [
    ends.head,
    "HEAD",
    ...bases,
  ]);
  if (!head) throw await unknownRevision(git, repository, ends.head);
  const chosen = found.findIndex((sha) => sha !== null);
  const [base, asked] = [found[chosen], bases[chosen]];
  if (base && asked !== undefined) {
    const names = await namesOf(git, repository, [asked, ends.head]);
    return {
      base: { sha: base, name: names[0] ?? asked },
      head: { sha: head, name: names[1] ?? ends.head },
      checkedOut,
    };
  }
  if (typeof ends.base === "string") throw await unknownRevision(git, repository, ends.base);
  throw noBase(ends.base, repository);
}

const noBase = ({ complaint, remedy = FETCH_REMEDY }: BaseChoice, { shallow }: LocalRepository) =>
  new AppError("revision_unknown", complaint, { remedy: shallow ? SHALLOW_REMEDY : remedy });

/** "OID TYPE", the requested format of `cat-file`. For a missing object it repeats the text, with "missing". */
const foundObject = /^([0-9a-f]{40}|[0-9a-f]{64}) (commit|tag)$/;

/**
 * The commits of the texts; null for a text that names none. git reads the texts from its input, so they are only data. A branch goes before
 * a tag of the same name.
 */
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
async function namesOf(git: Git, repository: LocalRepository, texts: readonly string[]): Promise<string[]> {
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

function clientOf(git: Git, { gitDir }: LocalRepository): SimpleGit {
  return createGit({ git, baseDir: gitDir, gitDir, config: [["safe.directory", "*"]] });
}

async function unknownRevision(git: Git, repository: LocalRepository, text: string): Promise<AppError> {
  const [message, remedy] = await whyUnknown(git, repository, text);
  return new AppError("revision_unknown", message, { remedy });
}

/** The message for a missing revision, with its remedy. */
async function whyUnknown(
  git: Git,
  repository: LocalRepository,
  text: string,
): Promise<[message: string, remedy: string]> {
  const isThere = async (one: string) => (await findCommits(git, repository, [one]))[0] !== null;
  const refs = await clientOf(git, repository)
    .raw(["for-each-ref", "--format=%(refname:short)", "--count=5000"])
    .catch(() => "");
  if (refs === "" && !(await isThere("HEAD"))) {
    return ["This repository has no commits yet", "Commit something first"];
  }
  if (text === "HEAD") {
    return ["The checked-out branch has no commits yet", "Commit something first, or name a --head"];
  }
  const message = `There is no commit '${text}' in this repository`;
  const near = nearest(text, refs.split("\n").filter(Boolean));
  const descendant = /^([^~^]+)[~^]/.exec(text)?.[1];
  const isBeyond = descendant !== undefined && (await isThere(descendant));
  // A correct name is similar to itself.
  const isMisspelt = !isBeyond && near.length > 0;
  const remedy =
    rangeRemedy(text) ??
    (isMisspelt ? `Did you mean ${near.map((name) => `'${name}'`).join(" or ")}?` : null) ??
    (repository.shallow ? SHALLOW_REMEDY : null) ??
    (isBeyond ? `The history of '${descendant}' does not go back that far` : "Fetch it first");
  return [message, remedy];
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

interface MergeBaseOptions {
  git: Git;
  gitDir: string;
  base: string;
  head: string;
  /** Whether the history is shallow, the usual reason for a missing common commit. */
  shallow?: boolean;
  signal?: AbortSignal | undefined;
}

/**
 * The commit that a pull request is compared with, and the number of alternatives. Branches that were merged into each other crosswise have
 * several merge bases. git picks one, and an author can make it pick one since which nothing changed. Rejects with `revision_unknown` if
 * the histories share no commit, and with `too_large` if git could not compare the three commits in bounded memory.
 */
export async function findMergeBase(
  options: MergeBaseOptions,
): Promise<Pick<Shas, "mergeBase" | "mergeBases">> {
  const { git, gitDir, base, head, signal } = options;
  const place = { git, gitDir, signal };
  const args = ["merge-base", "--all", "--end-of-options", base, head];
  const { stdout, exitCode } = await runGit({ ...place, what: "merge-base", args, expectedExits: [0, 1] });
  const [mergeBase = "", ...others] = stdout.toString("latin1").trim().split("\n");
  if (exitCode === 0 && isObjectName(mergeBase)) {
    await requireComparable(place, [
      [base, head],
      [mergeBase, head],
      [mergeBase, base],
    ]);
    return { mergeBase, ...(others.length > 0 ? { mergeBases: 1 + others.length } : {}) };
  }
  const remedy = options.shallow ? SHALLOW_REMEDY : "Name a base that shares history with the head";
  throw new AppError(
    "revision_unknown",
    `${base.slice(0, 12)} and ${head.slice(0, 12)} have no common ancestor`,
    { remedy },
  );
}

/**
 * What of a repository is read.
 *
 * - `commits`: the commits from the merge base to the head
 * - `commit`: the head alone, against its parent
 * - `work_tree`: the commits and the uncommitted changes, if there are any; without a base to choose from, only the latter
 * - `uncommitted`: from HEAD to the work tree
 * - `staged`: from HEAD to the index
 *
 * The last three concern what is checked out: `head` is HEAD.
 */
export type Scope = "commits" | "commit" | "work_tree" | "uncommitted" | "staged";

export interface LocalRangeOptions {
  /** Any folder of a repository, or a bare repository. */
  repo: string;
  /** Default: `commits`. */
  scope?: Scope | undefined;
  /** Whose ignored files are left out; by default, only those count that the repository ignores itself. */
  user?: UserHome | null | undefined;
  /** The target of the change: anything that git resolves to a commit, or several candidates. */
  base: string | BaseChoice;
  head: string;
  /** Absolute path of the index to read. Default: the work tree's. */
  indexFile?: string | undefined;
  /** Files that count as ignored: reports of this program. */
  reports?: readonly string[] | undefined;
  /** Absolute path of git. */
  gitPath: string;
  /** The parent of the temporary folder; default: the system's. */
  tempDir?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Uncommitted changes that are part of a range. */
export interface Uncommitted extends Pick<Capture, "isClean" | "left"> {
  /** Whether commits since the base are part of the range as well. */
  hasCommits: boolean;
  /** Whether commits may be missing because no base was found. */
  lacksBase: boolean;
  onlyStaged: boolean;
  /** Name of the branch; null if no branch is checked out. */
  branch: string | null;
}

/** `none`: the head is the first commit; `cut_off`: the clone is shallow, so it may lack commits. */
export type ParentState = "present" | "none" | "cut_off";

export interface LocalRange extends AsyncDisposable {
  readonly place: RevisionPlace;
  /** Names for people: the branch or tag if the revision is one, else the requested text. */
  readonly names: { base: string; head: string };
  /** The top folder of the repository's work tree; null if it is bare. */
  readonly workTree: string | null;
  /** Whether the work tree has uncommitted changes of tracked files, which the review does not see. */
  readonly dirty: boolean;
  /** What is read besides commits; null if it is nothing. */
  readonly uncommitted: Uncommitted | null;
  /** The number of base commits missing from the head, if the head has no commits of its own; else 0. */
  readonly behind: number;
  /** Whether the commit before the head is present; only checked if both ends are one commit. */
  readonly parent: ParentState;
  /** Removes the temporary folder. */
  dispose(): Promise<void>;
}

/**
 * Opens commits of a repository on this machine for reading. Writes nothing to that repository and runs nothing from its configuration: a
 * scratch repository borrows its objects. Nothing is checked out: files are read from the objects, and searched in the work tree as far as
 * it has the head's files.
 *
 * Rejects with `repository_unavailable` (no repository, or missing objects), `revision_unknown` (no such commit, no common ancestor).
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
  const { scope = "commits", signal } = options;
  const git: Git = { gitPath: options.gitPath, emptyHome: join(folder, "home") };
  await mkdir(git.emptyHome);
  const source = await discoverRepository(git, options.repo);
  const place = {
    git,
    source: withIndex(source, options),
    folder,
    gitDir: join(folder, "repository.git"),
    signal,
  };
  return await openScope(place, { ...options, scope }).catch(async (error: unknown) => {
    throw await asPartial(source, error);
  });
}

async function openScope(place: Opening, options: LocalRangeOptions & { scope: Scope }) {
  const { scope, head } = options;
  if (scope === "commit") return await openCommit(place, head);
  if (scope === "commits") return await openCommits(place, options, null);
  if (place.source.workTree === null && scope === "work_tree") return await openCommits(place, options, null);
  const { index, capture } = await captureStill(place, { ...options, scope });
  return capture === null
    ? await openCommits(place, options, index)
    : await openCapture(place, { ...options, scope }, { index, capture });
}

const withIndex = (source: LocalRepository, { indexFile = source.indexFile }: LocalRangeOptions) => ({
  ...source,
  indexFile,
});

/** A repository to read, and the folder for all that is written. */
interface Opening {
  git: Git;
  source: LocalRepository;
  folder: string;
  /** The scratch repository, which does not exist yet. */
  gitDir: string;
  signal: AbortSignal | undefined;
}

/** @param known a copy of the index, if it is known that nothing is uncommitted */
async function openCommits(place: Opening, options: LocalRangeOptions, known: CopiedIndex | null) {
  const { git, source, gitDir, signal } = place;
  const { base, head, checkedOut } = await resolveEnds(git, source, options);
  await createScratchRepository(gitDir, source, { headSha: head.sha, attributes: true });
  const ends = { head: head.sha, base: base.sha };
  const ancestor = await findMergeBase({ git, gitDir, signal, ...ends, shallow: source.shallow });
  const [{ dirty, files }, parent] = await Promise.all([
    headFiles(place, { checkedOut, headSha: head.sha, known }),
    base.sha === head.sha ? parentOf(git, source, head.sha) : ("present" as const),
  ]);
  const names = { base: base.name, head: head.name };
  return await opened(place, { shas: { ...ends, ...ancestor }, files, dirty, parent, names });
}

/** A commit against its first parent, or against nothing if it is the first. */
async function openCommit(place: Opening, asked: string) {
  const { git, source, gitDir } = place;
  const [head, checkedOut = null] = await findCommits(git, source, [asked, "HEAD"]);
  if (!head) throw await unknownRevision(git, source, asked);
  await createScratchRepository(gitDir, source, { headSha: head, attributes: true });
  const [before] = await findCommits(git, source, [`${head}~1`]);
  if (!before && source.shallow)
    throw new AppError("revision_unknown", `The parent of '${asked}' is missing`, { remedy: SHALLOW_REMEDY });
  const base = before ?? (await emptyCommit({ git, indexDir: gitDir }, place.signal));
  await requireComparable({ git, gitDir, signal: place.signal }, [[base, head]]);
  const { files } = await headFiles(place, { checkedOut, headSha: head, known: null });
  const names = { base: before ? `${asked}~1` : "nothing", head: asked };
  return await opened(place, {
    shas: { head, base, mergeBase: base, ...(before ? {} : { baseTree: emptyTree[source.objectFormat] }) },
    files,
    // Who names a commit means that commit.
    dirty: false,
    parent: "present",
    names,
  });
}

type UncommittedScope = Exclude<Scope, "commits" | "commit">;

/** How often the state of a work tree is captured anew because something wrote to the repository meanwhile. */
const MOST_CAPTURES = 3;

/**
 * Captures what is uncommitted while HEAD and the index stay as they are. Without a capture there is nothing uncommitted.
 */
async function captureStill(
  { git, source, folder, signal }: Opening,
  { scope, user = null, reports }: LocalRangeOptions & { scope: UncommittedScope },
): Promise<{ index: CopiedIndex; capture: Capture | null }> {
  const options = {
    onlyStaged: scope === "staged",
    evenIfClean: scope !== "work_tree",
    at: Date.now(),
    signal,
  };
  const stateNow = async () => ({
    head: (await findCommits(git, source, ["HEAD"]))[0] ?? null,
    index: await indexStamp(source),
  });
  for (let attempt = 1; attempt <= MOST_CAPTURES; attempt++) {
    const before = await stateNow();
    const indexDir = join(folder, `index-${attempt}.git`);
    const captured = await (async () => {
      const capturePlace = { indexDir, headSha: before.head, user, reports, stampOf: stampsOf(git, user) };
      const open = await openForCapture(git, source, capturePlace);
      return { index: open.index, capture: await captureChanges(open, options) };
    })().catch((error: unknown) => ({ error }));
    const after = await stateNow();
    const isStill = before.head === after.head && before.index === after.index;
    if ("error" in captured) {
      // What changed meanwhile may be the reason.
      if (isStill || signal?.aborted) throw captured.error;
    } else if (isStill) return captured;
  }
  throw new AppError(
    "repository_unavailable",
    `HEAD or the index changed each of the ${MOST_CAPTURES} times that the working tree was read`,
    {
      remedy:
        "Wait until the other program is done with the repository, such as a rebase or an editor, then try again",
    },
  );
}

async function openCapture(
  place: Opening,
  options: LocalRangeOptions & { scope: UncommittedScope },
  { index, capture }: { index: CopiedIndex; capture: Capture },
) {
  const { git, source, gitDir, signal } = place;
  // A first commit shares nothing with a branch that happens to be there.
  const hasBase = options.scope === "work_tree" && !(capture.isFirst && typeof options.base !== "string");
  const base = hasBase ? await chosenBase(git, source, options.base) : null;
  const head = capture.commit;
  await createScratchRepository(
    gitDir,
    { ...source, commonDir: index.indexDir },
    { headSha: head, attributes: true },
  );
  const onlyStaged = options.scope === "staged";
  // What was not captured differs from the tree.
  const isHead = async () => !onlyStaged && capture.left.length === 0;
  const [ancestor, lent, [branch = "HEAD"]] = await Promise.all([
    base === null
      ? { mergeBase: capture.parent }
      : findMergeBase({ git, gitDir, signal, base: base.sha, head, shallow: source.shallow }),
    lendWorkTree(index, head, isHead, signal),
    namesOf(git, source, ["HEAD"]),
  ]);
  const named = base === null && capture.isFirst ? { baseTree: emptyTree[source.objectFormat] } : {};
  const shas = { head, base: base?.sha ?? capture.parent, ...ancestor, headTree: capture.tree, ...named };
  return await opened(place, {
    ...{ shas, files: lent === null ? { kind: "objects" } : { kind: "work_tree", ...lent } },
    ...{ dirty: false, parent: "present" },
    names: { base: base?.name ?? "HEAD", head: onlyStaged ? "index" : "working tree" },
    withheld: capture.withheld.map(({ path, reason }) => [path, reason]),
    uncommitted: {
      ...{ isClean: capture.isClean, left: capture.left, hasCommits: base !== null, onlyStaged },
      lacksBase: hasBase && base === null,
      branch: branch === "HEAD" ? null : branch,
    },
  });
}

/** Null if no base was named, and none of the usual ones exists: then there is only HEAD to compare with. */
async function chosenBase(
  git: Git,
  source: LocalRepository,
  base: string | BaseChoice,
): Promise<Revision | null> {
  const names = typeof base === "string" ? [base] : base.names;
  const found = await firstCommit(git, source, names);
  if (found) return { ...found, name: (await namesOf(git, source, [found.name]))[0] ?? found.name };
  if (typeof base === "string") throw await unknownRevision(git, source, base);
  if (base.isCertain) throw noBase(base, source);
  return null;
}

interface Opened {
  shas: Shas;
  files: RevisionPlace["files"];
  dirty: boolean;
  parent: ParentState;
  names: { base: string; head: string };
  withheld?: [path: string, reason: string][];
  uncommitted?: Uncommitted;
}

async function opened(
  opening: Opening,
  { shas, files, withheld: captured = [], uncommitted = undefined, ...rest }: Opened,
) {
  const { git, gitDir, source, signal } = opening;
  await requireWhole(opening, shas);
  const root = source.workTree ?? source.gitDir;
  const withheld = [...(await namedLikeSecrets(opening, shas)), ...captured];
  const place: RevisionPlace = { ...git, gitDir, root, files, shas, withheld };
  const behind = await commitsBehind(place, signal);
  return { ...rest, place, behind, workTree: source.workTree, uncommitted: uncommitted ?? null };
}

/** New files that are named like secrets: somebody may have added them by accident. */
async function namedLikeSecrets(
  { git, gitDir, signal }: Opening,
  { mergeBase, head, baseTree = mergeBase }: Shas,
) {
  const options = ["-r", "-z", "--name-only", "--no-renames", "--diff-filter=A"];
  const args = ["diff-tree", ...options, baseTree, head, "--"];
  const { stdout } = await runGit({ git, gitDir, signal, what: "list new files", args });
  const paths = splitRecords(stdout).map(decodeName).filter(isNamedLikeSecret);
  return paths.map((path): [string, string] => [path, NAMED_LIKE_SECRET]);
}

interface HeadFilesOptions {
  checkedOut: string | null;
  headSha: string;
  /** A copy of the index without a change. */
  known: CopiedIndex | null;
}

/** Where the files of the head can be searched, and whether there are changes without a commit. */
async function headFiles(
  { git, source, folder, signal }: Opening,
  { checkedOut, headSha, known }: HeadFilesOptions,
): Promise<{ dirty: boolean; files: RevisionPlace["files"] }> {
  const copy = async () =>
    checkedOut === null
      ? null
      : await copyIndex(git, source, { indexDir: join(folder, "index.git"), headSha: checkedOut });
  const index = known ?? (await copy());
  if (checkedOut === null || index === null) return { dirty: false, files: { kind: "objects" } };
  const compared = { git, gitDir: index.indexDir, signal };
  const mayCompare = await requireComparable(compared, [[checkedOut, headSha]]).then(
    () => true,
    () => false,
  );
  const dirty = known === null ? isDirty(index) : Promise.resolve(false);
  const isHead = async () => checkedOut === headSha && !(await dirty);
  const lent = mayCompare ? await lendWorkTree(index, headSha, isHead, signal) : null;
  return {
    dirty: await dirty,
    files: lent === null ? { kind: "objects" } : { kind: "work_tree", ...lent },
  };
}

async function parentOf(git: Git, source: LocalRepository, sha: string): Promise<ParentState> {
  if (source.shallow) return "cut_off";
  return (await findCommits(git, source, [`${sha}~1`]))[0] === null ? "none" : "present";
}

async function commitsBehind(place: RevisionPlace, signal: AbortSignal | undefined): Promise<number> {
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

/** Rejects if a partial clone lacks objects of the range. We must not fetch them, because access to its remote belongs to the owner. */
async function requireWhole(
  { git, source, gitDir, signal }: Opening,
  { head, base, mergeBase }: Shas,
): Promise<void> {
  if (!(await isPartial(source))) return;
  const options = ["--objects", "--no-object-names", "--no-walk", "--missing=print"];
  const args = ["rev-list", ...options, head, base, mergeBase];
  const { stdout } = await runGit({ git, gitDir, signal, what: "look for objects", args });
  if (/^\?/m.test(stdout.toString("latin1"))) throw partial("Objects of this range are missing");
}

const isPartial = async ({ commonDir }: LocalRepository) =>
  (await readdir(join(commonDir, "objects", "pack")).catch(() => [])).some((name) =>
    name.endsWith(".promisor"),
  );

const partial = (what: string, cause?: unknown) =>
  new AppError("repository_unavailable", `${what}, because the repository is a partial clone`, {
    remedy: "Run git fetch --refetch --no-filter in it",
    cause,
  });

/** In a partial clone, git fails where an object is missing. Its words for that depend on the command. */
async function asPartial(source: LocalRepository, error: unknown): Promise<unknown> {
  const isGits = error instanceof AppError && error.code === "git_failed";
  return isGits && (await isPartial(source))
    ? partial(`${error.message}. Objects may be missing`, error)
    : error;
}
