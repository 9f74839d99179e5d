import { errorLine } from "../../errors.ts";
import type { Notes } from "../../queue/notes.ts";
import type { Queue } from "../../queue/queue.ts";
import { sleepUnlessAborted } from "../../queue/retry.ts";
import type { JobLog } from "../job-dependencies.ts";
import { reconcileJob } from "../new-jobs.ts";
import { lastRun } from "./reconcile-app.ts";

export interface RhythmOptions {
  queue: Pick<Queue, "enqueue">;
  notes: Notes;
  /** 0: never. */
  everyMs: number;
  /** Called when there is something to do. */
  onEnqueued: () => void;
  log: JobLog;
  /** Resolves after so many milliseconds, or when the signal fires. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Milliseconds since 1970. */
  now?: () => number;
}

/**
 * Has the App reconciled at the start of this process, for whatever happened while it was down; then every `everyMs` after the
 * last run of any process, by whichever comes first. Two that come at once enqueue one job. Resolves when the signal fires.
 */
export async function keepReconciling(options: RhythmOptions, signal: AbortSignal): Promise<void> {
  const { queue, notes, everyMs, onEnqueued, log } = options;
  const { sleep = sleepUnlessAborted, now = Date.now } = options;
  if (everyMs <= 0) return;
  let isStart = true;
  while (!signal.aborted) {
    let wait = everyMs;
    try {
      const last = isStart ? null : await lastRun(notes);
      const left = last === null ? 0 : last + everyMs - now();
      // Much later than that means that the clock was wrong of whoever noted it.
      if (left > 0 && left <= 2 * everyMs) wait = Math.min(left, everyMs);
      else {
        await queue.enqueue(reconcileJob());
        onEnqueued();
      }
      isStart = false;
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ err: error }, `What was missed is looked for later: ${errorLine(error)}`);
      wait = Math.min(everyMs, 60_000);
    }
    await sleep(wait, signal);
  }
}
