import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { AppError } from "../../core/errors.ts";
import { isNamedLikeSecret, NAMED_LIKE_SECRET } from "../../core/secrets/file-names.ts";
import { splitRecords } from "../../core/text/decode.ts";
import {
  type Capture,
  captureChanges,
  emptyCommit,
  emptyTree,
  hasChanges,
  indexStamp,
  openForCapture,
} from "./capture.ts";
import { requireComparable } from "./compare-trees.ts";
import { decodeName } from "./names.ts";
import {
  type BaseChoice,
  discoverRepository,
  findCommits,
  firstCommit,
  type LocalRepository,
  namesOf,
  noBase,
  type Revision,
  SHALLOW_REMEDY,
  unknownRevision,
} from "./repository.ts";
import { type Git, type GitPlace, isObjectName, runGit } from "./run-git.ts";
import { createScratchRepository, openTempGit, type TempGit } from "./scratch.ts";
import type { UserHome } from "./work-tree.ts";
import type { RevisionPlace, Shas } from "./workspace.ts";

interface MergeBaseOptions extends GitPlace {
  base: string;
  head: string;
  /** Whether the history is shallow, the usual reason for a missing common commit. */
  shallow?: boolean;
}

/**
 * The commit that a pull request is compared with, and the number of alternatives: git picks one of several merge bases, and an author can make
 * it pick one since which nothing changed. Rejects with `revision_unknown` without a common commit, with `too_large` if git could not compare.
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
 * What of a repository is read:
 * - `commits`: the commits from the merge base to the head
 * - `commit`: the head alone, against its parent
 * - `work_tree`: the commits and the uncommitted changes, if there are any; without a base to choose from, only the latter
 * - `uncommitted`: from HEAD to the work tree
 * - `staged`: from HEAD to the index
 */
type Scope = "commits" | "commit" | "work_tree" | "uncommitted" | "staged";

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
  gitPath: string;
  /** The parent of the temporary folder; default: the system's. */
  tempDir?: string | undefined;
  signal?: AbortSignal | undefined;
}

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
type ParentState = "present" | "none" | "cut_off";

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
  dispose(): Promise<void>;
}

/**
 * Opens commits of a repository on this machine for reading. Writes nothing to that repository and runs nothing from its configuration: a
 * scratch repository borrows its objects. Rejects with `repository_unavailable`, also for missing objects, and `revision_unknown`.
 */
