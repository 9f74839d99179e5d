import { existsSync } from "node:fs";
import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { errorLine } from "../errors.ts";
import type { CheckoutPlace } from "../git/checkout-place.ts";
import { graphIndex } from "../git/disk/places.ts";
import type { IndexReport, IndexTask } from "../process/index-messages.ts";
import { runIndexProcess } from "../process/run-index-process.ts";
import type { JobLog } from "./job-dependencies.ts";

interface IndexKeeperOptions {
  log: JobLog;
  /** Both injected by tests. */
  isThere?: (file: string) => boolean;
  run?: (task: IndexTask, options: { signal: AbortSignal }) => Promise<IndexReport>;
}

/**
 * Brings the indexes of repositories up to date when their reviews are over, one at a time and beside the jobs: nobody waits for it,
 * and what it could not do follows with the next review.
 */
export class IndexKeeper {
  readonly #log: JobLog;
  readonly #run: NonNullable<IndexKeeperOptions["run"]>;
  readonly #isThere: (file: string) => boolean;
  readonly #ending = new AbortController();
  /** The commit that each index was brought up to last. */
  readonly #done = new Map<string, string>();
  /** By index, in the order in which they were asked for. */
  readonly #waiting = new Map<string, IndexTask>();
  #running: Promise<void> | undefined;

  constructor({ log, isThere = existsSync, run = runIndexProcess }: IndexKeeperOptions) {
    this.#log = log;
    this.#isThere = isThere;
    this.#run = run;
  }

  /** Of a repository that waits for its turn already, the newest commit counts. */
  update(task: IndexTask): void {
    // Most reviews of a repository have the same base.
    const isDone = this.#done.get(task.file) === task.sha && this.#isThere(task.file);
    if (this.#ending.signal.aborted || isDone) return;
    this.#waiting.set(task.file, task);
    this.#running ??= this.#runAll();
  }

  async #runAll(): Promise<void> {
    for (const [file, task] of this.#waiting) {
      if (this.#ending.signal.aborted) break;
      this.#waiting.delete(file);
      await this.#runOne(task);
    }
    this.#running = undefined;
  }

  /** Never rejects: a review is not worse for what the next one lacks. */
  async #runOne(task: IndexTask): Promise<void> {
    const { signal } = this.#ending;
    const { file, sha } = task;
    try {
      const { files, parsed, milliseconds } = await this.#run(task, { signal });
      this.#done.set(file, sha);
      if (parsed > 0) this.#log.info({ file, sha, files, parsed, milliseconds }, "Index brought up to date");
    } catch (err) {
      if (!signal.aborted)
        this.#log.warn({ file, sha, err }, `Index not brought up to date: ${errorLine(err)}`);
    }
  }

  /** Resolves once nothing is being indexed any more, and nothing will be. */
  async close(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }
}

/**
 * The index that a review reads; null where its repository has none yet. Whoever goes along a record has one only if that review
 * had: it would begin with other words, and all its turns be paid once more.
 */
export function reviewIndex(
  { gitDir, shas }: CheckoutPlace,
  recorded: readonly TrajectoryEntry[],
  isResumed: boolean,
): string | null {
  const file = graphIndex(gitDir);
  if (!existsSync(file)) return null;
  const begun = recorded.findLast((entry) => entry.kind === "run" && entry.shas.head === shas.head);
  const had = begun?.kind === "run" && hasGraph(begun.input);
  return isResumed && !had ? null : file;
}

const hasGraph = (input: unknown) => (input as { graph?: unknown } | null)?.graph === true;

/** Brings a repository's index up to the tip of the base branch: nothing of a pull request that nobody has accepted. */
export function indexTask(
  { gitPath, gitDir, emptyHome, shas }: CheckoutPlace,
  privatePaths: readonly string[],
): IndexTask {
  const file = graphIndex(gitDir);
  return { gitPath, gitDir, emptyHome, sha: shas.base, file, privatePaths: [...privatePaths] };
}
