import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { AppError } from "../errors.ts";
import { IndexAnswer, type IndexReport, type IndexTask } from "./index-messages.ts";
import { type StartedReviewProcess, startIndexProcess } from "./start-process.ts";

export interface IndexProcessOptions {
  signal: AbortSignal;
  /** Default: ten minutes. What was read until then stays. */
  milliseconds?: number;
  /** Injected by tests. */
  start?: (folder: string) => StartedReviewProcess;
}

const MILLISECONDS = 600_000;

/**
 * Has a process of its own bring an index up to date: it has no secret, and Node lets it write to the index's folder alone. Rejects
 * with `child_died` where it fails or takes too long, with `aborted` when the signal fires.
 */
export async function runIndexProcess(
  task: IndexTask,
  { signal, milliseconds = MILLISECONDS, start = startIndexProcess }: IndexProcessOptions,
): Promise<IndexReport> {
  signal.throwIfAborted();
  const folder = dirname(task.file);
  // Not its parents: a mirror that went away meanwhile is not made anew by this.
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  using started = start(folder);
  return await converse(started, task, signal, milliseconds);
}

function converse(
  { child, ended }: StartedReviewProcess,
  task: IndexTask,
  signal: AbortSignal,
  milliseconds: number,
): Promise<IndexReport> {
  const { promise, resolve, reject } = Promise.withResolvers<IndexReport>();
  const deadline = setTimeout(() => reject(died("did not end within its time limit")), milliseconds);
  const aborted = () => reject(new AppError("aborted", "indexing was stopped"));
  signal.addEventListener("abort", aborted, { once: true });
  void ended.then((how) => reject(died(how)));
  child.on("message", (raw) => {
    const message = IndexAnswer.safeParse(raw);
    if (!message.success) return reject(died("sent a message of no known shape"));
    const { data } = message;
    if (data.type === "ready") return void (child.connected && child.send(task, () => {}));
    if (data.type === "failed") return reject(died(`failed: ${data.error}`));
    resolve(data.report);
  });
  return promise.finally(() => {
    clearTimeout(deadline);
    signal.removeEventListener("abort", aborted);
  });
}

const died = (how: string) => new AppError("child_died", `The process that indexes ${how}`);