export async function openLocalRange(options: LocalRangeOptions): Promise<LocalRange> {
  const temp = await openTempGit(options.gitPath, options.tempDir && resolve(options.tempDir));
  const dispose = temp[Symbol.asyncDispose];
  try {
    const opened = await open(options, temp);
    return { ...opened, dispose, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

async function open(options: LocalRangeOptions, { git, folder }: TempGit) {
  const { scope = "commits", signal } = options;
  const found = await discoverRepository(git, options.repo);
  const source = { ...found, indexFile: options.indexFile ?? found.indexFile };
  const place = { git, source, folder, gitDir: join(folder, "repository.git"), signal };
  return await openScope(place, { ...options, scope }).catch(async (error: unknown) => {
    throw await asPartial(source, error);
  });
}

async function openScope(place: Opening, options: LocalRangeOptions & { scope: Scope }) {
  const { scope, head } = options;
  if (scope === "commit") return await openCommit(place, head);
  const isBare = place.source.workTree === null;
  if (scope === "commits" || (isBare && scope === "work_tree"))
    return await openCommits(place, options, true);
  const captured = await captureStill(place, { ...options, scope });
  return captured === null
    ? await openCommits(place, options, false)
    : await openCapture(place, { ...options, scope }, captured);
}

/** A repository to read, and the folder for all that is written. */
interface Opening extends GitPlace {
  /** The scratch repository, which does not exist yet. */
  gitDir: string;
  source: LocalRepository;
  folder: string;
}

async function openCommits(place: Opening, options: LocalRangeOptions, mayBeDirty: boolean) {
  const { git, source, gitDir, folder, signal } = place;
  const [head, headSha = null] = await findCommits(git, source, [options.head, "HEAD"]);
  if (!head) throw await unknownRevision(git, source, options.head);
  const base = await chosenBase(git, source, options.base);
  if (base instanceof AppError) throw base;
  const [headName = options.head] = await namesOf(git, source, [options.head]);
  await createScratchRepository(gitDir, source, { headSha: head, attributes: true });
  const ends = { head, base: base.sha };
  const ancestor = await findMergeBase({ git, gitDir, signal, ...ends, shallow: source.shallow });
  const [dirty, parent] = await Promise.all([
    mayBeDirty && hasChanges(git, source, { indexDir: join(folder, "index.git"), headSha, user: null }),
    base.sha === head ? parentOf(git, source, head) : ("present" as const),
  ]);
  const names = { base: base.name, head: headName };
  return await opened(place, { shas: { ...ends, ...ancestor }, dirty, parent, names });
}

/** A commit against its first parent, or against nothing if it is the first. */
async function openCommit(place: Opening, asked: string) {
  const { git, source, gitDir } = place;
  const [head] = await findCommits(git, source, [asked]);
  if (!head) throw await unknownRevision(git, source, asked);
  await createScratchRepository(gitDir, source, { headSha: head, attributes: true });
  const [before] = await findCommits(git, source, [`${head}~1`]);
  if (!before && source.shallow)
    throw new AppError("revision_unknown", `The parent of '${asked}' is missing`, { remedy: SHALLOW_REMEDY });
  const base = before ?? (await emptyCommit({ git, indexDir: gitDir }, source.objectFormat, place.signal));
  await requireComparable({ git, gitDir, signal: place.signal }, [[base, head]]);
  const names = { base: before ? `${asked}~1` : "nothing", head: asked };
  return await opened(place, {
    shas: { head, base, mergeBase: base, ...(before ? {} : { baseTree: emptyTree[source.objectFormat] }) },
    // Who names a commit means that commit.
    dirty: false,
    parent: "present",
    names,
  });
}

type UncommittedScope = Exclude<Scope, "commits" | "commit">;

/** How often the state of a work tree is captured anew because something wrote to the repository meanwhile. */
const MOST_CAPTURES = 3;

/** Captures what is uncommitted while HEAD and the index stay as they are. Null if there is nothing uncommitted. */
async function captureStill(
  { git, source, folder, signal }: Opening,
  { scope, user = null, reports }: LocalRangeOptions & { scope: UncommittedScope },
): Promise<Captured | null> {
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
    const captured = await openForCapture(git, source, { indexDir, headSha: before.head, user, reports })
      .then((open) => captureChanges(open, options))
      .then(
        (capture) => capture && { indexDir, capture },
        (error: unknown) => ({ error }),
      );
    const after = await stateNow();
    const isStill = before.head === after.head && before.index === after.index;
    if (captured !== null && "error" in captured) {
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

/** A capture, and the repository with its objects. */
interface Captured {
  indexDir: string;
  capture: Capture;
}

async function openCapture(
  place: Opening,
  options: LocalRangeOptions & { scope: UncommittedScope },
  { indexDir, capture }: Captured,
) {
  const { git, source, gitDir, signal } = place;
  // A first commit shares nothing with a branch that happens to be there.
  const hasBase = options.scope === "work_tree" && !(capture.isFirst && typeof options.base !== "string");
  const found = hasBase ? await chosenBase(git, source, options.base) : null;
  if (found instanceof AppError && typeof options.base !== "string" && options.base.isCertain) throw found;
  // Without a base, there is only HEAD to compare with.
  const base = found instanceof AppError ? null : found;
  const head = capture.commit;
  await createScratchRepository(
    gitDir,
    { ...source, commonDir: indexDir },
    { headSha: head, attributes: true },
  );
  const onlyStaged = options.scope === "staged";
  const [ancestor, [branch = "HEAD"]] = await Promise.all([
    base === null
      ? { mergeBase: capture.parent }
      : findMergeBase({ git, gitDir, signal, base: base.sha, head, shallow: source.shallow }),
    namesOf(git, source, ["HEAD"]),
  ]);
  const named = base === null && capture.isFirst ? { baseTree: emptyTree[source.objectFormat] } : {};
  const shas = { head, base: base?.sha ?? capture.parent, ...ancestor, headTree: capture.tree, ...named };
  return await opened(place, {
    shas,
    dirty: false,
    parent: "present",
    names: { base: base?.name ?? "HEAD", head: onlyStaged ? "index" : "working tree" },
    withheld: capture.withheld.map(({ path, reason }) => [path, reason]),
    uncommitted: {
      isClean: capture.isClean,
      left: capture.left,
      hasCommits: base !== null,
      onlyStaged,
      lacksBase: hasBase && base === null,
      branch: branch === "HEAD" ? null : branch,
    },
  });
}

/** The named base, or the first of the usual ones; the error if none of those exists. */
async function chosenBase(
  git: Git,
  source: LocalRepository,
  base: string | BaseChoice,
): Promise<Revision | AppError> {
  const found = await firstCommit(git, source, typeof base === "string" ? [base] : base.names);
  if (found) return { ...found, name: (await namesOf(git, source, [found.name]))[0] ?? found.name };
  if (typeof base === "string") throw await unknownRevision(git, source, base);
  return noBase(base, source);
}

interface Opened {
  shas: Shas;
  dirty: boolean;
  parent: ParentState;
  names: { base: string; head: string };
  withheld?: [path: string, reason: string][];
  uncommitted?: Uncommitted;
}

async function opened(
  opening: Opening,
  { shas, withheld: captured = [], uncommitted = undefined, ...rest }: Opened,
) {
  const { git, gitDir, source, signal } = opening;
  await requireWhole(opening, shas);
  const [root, isWorkTree] = [source.workTree ?? source.gitDir, source.workTree !== null];
  const withheld = [...(await namedLikeSecrets(opening, shas)), ...captured];
  const place: RevisionPlace = { ...git, gitDir, root, isCheckedOut: false, isWorkTree, shas, withheld };
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
