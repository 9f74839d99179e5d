import { existsSync } from "node:fs";
import type { TrajectoryEntry } from "../../agent/record/trajectory.ts";
import type { IndexReport, IndexTask } from "../../border/index-messages.ts";
import { runIndexProcess } from "../../border/run-index-process.ts";
import { errorLine } from "../../core/errors.ts";
import { graphIndex } from "../../repo/git/places.ts";
import type { RevisionPlace } from "../../repo/git/workspace.ts";
import type { JobLog } from "../queue/run-job.ts";

interface IndexKeeperOptions {
  log: JobLog;
  isThere?: (file: string) => boolean;
  run?: (task: IndexTask, options: { signal: AbortSignal }) => Promise<IndexReport>;
}

/** Updates the indexes of repositories after their reviews, one at a time. Nothing waits for it, and the next review makes up for a failure. */
export class IndexKeeper {
  readonly #log: JobLog;
  readonly #run: NonNullable<IndexKeeperOptions["run"]>;
  readonly #isThere: (file: string) => boolean;
  readonly #ending = new AbortController();
  /** The last commit of each index. */
  readonly #done = new Map<string, string>();
  /** By index file, in the order of the requests. */
  readonly #waiting = new Map<string, IndexTask>();
  #running: Promise<void> | undefined;

  constructor({ log, isThere = existsSync, run = runIndexProcess }: IndexKeeperOptions) {
    this.#log = log;
    this.#isThere = isThere;
    this.#run = run;
  }

  /** If the repository already waits, the newest commit replaces the waiting one. */
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

  async #runOne(task: IndexTask): Promise<void> {
    const { signal } = this.#ending;
    const { file, sha } = task;
    try {
      const { files, parsed, milliseconds } = await this.#run(task, { signal });
      this.#done.set(file, sha);
      if (parsed > 0) this.#log.info({ file, sha, files, parsed, milliseconds }, "Index updated");
    } catch (err) {
      if (!signal.aborted) this.#log.warn({ file, sha, err }, `Index not updated: ${errorLine(err)}`);
    }
  }

  /** Stops indexing for good. Resolves when no index process runs any more. */
  async close(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }
}

/**
 * The index that a review reads; null if there is none. A resumed review has one only if the recorded review had: otherwise its prompt would
 * begin differently, and all its turns would be paid again.
 */
export function reviewIndex(
  { gitDir, shas }: RevisionPlace,
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

/** Updates a repository's index to the tip of the base branch, without the pull request. */
export function indexTask(
  { gitPath, gitDir, emptyHome, shas }: RevisionPlace,
  privatePaths: readonly string[],
): IndexTask {
  const file = graphIndex(gitDir);
  return { gitPath, gitDir, emptyHome, sha: shas.base, file, privatePaths: [...privatePaths] };
}
