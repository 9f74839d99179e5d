import { readdir, readFile, rm, stat, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { AppError } from "../../core/errors.ts";
import { DISK_FULL_REMEDY, isDiskFull } from "./git-error.ts";
import { endOrphans, tryLock } from "./owner.ts";
import {
  arranging,
  emptyTrash,
  graphFolder,
  mirrorIdOf,
  mirrorLock,
  placesAt,
  type RepositoryPlaces,
  readState,
  removeEmptyParents,
  removeLeftovers,
  repositoriesIn,
  setAside,
  setRepositoryAside,
  slotLock,
  slotsIn,
  stateFile,
  unlessGone,
} from "./places.ts";
import { removeAbandoned } from "./scratch.ts";

interface CacheEntry {
  kind: "mirror" | "checkout";
  /** `<host>/<owner>/<name>` */
  repository: string;
  folder: string;
  bytes: number;
  /** Milliseconds since 1970. */
  usedAt: number;
}

/** A file takes whole blocks, an index entry and a folder entry. */
const FILE_BYTES = 4096;

/** Maximum disk space of a checkout with this many files. */
export const checkoutBytes = ({ files, bytes }: { files: number; bytes: number }) =>
  bytes + files * FILE_BYTES;

/** Everything that may be evicted. Reads only a few small files for each entry. */
export async function listKept(dataFolder: string): Promise<CacheEntry[]> {
  const kept: CacheEntry[] = [];
  for (const repository of await repositoriesIn(dataFolder)) {
    const { gitDir, checkouts } = placesAt(dataFolder, repository);
    const [mirror, slots] = await Promise.all([usedMirror(gitDir), slotsIn(checkouts)]);
    const made = await Promise.all(slots.map(async (folder) => ({ folder, ...(await usedSlot(folder)) })));
    for (const slot of made) kept.push({ kind: "checkout", repository, ...slot });
    if (!mirror) continue;
    // Use of a checkout counts as use of its mirror.
    const usedAt = Math.max(mirror.usedAt, ...made.map((slot) => slot.usedAt));
    kept.push({ kind: "mirror", repository, folder: gitDir, bytes: mirror.bytes, usedAt });
  }
  return kept;
}

async function usedSlot(folder: string): Promise<Pick<CacheEntry, "bytes" | "usedAt">> {
  const state = await readState(folder);
  return {
    bytes: state ? checkoutBytes(state) : 0,
    usedAt: await changedAt(state ? stateFile(folder) : folder),
  };
}

async function usedMirror(gitDir: string): Promise<Pick<CacheEntry, "bytes" | "usedAt"> | undefined> {
  const note = await readFile(useNote(gitDir), "utf8").catch(() => undefined);
  if (note !== undefined && /^\d+$/.test(note))
    return { bytes: Number(note), usedAt: await changedAt(useNote(gitDir)) };
  // Either its user was killed before it wrote the note, or its first user is still at work.
  const usedAt = await changedAt(gitDir);
  return usedAt === 0 ? undefined : { bytes: await mirrorBytes(gitDir), usedAt };
}

/** Milliseconds since 1970; 0 if it does not exist. */
async function changedAt(path: string): Promise<number> {
  return await stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}

/** Contains the mirror's size; its modification time is the last use. */
const useNote = (gitDir: string) => join(gitDir, "hunkwise-used");

/** Records the last use of a mirror and its size. Never rejects: at worst the mirror is measured once more. */
export async function noteUse(gitDir: string): Promise<void> {
  const bytes = await mirrorBytes(gitDir);
  await writeFile(useNote(gitDir), String(bytes)).catch(() => {});
}

/** The size of a mirror on the disk. Its objects and its index are measured; the rest are small files, which are counted. */
export async function mirrorBytes(gitDir: string): Promise<number> {
  const names = await readdir(gitDir, { recursive: true }).catch(() => []);
  // A server with the old protocol sends objects one by one, not in a pack.
  const large = [join("objects", ""), join(basename(graphFolder(gitDir)), "")];
  const measured = names.filter((name) => large.some((folder) => name.startsWith(folder)));
  const sizes = measured.map((name) =>
    stat(join(gitDir, name)).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  const sum = (await Promise.all(sizes)).reduce((total, size) => total + size, 0);
  return sum + names.length * FILE_BYTES;
}

export interface DiskOptions {
  dataFolder: string;
  /** For all mirrors and checkouts together. */
  limitBytes: number;
  log: Record<"info" | "warn", (fields: object, message: string) => void>;
  /** Milliseconds since 1970. */
  now?: () => number;
  /** Free space of the disk with the data folder. */
  freeSpace?: (folder: string) => Promise<FreeSpace>;
}

export interface DiskNeed {
  /** Includes its mirror after creation. */
  totalBytes: number;
  /** The part that is not written yet. */
  newBytes: number;
}

/** A checkout and its mirror exceed the limit for all of them together. */
export class OverLimit extends AppError {}

const HOUR_MS = 3_600_000;
const PAUSE_MS = 60_000;
const UNUSED_MS = 30 * 24 * HOUR_MS;

/** Limits the size of mirrors and checkouts, and prevents them from filling the disk. Several processes may do this in one data folder. */
export class Disk {
  readonly #options: Required<DiskOptions>;
  readonly #ending = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #isSweepWanted = false;
  #rhythm: NodeJS.Timeout | undefined;
  #soon: NodeJS.Timeout | undefined;

  constructor(options: DiskOptions) {
    this.#options = { now: Date.now, freeSpace, ...options };
  }

  /** Ends what killed processes left running, before the first job. Their leftovers on the disk are removed beside the jobs, and again every hour. */
  async start(): Promise<void> {
    await endOrphans();
    void this.clean();
    this.#rhythm = setInterval(() => void endOrphans().then(() => this.clean()), HOUR_MS).unref();
  }

  /** Resolves when no deletion is running and none will start. */
  async close(): Promise<void> {
    clearInterval(this.#rhythm);
    clearTimeout(this.#soon);
    this.#ending.abort();
    await this.#running;
  }

  /** Removes leftovers of killed processes, and evicts entries beyond the limit. Never rejects. */
  clean(): Promise<void> {
    this.#isSweepWanted = true;
    return this.keep();
  }

  /** Evicts entries beyond the limit. Calls during a pass share one further pass. Never rejects. */
  keep(): Promise<void> {
    this.#next ??= this.#running.then(async () => {
      this.#next = undefined;
      if (this.#ending.signal.aborted) return;
      if (this.#isSweepWanted) await this.#sweep();
      await this.#evict(async () => !(await this.#isLow()));
    });
    this.#running = this.#next;
    return this.#next;
  }

  /** For the end of a job: a pass in a minute, which all that end meanwhile share, because it looks at every repository. */
  keepSoon(): void {
    if (this.#ending.signal.aborted) return;
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      void this.keep();
    }, PAUSE_MS).unref();
  }

  /** Runs a fetch or a checkout; if the disk is full, evicts entries to make room for the next attempt. */
  async using<Result>(work: () => Promise<Result>): Promise<Result> {
    if (await this.#isLow()) await this.keep();
    try {
      return await work();
    } catch (error) {
      // Also if the system does not report the remaining space, as with quotas: at least one entry is evicted.
      let evictions = 0;
      if (isDiskFull(error)) await this.#evict(async () => evictions++ > 0 && !(await this.#isLow()));
      throw error;
    }
  }

  /** Makes room for a checkout. Rejects with `too_large` if it can never fit within the limit, with `disk_full` if it does not fit now. */
  async require({ totalBytes, newBytes }: DiskNeed): Promise<void> {
    this.requireFits(totalBytes, "with one checkout");
    const hasRoom = async () => (await this.#free()).freeBytes >= newBytes;
    if (await hasRoom()) return;
    await this.#evict(hasRoom);
    if (await hasRoom()) return;
    throw new AppError(
      "disk_full",
      `The disk of the data folder has no space for another ${inWords(newBytes)}`,
      {
        retryable: true,
        remedy: DISK_FULL_REMEDY,
      },
    );
  }

  /** Throws `too_large` for a mirror that exceeds the limit for all of them together. Cheap enough for every check during a fetch. */
  requireFits(bytes: number, what = "while it is fetched"): void {
    const { limitBytes } = this.#options;
    if (bytes <= limitBytes) return;
    const message = `The repository needs ${inWords(bytes)} ${what}, but all repositories together may use only ${inWords(limitBytes)}`;
    const remedy = `Raise HUNKWISE_DISK_LIMIT_GB, which is now ${limitBytes / 1e9}`;
    throw new OverLimit("too_large", message, { remedy });
  }

  async #sweep(): Promise<void> {
    this.#isSweepWanted = false;
    const { dataFolder, log } = this.#options;
    await sweep(dataFolder, this.#ending.signal).catch((err: unknown) =>
      log.warn({ err }, "Files of killed processes could not be removed"),
    );
  }

  /** Deletes the least recently used entries that no live process uses, until all are within the limit, none is long unused, and there is room. */
  async #evict(hasRoom: () => Promise<boolean>): Promise<void> {
    const { dataFolder, limitBytes, now, log } = this.#options;
    const begin = now();
    try {
      const oldestFirst = (await listKept(dataFolder)).sort(byUse);
      let total = oldestFirst.reduce((sum, { bytes }) => sum + bytes, 0);
      for (const one of oldestFirst) {
        const { kind, repository, bytes, usedAt } = one;
        if (this.#ending.signal.aborted) break;
        if (usedAt >= begin - UNUSED_MS && total <= limitBytes && (await hasRoom())) break;
        if (!(await discard(dataFolder, one))) continue;
        await emptyTrash(dataFolder);
        total -= bytes;
        log.info({ kind, repository, bytes }, `Deleted a ${kind} of ${repository} to free disk space`);
      }
    } catch (err) {
      log.warn({ err }, "Disk space could not be freed");
    }
  }

  async #isLow(): Promise<boolean> {
    return (await this.#free()).isLow;
  }

  /** If the folder is missing or the system does not report the free space, the next write shows how much is left. */
  async #free(): Promise<FreeSpace> {
    const unknown = { freeBytes: Number.POSITIVE_INFINITY, isLow: false };
    return await this.#options.freeSpace(this.#options.dataFolder).catch(() => unknown);
  }
}

function inWords(bytes: number): string {
  return bytes < 1e9 ? `${Math.ceil(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

/** Checkouts before the mirror that was used with them: they are useless without it. */
function byUse(one: CacheEntry, other: CacheEntry): number {
  return one.usedAt - other.usedAt || Number(one.kind === "mirror") - Number(other.kind === "mirror");
}

async function discard(dataFolder: string, { kind, repository, folder }: CacheEntry): Promise<boolean> {
  if (kind === "mirror") return await setRepositoryAside(dataFolder, placesAt(dataFolder, repository));
  return await arranging(dataFolder, async () => {
    const lock = await tryLock(slotLock(folder)).catch(unlessGone);
    if (lock === undefined) return false;
    await setAside(dataFolder, folder);
    if (lock !== "gone") await lock.release();
    await removeEmptyParents(folder, 3);
    return true;
  });
}

/** Removes what killed processes left on the disk. Keeps everything that a live process uses and everything complete. */
export async function sweep(dataFolder: string, signal?: AbortSignal): Promise<void> {
  await removeAbandoned(tmpdir());
  for (const repository of await repositoriesIn(dataFolder)) {
    if (signal?.aborted) return;
    // One at a time, so that jobs can run in between.
    await arranging(dataFolder, () => sweepRepository(dataFolder, placesAt(dataFolder, repository)));
  }
  await emptyTrash(dataFolder, signal);
}

async function sweepRepository(dataFolder: string, { gitDir, checkouts }: RepositoryPlaces): Promise<void> {
  await releaseRights([gitDir, ...(await slotsIn(checkouts))]);
  const id = await mirrorIdOf(gitDir);
  for (const slot of await slotsIn(checkouts)) {
    await ifFree(slotLock(slot), () => sweepSlot(dataFolder, slot, id));
  }
  await removeEmptyParents(join(checkouts, "0"), 3);
  await ifFree(mirrorLock(gitDir), async () => {
    // Checked again under the lock: another process may have created the mirror meanwhile.
    if ((await mirrorIdOf(gitDir)) !== undefined) return await removeLeftovers(gitDir);
    await setAside(dataFolder, gitDir);
    await removeEmptyParents(gitDir, 2);
  });
}

/** Sets aside a checkout that is unfinished or has no mirror: it would be rewritten anyway. */
async function sweepSlot(dataFolder: string, slot: string, mirror: string | undefined): Promise<void> {
  const state = await readState(slot);
  if (mirror === undefined || state?.mirror !== mirror) return await setAside(dataFolder, slot);
  for (const draft of ["state.json.new", "index.lock"]) await rm(join(slot, draft), { force: true });
}

/** Runs `work` with the lock if it is free or its holder died. */
async function ifFree(path: string, work: () => Promise<void>): Promise<void> {
  const lock = await tryLock(path).catch(() => undefined);
  try {
    if (lock) await work();
  } finally {
    await lock?.release();
  }
}

/** The right to inherit a lock remains if its holder dies while another process inherits. */
async function releaseRights(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    const names = await readdir(folder).catch(() => []);
    for (const name of names.filter((one) => one.includes(".heir-of-"))) {
      await ifFree(join(folder, name), async () => {});
    }
  }
}

interface FreeSpace {
  /** Bytes that this process may still write to the disk. */
  freeBytes: number;
  /** Less than a gigabyte, or less than a twentieth of a small disk: the next checkout may not fit. */
  isLow: boolean;
}

const RESERVE_BYTES = 1_000_000_000;
const RESERVE_SHARE = 0.05;

/** The free space of a folder's disk. Some file systems report no blocks, so it is unknown when they are full. */
export async function freeSpace(folder: string): Promise<FreeSpace> {
  const { bavail, blocks, bsize } = await statfs(folder);
  if (blocks === 0) return { freeBytes: Number.POSITIVE_INFINITY, isLow: false };
  const freeBytes = bavail * bsize;
  return { freeBytes, isLow: freeBytes < Math.min(RESERVE_BYTES, blocks * bsize * RESERVE_SHARE) };
}
