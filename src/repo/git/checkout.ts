import { AppError } from "../../core/errors.ts";
import { requireComparable } from "./compare-trees.ts";
import { checkoutBytes, type DiskNeed, mirrorBytes, noteUse } from "./disk.ts";
import { diskError, isDiskFull, isLocked } from "./git-error.ts";
import type { Mirror, WantedCommit } from "./mirror.ts";
import { blobSizes, listBlobs, listDifference, MAX_ENTRIES, tooManyEntries } from "./object-listing.ts";
import { endOrphans } from "./owner.ts";
import { Slot } from "./places.ts";
import { findMergeBase } from "./range.ts";
import type { FetchAccess } from "./remote.ts";
import { type GitPlace, runGit } from "./run-git.ts";
import type { RevisionPlace } from "./workspace.ts";

export interface CheckoutOptions extends FetchAccess {
  mirror: Mirror;
  head: WantedCommit;
  base: WantedCommit;
  limits?: Partial<CheckoutLimits> | undefined;
  /** Writes no file of the head: everything is read from git's objects. Searches are slower. */
  onlyObjects?: boolean | undefined;
  /** Called before files are written; if it rejects, the checkout rejects with the same error. */
  requireRoom?: ((need: DiskNeed) => Promise<void>) | undefined;
}

export interface Checkout {
  readonly place: RevisionPlace;
  /** Returns the slot to the pool; the files stay, so the next checkout only writes the difference. */
  release(): Promise<void>;
  /** Maintains the mirror. May take minutes and never fails. Call it after the job has ended. */
  tidy(signal?: AbortSignal): Promise<void>;
}

/**
 * Fetches both commits and every blob needed to read them, and checks the head out into a slot of the mirror's pool. Afterwards no process
 * needs the authorization or the network. Rejects with `revision_unknown`, `too_large` (before a file is written), `disk_full`,
 * `repository_unavailable`, `git_failed`, `git_timeout`, `aborted`.
 */
export async function checkout(options: CheckoutOptions): Promise<Checkout> {
  const { dataFolder } = options.mirror.options;
  try {
    const slot = await Slot.take(dataFolder, options.mirror.checkouts, options.signal);
    return await checkoutInto(slot, options);
  } catch (error) {
    throw diskError(dataFolder, error);
  }
}

async function checkoutInto(slot: Slot, options: CheckoutOptions): Promise<Checkout> {
  const release = async () => {
    await noteUse(options.mirror.gitDir);
    await slot.release();
  };
  try {
    // While the slot is held, no other process removes the mirror.
    const mirror = await options.mirror.present(options.signal);
    const place = await fill(slot, { ...options, mirror });
    return { place, release, tidy: (signal) => mirror.tidy(signal) };
  } catch (error) {
    // A partial checkout is useless.
    if (isDiskFull(diskError("", error))) await slot.empty().catch(() => {});
    await release();
    throw error;
  }
}

async function fill(slot: Slot, options: CheckoutOptions): Promise<RevisionPlace> {
  const { mirror, signal } = options;
  const { git, gitDir } = mirror;
  const [head, base] = [options.head.sha, options.base.sha];
  const held = await slot.state(mirror.id);
  await mirror.fetchCommits([options.head, options.base], held ? "small_files" : "no_files", options);
  const limits = { ...defaultLimits, ...options.limits };
  const listing = { git, gitDir, signal };
  /** The blobs that a comparison of an older commit with the head reads and that the head does not have. */
  const oldSide = async (older: string) =>
    (await listDifference(listing, older, head)).flatMap(({ from }) => from ?? []);
  const [found] = await Promise.all([
    findMergeBase({ ...listing, base, head }),
    requireComparable(listing, [[held?.sha ?? head, head]]),
  ]);
  const [plan, sinceBase] = await Promise.all([planCheckout(listing, held, head, limits), oldSide(base)]);
  const ancestor = found.mergeBase;
  const oldSides = ancestor === base ? sinceBase : [...sinceBase, ...(await oldSide(ancestor))];
  const needed = new Set([...plan.come, ...plan.gone, ...oldSides]);
  const sizes = await fetchMissing(options, needed);
  const bytes = plannedBytes(plan, sizes, limits);
  await requireRoom(options, { files: plan.files, bytes }, held);
  const shas = { head, base, ...found };
  const objects: RevisionPlace = { ...git, gitDir, root: slot.root, isCheckedOut: false, shas };
  if (options.onlyObjects) return objects;

  if (held?.sha !== head) await slot.unsettle({ files: plan.files, bytes });
  const { root, indexFile } = slot;
  const write = (settled: boolean) => writeTree({ git, gitDir, root, indexFile, sha: head, settled, signal });
  try {
    await write(held !== undefined).catch(async (error: unknown) => {
      if (!isLocked(error)) throw error;
      // We hold the slot, so this is the lock of a git that was killed, or whose parent was. Until a program runs, nothing shows whose it is.
      await endOrphans();
      await slot.empty();
      await write(false);
    });
  } catch (error) {
    // With a single name that no disk takes, or a single damaged file, git does not write the others: they are read from its objects.
    if (!(error instanceof AppError) || error.code !== "git_failed") throw error;
    return objects;
  }
  await slot.settle({ mirror: mirror.id, sha: head, files: plan.files, bytes });
  return { ...objects, isCheckedOut: true };
}

