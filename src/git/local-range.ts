import { mkdir, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { AppError } from "../errors.ts";
import type { CheckoutPlace } from "./checkout-place.ts";
import { discoverRepository, hasUncommittedChanges, type LocalRepository } from "./local-repository.ts";
import { blobSizes, listOldSide } from "./object-listing.ts";
import { type BaseChoice, findMergeBase, resolveEnds, resolveFirst } from "./resolve-revision.ts";
import { type Git, runGit } from "./run-git.ts";
import { createScratchRepository } from "./scratch-repository.ts";
import { makeTempFolder, removeFolder } from "./temp-folder.ts";
import { defaultLimits, planCheckout, plannedBytes, writeTree } from "./write-tree.ts";

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
