import { AppError } from "../errors.ts";
import { requireComparable } from "./compare-trees.ts";
import { checkoutBytes, type DiskNeed, mirrorBytes, noteUse } from "./disk.ts";
import { diskError, isDiskFull, isLocked } from "./git-error.ts";
import type { Mirror, WantedCommit } from "./mirror.ts";
import { blobSizes, listOldSide } from "./object-listing.ts";
import { endOrphans } from "./owner.ts";
import { Slot } from "./places.ts";
import { findMergeBase } from "./range.ts";
import type { FetchAccess } from "./remote.ts";
import type { RevisionPlace } from "./workspace.ts";
import { type CheckoutLimits, defaultLimits, planCheckout, plannedBytes, writeTree } from "./write-tree.ts";

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
 * needs the authorization or the network.
 *
 * Rejects with `revision_unknown` (no such commit, no common ancestor), `too_large` (before a file is written), `disk_full`,
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
  const [found] = await Promise.all([
    findMergeBase({ ...listing, base, head }),
    requireComparable(listing, [[held?.sha ?? head, head]]),
  ]);
  const [plan, sinceBase] = await Promise.all([
    planCheckout(listing, held, head, limits),
    listOldSide(listing, base, head),
  ]);
  const ancestor = found.mergeBase;
  const oldSides =
    ancestor === base ? sinceBase : [...sinceBase, ...(await listOldSide(listing, ancestor, head))];
  const needed = new Set([...plan.come, ...plan.gone, ...oldSides]);
  const sizes = await fetchMissing(options, needed);
  const bytes = plannedBytes(plan, sizes, limits);
  await requireRoom(options, { files: plan.files, bytes }, held);
  const shas = { head, base, ...found };
  if (options.onlyObjects) return { ...git, gitDir, root: slot.root, files: { kind: "objects" }, shas };

  if (held?.sha !== head) await slot.unsettle({ files: plan.files, bytes });
  const { root, indexFile } = slot;
  const write = (settled: boolean) => writeTree({ git, gitDir, root, indexFile, sha: head, settled, signal });
  await write(held !== undefined).catch(async (error: unknown) => {
    if (!isLocked(error)) throw error;
    // We hold the slot, so this is the lock of a git that was killed, or whose parent was. Until a program runs, nothing shows whose it is.
    await endOrphans();
    await slot.empty();
    await write(false);
  });
  await slot.settle({ mirror: mirror.id, sha: head, files: plan.files, bytes });
  return { ...git, gitDir, root: slot.root, files: { kind: "checkout" }, shas };
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