async function requireRoom(
  { mirror, requireRoom: ask }: CheckoutOptions,
  planned: { files: number; bytes: number },
  held: { files: number; bytes: number } | undefined,
): Promise<void> {
  if (!ask) return;
  const takes = checkoutBytes(planned);
  const newBytes = Math.max(takes - (held ? checkoutBytes(held) : 0), 0);
  await ask({ totalBytes: takes + (await mirrorBytes(mirror.gitDir)), newBytes });
}

/** Fetches the missing blobs, and returns the sizes of all. */
async function fetchMissing(
  options: CheckoutOptions,
  needed: ReadonlySet<string>,
): Promise<Map<string, number>> {
  const { mirror, signal, head, base } = options;
  const listing = { git: mirror.git, gitDir: mirror.gitDir, signal };
  const sizes = await blobSizes(listing, needed);
  const missing = [...needed].filter((oid) => !sizes.has(oid));
  if (missing.length === 0) return sizes;
  await mirror.fetchBlobs(missing, [head.ref, base.ref], options);
  for (const [oid, size] of await blobSizes(listing, missing)) sizes.set(oid, size);
  const lost = missing.filter((oid) => !sizes.has(oid)).length;
  if (lost === 0) return sizes;
  throw new AppError(
    "repository_unavailable",
    `The git server did not send ${lost} of ${missing.length} files`,
    {
      retryable: true,
    },
  );
}

interface WriteTreeOptions extends GitPlace {
  root: string;
  /** Records the folder's content, so that the next call only writes differences. */
  indexFile: string;
  sha: string;
  /** Whether folder and index are known to agree; then only differences from the index are processed. */
  settled: boolean;
}

/** Writes a commit's files to a folder: no `.git`, no symlink, no submodule, nothing executed. Overwrites files in the way. */
export async function writeTree(options: WriteTreeOptions): Promise<void> {
  const overwrite = () => readTree(options, ["--reset", "-u"]);
  if (!options.settled) return await overwrite();
  // A merge does not check unchanged files, but refuses if a file to change differs from git's last write.
  await readTree(options, ["-m", "-u"]).catch(async (error: unknown) => {
    if (options.signal?.aborted) throw error;
    await overwrite();
  });
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
    timeoutMs: 600_000,
  });
}

interface CheckoutLimits {
  maxFiles: number;
  maxBytes: number;
  maxFileBytes: number;
}

/** Larger than any repository that people review, smaller than what harms a machine. */
const defaultLimits: CheckoutLimits = {
  maxFiles: MAX_ENTRIES,
  maxBytes: 8 * 1024 ** 3,
  maxFileBytes: 200 * 1024 ** 2,
};

/** The difference between a slot's current and its planned content. */
interface CheckoutPlan {
  /** Number of the head's files after the plan is carried out. */
  files: number;
  /** Bytes that stay or were there before; `gone` must be subtracted. */
  bytesBefore: number;
  /** One blob for each removed file, and for each added one. */
  gone: string[];
  come: string[];
}

/** Compares with the current content, or lists the whole tree if there is none. Rejects with `too_large`. */
async function planCheckout(
  place: GitPlace,
  held: { sha: string; files: number; bytes: number } | undefined,
  head: string,
  { maxFiles }: CheckoutLimits,
): Promise<CheckoutPlan> {
  if (!held) {
    const come = await listBlobs(place, head, maxFiles);
    return { files: come.length, bytesBefore: 0, gone: [], come };
  }
  const changes = await listDifference(place, held.sha, head);
  const gone = changes.flatMap(({ from }) => from ?? []);
  const come = changes.flatMap(({ to }) => to ?? []);
  const files = held.files - gone.length + come.length;
  if (files > maxFiles) throw tooManyEntries(maxFiles);
  return { files, bytesBefore: held.bytes, gone, come };
}

/** Bytes of the checkout after the plan is carried out. Rejects with `too_large`. */
function plannedBytes(
  plan: Omit<CheckoutPlan, "files">,
  sizes: ReadonlyMap<string, number>,
  limits: CheckoutLimits,
): number {
  const sum = (oids: readonly string[]) => oids.reduce((total, oid) => total + (sizes.get(oid) ?? 0), 0);
  for (const oid of plan.come) {
    const bytes = sizes.get(oid) ?? 0;
    if (bytes > limits.maxFileBytes) {
      throw new AppError(
        "too_large",
        `A file of the head has ${bytes} bytes, more than ${limits.maxFileBytes}`,
      );
    }
  }
  const bytes = plan.bytesBefore - sum(plan.gone) + sum(plan.come);
  if (bytes <= limits.maxBytes) return bytes;
  throw new AppError("too_large", `The head has ${bytes} bytes, more than ${limits.maxBytes}`);
}
