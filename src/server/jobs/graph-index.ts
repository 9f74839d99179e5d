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
export function keepIndexes({ log, isThere = existsSync, run = runIndexProcess }: IndexKeeperOptions) {
  const ending = new AbortController();
  const { signal } = ending;
  /** The last commit of each index. */
  const done = new Map<string, string>();
  /** By index file, in the order of the requests. */
  const waiting = new Map<string, IndexTask>();
  let running: Promise<void> | undefined;

  async function runAll(): Promise<void> {
    for (const [file, task] of waiting) {
      if (signal.aborted) break;
      waiting.delete(file);
      const { sha } = task;
      try {
        const { files, parsed, milliseconds } = await run(task, { signal });
        done.set(file, sha);
        if (parsed > 0) log.info({ file, sha, files, parsed, milliseconds }, "Index updated");
      } catch (err) {
        if (!signal.aborted) log.warn({ file, sha, err }, `Index not updated: ${errorLine(err)}`);
      }
    }
    running = undefined;
  }

  return {
    /** If the repository already waits, the newest commit replaces the waiting one. */
    update(task: IndexTask): void {
      // Most reviews of a repository have the same base.
      const isDone = done.get(task.file) === task.sha && isThere(task.file);
      if (signal.aborted || isDone) return;
      waiting.set(task.file, task);
      running ??= runAll();
    },

    /** Stops indexing for good. Resolves when no index process runs any more. */
    async close(): Promise<void> {
      ending.abort();
      await running;
    },
  };
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
