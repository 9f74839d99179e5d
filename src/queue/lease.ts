import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { AppError } from "../errors.ts";
import type { ClaimedJob, NewerHead } from "./job.ts";
import type { Queue } from "./queue.ts";
import { retryWhileUnavailable } from "./retry.ts";

export interface LeaseOptions {
  queue: Queue;
  leaseMs: number;
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Told of a queue that could not be asked. */
  warn(message: string, error: unknown): void;
}

/**
 * A worker's hold on one claimed job while its handler runs. What loosens it fires `signal`: another worker has the job
 * (`lease_lost`), a newer head waits to be reviewed in its place (`superseded`), or whatever `letGo` is told.
 */
export class Lease {
  readonly #job: ClaimedJob;
  readonly #options: LeaseOptions;
  readonly #abort = new AbortController();
  /** The head that is worked on, as far as it is known: the task tells of an event's, what is recorded of the present one. */
  #head: string | null;
  #hears = true;
  #isPublishing = false;

  constructor(job: ClaimedJob, options: LeaseOptions) {
    this.#job = job;
    this.#options = options;
    this.#head = job.task.headSha;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** What was the first to loosen the hold; undefined while it is firm. */
  get abortReason(): AppError | undefined {
    return this.signal.aborted ? this.signal.reason : undefined;
  }

  abort(why: AppError): void {
    this.#abort.abort(why);
  }

  /** Prolongs the lease and looks for a newer head; false when the job is another worker's. Never rejects. */
  async beat(): Promise<boolean> {
    try {
      if (!(await this.#prolong())) return false;
      await this.look();
    } catch (error) {
      // Two more beats fit into the lease; nobody else can take the job from a queue that cannot be written.
      this.#options.warn("Heartbeat failed", error);
    }
    return true;
  }

  /** Lets go of a review whose head is no longer the newest, unless it is being published. Never rejects. */
  async look(): Promise<void> {
    if (this.#isPublishing) return;
    try {
      await this.#lookForNewer();
    } catch (error) {
      this.#options.warn("Nobody could tell whether a newer head waits", error);
    }
  }

  /** Whether the job is this worker's, and nothing has loosened the hold; prolongs the lease. Waits for a queue that is away. */
  async hasLease(): Promise<boolean> {
    if (this.signal.aborted) return false;
    try {
      return (await this.#insist(() => this.#prolong())) && !this.signal.aborted;
    } catch (error) {
      if (this.signal.aborted) return false;
      throw error;
    }
  }

  /**
   * Whether something visible may be done. From the first yes on a newer head ends nothing half way; it is heard of when
   * this is asked again.
   */
  async mayPublish(): Promise<boolean> {
    if (!(await this.hasLease())) return false;
    await this.#insist(() => this.#lookForNewer());
    if (this.signal.aborted) return false;
    this.#isPublishing = true;
    return true;
  }

  /** Waits for a queue that is away: what is recorded was paid for. */
  async record(entry: TrajectoryEntry): Promise<void> {
    await this.#insist(() => this.#options.queue.record(this.#job, entry));
    if ("head" in entry) this.#head = entry.head;
  }

  recorded(): Promise<TrajectoryEntry[]> {
    return this.#insist(() => this.#options.queue.trajectory(this.#job.id));
  }

  /** The handler ended: newer heads do not matter to what it came to. */
  settle(): void {
    this.#hears = false;
  }

  #insist<T>(ask: () => Promise<T>): Promise<T> {
    return retryWhileUnavailable(ask, { ...this.#options, signal: this.signal });
  }

  async #prolong(): Promise<boolean> {
    const isOurs = await this.#options.queue.heartbeat(this.#job, this.#options.leaseMs);
    if (!isOurs) this.abort(new AppError("lease_lost", `Job ${this.#job.id} belongs to another worker now`));
    return isOurs;
  }

  async #lookForNewer(): Promise<void> {
    if (!this.#hears || this.#job.task.kind !== "review") return;
    const newer = await this.#options.queue.newer(this.#job);
    if (newer && newer.head !== this.#head && this.#hears) this.abort(supersededBy(newer));
  }
}

function supersededBy({ head }: NewerHead): AppError {
  return new AppError("superseded", `the head moved on to ${head}`, { retryable: true });
}
