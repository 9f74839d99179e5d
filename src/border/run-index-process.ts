import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { unlessAborted, within } from "../core/async.ts";
import { AppError } from "../core/errors.ts";
import { IndexAnswer, type IndexReport, type IndexTask } from "./index-messages.ts";
import { type StartedProcess, startIndexProcess } from "./start-process.ts";

/** What was indexed until then is kept. */
const MILLISECONDS = 600_000;

/** Updates an index in a child process without secrets, which writes only to the index's folder. Throws `child_died` or `aborted`. */
export async function runIndexProcess(
  task: IndexTask,
  { signal, start = startIndexProcess }: { signal: AbortSignal; start?: typeof startIndexProcess },
): Promise<IndexReport> {
  signal.throwIfAborted();
  const folder = dirname(task.file);
  // Not its parents: a mirror that was removed meanwhile must not be created again.
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  using started = start(folder);
  return await converse(started, task, signal);
}

function converse(
  { child, ended }: StartedProcess,
  task: IndexTask,
  signal: AbortSignal,
): Promise<IndexReport> {
  const { promise, resolve, reject } = Promise.withResolvers<IndexReport>();
  void ended.then((how) => reject(died(how)));
  child.on("message", (raw) => {
    const message = IndexAnswer.safeParse(raw);
    if (!message.success) return reject(died("sent an unknown message"));
    const { data } = message;
    if (data.type === "ready") return void (child.connected && child.send(task, () => {}));
    if (data.type === "failed") return reject(died(`failed: ${data.error}`));
    resolve(data.report);
  });
  const late = () => Promise.reject(died("did not end within its time limit"));
  const aborted = () => new AppError("aborted", "indexing was aborted");
  return unlessAborted(within(MILLISECONDS, promise, late), signal, aborted);
}

const died = (how: string) => new AppError("child_died", `The process that indexes ${how}`);
