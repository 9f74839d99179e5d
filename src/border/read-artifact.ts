import { extname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { z } from "zod";
import { unlessAborted, within } from "../core/async.ts";
import { AppError } from "../core/errors.ts";
import { ToolResult } from "../tasks/shapes/tool-result.ts";

export interface ResultsTask {
  /** A file with results, or a zip of such files. */
  bytes: Uint8Array<ArrayBuffer>;
  /** For errors. */
  name: string;
  file: number;
  /** Absolute paths that the work tree may have had on the machine of the job. */
  roots: readonly string[];
  /** Paths of changed files: only their results count. */
  changed: readonly string[];
  most: number;
}

const ResultsAnswer = z.union([
  z.strictObject({ results: z.array(ToolResult) }),
  z.strictObject({ refused: z.string() }),
]);
export type ResultsAnswer = z.infer<typeof ResultsAnswer>;

const script = join(import.meta.dirname, `results-thread${extname(import.meta.filename)}`);
/** A file of 20 MB with 2,000,000 values takes less than half of each. */
const [MOST_MILLISECONDS, MOST_MEGABYTES] = [30_000, 512];

/**
 * The results in an artifact, worst first, without secrets. A job of the pull request may have made it, so a thread with limits on memory and
 * time reads it.
 * @param task its bytes are gone afterwards
 * @throws AppError `usage` for what has no results or exceeds a limit; no message quotes the artifact
 */
export async function readArtifact(task: ResultsTask, signal: AbortSignal): Promise<ToolResult[]> {
  const worker = new Worker(script, {
    env: {},
    workerData: task,
    transferList: [task.bytes.buffer],
    resourceLimits: { maxOldGenerationSizeMb: MOST_MEGABYTES },
    stdout: true,
    stderr: true,
  });
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const tooMuch = (what: string) => new AppError("usage", `reading it takes too much ${what}`);
  const late = () => Promise.reject(tooMuch("time"));
  worker.on("message", resolve);
  worker.on("error", (error: NodeJS.ErrnoException) =>
    reject(
      error.code === "ERR_WORKER_OUT_OF_MEMORY"
        ? tooMuch("memory")
        : new AppError("child_died", "the thread that reads it failed", { cause: error }),
    ),
  );
  worker.on("exit", () => reject(new AppError("child_died", "the thread that reads it ended")));
  try {
    signal.throwIfAborted();
    const answer = ResultsAnswer.parse(await unlessAborted(within(MOST_MILLISECONDS, promise, late), signal));
    if ("results" in answer) return answer.results;
    throw new AppError("usage", answer.refused);
  } finally {
    await worker.terminate();
  }
}
