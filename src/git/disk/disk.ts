import { AppError } from "../../errors.ts";
import { endOrphans } from "../orphans.ts";
import { evict, type Goal } from "./evict.ts";
import { type FreeSpace, freeSpace } from "./free-space.ts";
import { DISK_FULL_REMEDY, isDiskFull } from "./full.ts";
import { sweep } from "./sweep.ts";

export interface DiskOptions {
  dataFolder: string;
  /** Of all mirrors and checkouts together. */
  limitBytes: number;
  log: DiskLog;
  /** Milliseconds since 1970. */
  now?: () => number;
  /** Of the disk that the data folder is on. */
  freeSpace?: (folder: string) => Promise<FreeSpace>;
}

/** The part of a logger that is needed here. */
export interface DiskLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** What a checkout is going to take. */
export interface Need {
  /** With its mirror, when it is made. */
  totalBytes: number;
  /** What of that is still to be written. */
  newBytes: number;
}

/** A checkout and its mirror take more than all may take together. */
export class OverLimit extends AppError {}

const HOUR_MS = 3_600_000;
const UNUSED_MS = 30 * 24 * HOUR_MS;

/**
 * Keeps mirrors and checkouts within a limit, and the disk from running full because of them. Any number of processes may do
 * so on one data folder.
 */
export class Disk {
  readonly #options: Required<DiskOptions>;
  readonly #ending = new AbortController();
  #running: Promise<void> | undefined;
  #isWanted = false;
  #isSweepWanted = false;
  /** What all took after the last pass, with what was written here since. */
  #estimate = Number.POSITIVE_INFINITY;
  #restsUntil = 0;
  #rhythm: NodeJS.Timeout | undefined;

  constructor(options: DiskOptions) {
    this.#options = { now: Date.now, freeSpace, ...options };
  }

  /**
   * Ends what killed processes left running; that has to be over before the first job. What they left on the disk is then
   * removed beside the jobs, and again every hour.
   */
  async start(): Promise<void> {
    await endOrphans();
    void this.clean();
    this.#rhythm = setInterval(() => void endOrphans().then(() => this.clean()), HOUR_MS).unref();
  }

  /** Resolves once nothing is being deleted any more, and nothing will be. */
  async close(): Promise<void> {
    clearInterval(this.#rhythm);
    this.#ending.abort();
    await this.#running;
  }

  /** Removes what killed processes left on the disk, and what there is no room for. Never rejects. */
  clean(): Promise<void> {
    this.#isSweepWanted = true;
    return this.keep();
  }

  /** Evicts what there is no room for. Calls during a pass are answered by one more. Never rejects. */
  async keep(): Promise<void> {
    if (this.#ending.signal.aborted) return;
    this.#isWanted = true;
    this.#running ??= this.#keepWhileWanted().finally(() => {
      this.#running = undefined;
    });
    await this.#running;
  }

  /**
   * Like `keep`, for after each job: a pass looks at everything that is kept, so with thousands of repositories it only comes
   * when the limit may be exceeded, or as often as takes a hundredth of the time.
   */
  async keepNowAndThen(): Promise<void> {
    const { limitBytes, now } = this.#options;
    if (this.#estimate > limitBytes || now() >= this.#restsUntil || (await this.#isLow())) await this.keep();
  }

  /** Runs something that fetches or writes a checkout; where the disk is full, there is room made for its next attempt. */
  async using<Result>(work: () => Promise<Result>): Promise<Result> {
    if (await this.#isLow()) await this.keep();
    try {
      return await work();
    } catch (error) {
      // Also where the system does not say how much is left, as with quotas: one at least goes.
      if (isDiskFull(error)) await this.#evict(firstNo(async () => !(await this.#isLow())));
      throw error;
    }
  }

  /**
   * Sees to it that a checkout has room. Rejects with `too_large` when it never will have within the limit, with `disk_full`
   * when it has none now.
   */
  async require({ totalBytes, newBytes }: Need): Promise<void> {
    this.requireFits(totalBytes, "with one checkout");
    this.#estimate += totalBytes;
    const hasRoom = async () => (await this.#free()).freeBytes >= newBytes;
    if (await hasRoom()) return;
    await this.#evict(hasRoom);
    if (await hasRoom()) return;
    throw new AppError("disk_full", `The disk of the data folder has no room for ${inWords(newBytes)} more`, {
      retryable: true,
      remedy: DISK_FULL_REMEDY,
    });
  }

  /** Throws `too_large` for a mirror that takes more than all may take together. Cheap enough for each look at a fetch. */
  requireFits(bytes: number, what = "while it is fetched"): void {
    const { limitBytes } = this.#options;
    if (bytes <= limitBytes) return;
    const message = `The repository takes ${inWords(bytes)} ${what}, more than all may take together`;
    const remedy = `Set HUNKWISE_DISK_LIMIT_GB, which is ${limitBytes / 1e9} now, to more`;
    throw new OverLimit("too_large", message, { remedy });
  }

  async #keepWhileWanted(): Promise<void> {
    while (this.#isWanted && !this.#ending.signal.aborted) {
      this.#isWanted = false;
      if (this.#isSweepWanted) await this.#sweep();
      await this.#evict(async () => !(await this.#isLow()));
    }
  }

  async #sweep(): Promise<void> {
    this.#isSweepWanted = false;
    const { dataFolder, log } = this.#options;
    await sweep(dataFolder, this.#ending.signal).catch((err: unknown) =>
      log.warn({ err }, "What killed processes left was not removed"),
    );
  }

  async #evict(hasRoom: Goal["hasRoom"]): Promise<void> {
    const { dataFolder, limitBytes, now, log } = this.#options;
    const begin = now();
    try {
      const { evicted, totalBytes } = await evict(dataFolder, {
        limitBytes,
        unusedSince: begin - UNUSED_MS,
        hasRoom,
        signal: this.#ending.signal,
      });
      this.#estimate = totalBytes;
      for (const { kind, repository, bytes } of evicted)
        log.info({ kind, repository, bytes }, `Evicted from the disk: a ${kind} of ${repository}`);
    } catch (err) {
      log.warn({ err }, "The disk could not be cleared");
    } finally {
      this.#restsUntil = now() + (now() - begin) * 100;
    }
  }

  async #isLow(): Promise<boolean> {
    return (await this.#free()).isLow;
  }

  /** Where the folder is not there yet, or the system does not say, whatever is written shows how much is left. */
  async #free(): Promise<FreeSpace> {
    const unknown = { freeBytes: Number.POSITIVE_INFINITY, isLow: false };
    return await this.#options.freeSpace(this.#options.dataFolder).catch(() => unknown);
  }
}

/** Answers no once, whatever is true. */
function firstNo(ask: () => Promise<boolean>): () => Promise<boolean> {
  let isFirst = true;
  return async () => {
    const was = isFirst;
    isFirst = false;
    return !was && (await ask());
  };
}

function inWords(bytes: number): string {
  return bytes < 1e9 ? `${Math.ceil(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
