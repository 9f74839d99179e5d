import { rm } from "node:fs/promises";
import { AppError } from "../errors.ts";
import { decodeName, isWritable } from "./names.ts";
import {
  type ListingPlace,
  listBlobs,
  listDifference,
  listTree,
  MAX_ENTRIES,
  tooManyEntries,
} from "./object-listing.ts";
import { type Git, runGit } from "./run-git.ts";

interface WriteTreeOptions {
  git: Git;
  gitDir: string;
  /** The folder to write the commit's files to. */
  root: string;
  /** Records the folder's content, so that the next call only writes differences. */
  indexFile: string;
  sha: string;
  /** Whether folder and index are known to agree; then only differences from the index are processed. */
  settled: boolean;
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
}

/**
 * Writes a commit's files to a folder: no `.git`, no symlink, no submodule, nothing executed. Overwrites files in the way. Leaves out files
 * that no disk supports (`isWritable`).
 */
export async function writeTree(options: WriteTreeOptions): Promise<void> {
  try {
    await writeWhole(options);
  } catch (error) {
    const tree = isOfGit(error) ? await writablePart(options) : undefined;
    if (tree === undefined) throw error;
    // In a folder that is too deep, git crashes while it holds its lock.
    await rm(`${options.indexFile}.lock`, { force: true });
    await readTree({ ...options, sha: tree }, ["--reset", "-u"]);
  }
}

async function writeWhole(options: WriteTreeOptions): Promise<void> {
  const overwriting = () => readTree(options, ["--reset", "-u"]);
  // A merge does not check unchanged files, but refuses if a file to change differs from git's last write.
  if (options.settled) await readTree(options, ["-m", "-u"]).catch(retryUnlessAborted(options, overwriting));
  else await overwriting();
}

const isOfGit = (error: unknown) => error instanceof AppError && error.code === "git_failed";

const writablePart = ({ git, gitDir, signal, sha, indexFile }: WriteTreeOptions) =>
  writableTree({ git, gitDir, signal }, sha, `${indexFile}.writable`);

function retryUnlessAborted({ signal }: WriteTreeOptions, retry: () => Promise<void>) {
  return async (error: unknown): Promise<void> => {
    if (signal?.aborted) throw error;
    await retry();
  };
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
    timeoutMs: options.timeoutMs ?? 600_000,
  });
}

const NUL = Buffer.from([0]);
const TAB = 9;

/**
 * The tree of a commit without the files that no checkout can contain (name too long, folder too deep); undefined if there are none. With a
 * single one of them, git would write nothing at all. Adds the tree to the repository's objects.
 *
 * @param draftIndex path of an unused index; it is removed afterwards
 */
async function writableTree(
  place: ListingPlace,
  sha: string,
  draftIndex: string,
): Promise<string | undefined> {
  const isFine = (record: Buffer) => isWritable(decodeName(record.subarray(record.indexOf(TAB) + 1)));
  let left = 0;
  await listTree(place, sha, (record) => {
    if (!isFine(record)) left += 1;
  });
  if (left === 0) return undefined;
  const kept: Buffer[] = [];
  await listTree(place, sha, (record) => {
    if (isFine(record)) kept.push(Buffer.concat([record, NUL]));
  });
  const command = { ...place, indexFile: draftIndex };
  try {
    await rm(draftIndex, { force: true });
    const input = Buffer.concat(kept);
    await runGit({ ...command, what: "list files", args: ["update-index", "-z", "--index-info"], input });
    const written = await runGit({ ...command, what: "write a tree", args: ["write-tree", "--missing-ok"] });
    return written.stdout.toString("latin1").trim();
  } finally {
    await Promise.all([draftIndex, `${draftIndex}.lock`].map((path) => rm(path, { force: true })));
  }
}

export interface CheckoutLimits {
  /** Maximum files of the head's tree. */
  maxFiles: number;
  /** Maximum size of all files together. */
  maxBytes: number;
  /** Maximum size of one file. */
  maxFileBytes: number;
}

/** Larger than any repository that people review, smaller than what harms a machine. */
export const defaultLimits: CheckoutLimits = {
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
export async function planCheckout(
  place: ListingPlace,
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
export function plannedBytes(
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
