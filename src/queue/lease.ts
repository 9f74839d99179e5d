import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { AppError } from "../errors.ts";
import type { ClaimedJob, NewerHead } from "./job.ts";
import type { Queue } from "./queue.ts";
import { retryWhileUnavailable } from "./retry.ts";

interface LeaseOptions {
  queue: Queue;
  leaseMs: number;
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Receives errors of the queue. */
  warn(message: string, error: unknown): void;
}

/**
 * A worker's lease on one claimed job while its handler runs. `signal` fires when another worker has the job (`lease_lost`), when a newer
 * head waits to be reviewed instead (`superseded`), or with the reason given to `abort`.
 */
export class Lease {
  readonly #job: ClaimedJob;
  readonly #options: LeaseOptions;
  readonly #abort = new AbortController();
  /** The head that is reviewed, if known: from an event's task, or from the job's records. */
  #head: string | null;
  #handlerRuns = true;
  #isPublishing = false;

  constructor(job: ClaimedJob, options: LeaseOptions) {
    this.#job = job;
    this.#options = options;
    this.#head = job.task.headSha;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The first reason for which the signal fired. */
  get abortReason(): AppError | undefined {
    return this.signal.aborted ? this.signal.reason : undefined;
  }

  abort(why: AppError): void {
    this.#abort.abort(why);
  }

  /** Renews the lease and checks for a newer head; false if another worker has the job. Never rejects. */
  async beat(): Promise<boolean> {
    try {
      if (!(await this.#renew())) return false;
      await this.checkHead();
    } catch (error) {
      // Two more heartbeats fit into the lease, and no other worker can claim the job from a queue that cannot be written.
      this.#options.warn("Heartbeat failed", error);
    }
    return true;
  }

  /** Aborts a review whose head is no longer the newest, unless it is being published. Never rejects. */
  async checkHead(): Promise<void> {
    if (this.#isPublishing) return;
    try {
      await this.#abortIfSuperseded();
    } catch (error) {
      this.#options.warn("Could not check for a newer head", error);
    }
  }

  /** Renews the lease; false if the job is not this worker's any more or the signal has fired. Waits for an unavailable queue. */
  async hasLease(): Promise<boolean> {
    if (this.signal.aborted) return false;
    try {
      return (await this.#retry(() => this.#renew())) && !this.signal.aborted;
    } catch (error) {
      if (this.signal.aborted) return false;
      throw error;
    }
  }

  /** As `hasLease`, and no newer head waits. After the first true, newer heads are only checked when this is called again. */
  async mayPublish(): Promise<boolean> {
    if (!(await this.hasLease())) return false;
    await this.#retry(() => this.#abortIfSuperseded());
    if (this.signal.aborted) return false;
    this.#isPublishing = true;
    return true;
  }

  /** Waits for an unavailable queue: model turns that are recorded were paid for. */
  async record(entry: TrajectoryEntry): Promise<void> {
    await this.#retry(() => this.#options.queue.record(this.#job, entry));
    if ("head" in entry) this.#head = entry.head;
  }

  recorded(): Promise<TrajectoryEntry[]> {
    return this.#retry(() => this.#options.queue.trajectory(this.#job.id));
  }

  /** The handler has ended, so newer heads no longer change its outcome. */
  handlerEnded(): void {
    this.#handlerRuns = false;
  }

  #retry<T>(attempt: () => Promise<T>): Promise<T> {
    return retryWhileUnavailable(attempt, { ...this.#options, signal: this.signal });
  }

  async #renew(): Promise<boolean> {
    const isOurs = await this.#options.queue.heartbeat(this.#job, this.#options.leaseMs);
    if (!isOurs) this.abort(new AppError("lease_lost", `Job ${this.#job.id} now belongs to another worker`));
    return isOurs;
  }

  async #abortIfSuperseded(): Promise<void> {
    if (!this.#handlerRuns || this.#job.task.kind !== "review") return;
    const newer = await this.#options.queue.newer(this.#job);
    if (newer && newer.head !== this.#head && this.#handlerRuns) this.abort(supersededBy(newer));
  }
}

function supersededBy({ head }: NewerHead): AppError {
  return new AppError("superseded", `the head is now ${head}`, { retryable: true });
}
